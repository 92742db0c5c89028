"""Full-text search over a store, by an index beside it or by reading everything."""
