"""The self-check."""
