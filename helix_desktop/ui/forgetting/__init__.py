"""Forgetting a secret: the dialog and what it does."""
