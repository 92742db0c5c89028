"""The Outputs page: entries, their contents, and search."""
