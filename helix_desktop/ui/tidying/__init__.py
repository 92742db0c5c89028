"""Cleaning up, the trash, and deleted sessions."""
