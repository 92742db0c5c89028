"""Helix Desktop: an agent's context, kept small, kept whole, and kept in sight."""

APP_NAME = "Helix Desktop"
__version__ = "0.1.0"
