"""Removing a secret from a store, and from its files."""
