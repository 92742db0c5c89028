"""The cache offered to other programs over HTTP."""
