"""How a command of the command line ended, as its exit code."""

from __future__ import annotations

FAILED = 1
USAGE = 2
"""What was given is wrong."""
LOCKED = 3
"""The workspace, or the window, belongs to another process that does not answer."""
INTERRUPTED = 130
TERMINATED = 143
