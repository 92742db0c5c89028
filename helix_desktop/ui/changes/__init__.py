"""The files that a session changed: list and diffs, accepting and reverting, coverage, rewind."""
