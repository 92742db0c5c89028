"""The window: shows sessions and starts actions."""
