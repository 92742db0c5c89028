"""Exit codes of the command line."""

from __future__ import annotations

FAILED = 1
USAGE = 2
"""The input is wrong."""
LOCKED = 3
"""The workspace, or the window, belongs to another process that does not answer."""
HUNG_UP = 129
INTERRUPTED = 130
TERMINATED = 143
