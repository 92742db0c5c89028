"""The table of cached contents."""
