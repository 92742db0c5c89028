"""Cleaning up a workspace, and its trash."""
