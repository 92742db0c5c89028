"""Tools over the cache: recall, search and list."""
