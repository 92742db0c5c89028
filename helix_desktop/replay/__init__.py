"""Recorded sessions sent through the context manager, and what it made of them, measured."""

from helix_desktop.replay.replayer import Replayer

__all__ = ["Replayer"]
