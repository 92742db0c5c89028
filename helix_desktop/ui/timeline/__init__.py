"""Handovers and sweeps as cards, with undo."""
