"""Recorded sessions sent through the context manager, and what it made of them, measured."""
