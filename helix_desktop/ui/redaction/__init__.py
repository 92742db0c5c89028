"""Removing a secret: the dialog."""
