"""Handovers and other rewrites as cards, with undo."""
