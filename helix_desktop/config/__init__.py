"""Settings, keys and paths."""
