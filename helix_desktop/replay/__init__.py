"""Replay recorded sessions through the context manager and measure the result."""

from helix_desktop.replay.replayer import Replayer

__all__ = ["Replayer"]
