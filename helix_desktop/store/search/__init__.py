"""Full-text search over a store, by an index next to it or by reading everything."""
