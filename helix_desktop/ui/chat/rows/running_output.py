"""A call at work: since when, and the newest lines it has put out."""

from __future__ import annotations

import msgspec

from helix_desktop.ui.design.safe_text import clean_output

MAX_LINES = 8
_MAX_LINE_CHARS = 400  # characters of a line: more than any card shows
_MAX_TAIL_CHARS = 2 * MAX_LINES * _MAX_LINE_CHARS


class RunningOutput(msgspec.Struct, frozen=True):
    """A call at work: since when, in milliseconds since 1970, and the newest lines it has put out."""

    started_at_ms: int
    lines: tuple[str, ...] = ()

    @classmethod
    def from_output(cls, started_at_ms: int, tail: str) -> RunningOutput:
        """From the end of what a call has put out so far; of a line drawn over and over, the last state."""
        ends = tail[-_MAX_TAIL_CHARS:].replace("\r\n", "\n").rstrip("\n").split("\n")[-MAX_LINES:]
        states = (next((part for part in reversed(line.split("\r")) if part), "") for line in ends)
        lines = tuple(clean_output(state)[:_MAX_LINE_CHARS] for state in states)
        return cls(started_at_ms, lines if any(lines) else ())
