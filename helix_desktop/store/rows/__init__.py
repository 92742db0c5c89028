"""The store as rows of any database: records, contents, event logs, counters, listings."""
