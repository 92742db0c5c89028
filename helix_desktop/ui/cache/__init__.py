"""The cache browser: entries, their contents, and search."""
