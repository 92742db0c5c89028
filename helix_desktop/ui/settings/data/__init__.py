"""Settings of stored data: sizes, retention, place."""
