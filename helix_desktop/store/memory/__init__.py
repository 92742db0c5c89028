"""The store in memory, for samples and tests."""
