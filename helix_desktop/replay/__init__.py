"""Replay recorded sessions through the compaction and measure the result."""

from helix_desktop.replay.replayer import Replayer

__all__ = ["Replayer"]
