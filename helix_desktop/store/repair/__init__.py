"""Checking and repairing a damaged store, down to LevelDB's own files."""
