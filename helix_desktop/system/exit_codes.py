"""Exit codes of the command line."""

from __future__ import annotations

FAILED = 1
USAGE = 2
"""The input is wrong."""
LOCKED = 3
"""The workspace, or the window, belongs to another process that does not answer."""
INCOMPLETE = 4
"""The turn is done, but its last answer is not whole: cut off, filtered, or a tool call that nobody ran."""
HUNG_UP = 129
INTERRUPTED = 130
READER_GONE = 141
"""What reads standard output has ended, as `head` does: what a shell shows of other programs then."""
TERMINATED = 143
