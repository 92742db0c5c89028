"""Receives large outputs, and settles in which form they enter the window."""
