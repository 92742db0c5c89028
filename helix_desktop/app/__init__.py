"""Starts and stops the process, and wires the window."""
