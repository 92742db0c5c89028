"""A workspace as one file: written from a snapshot, checked, merged into a store."""
