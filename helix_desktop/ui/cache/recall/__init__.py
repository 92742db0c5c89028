"""Recall of a part of cached contents: which one, what it costs, and what it says."""
