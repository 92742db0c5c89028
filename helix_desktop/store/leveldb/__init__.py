"""Rows in LevelDB: contents, event logs, counters, listings."""
