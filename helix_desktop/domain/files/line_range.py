"""Ranges of a file's lines."""

from __future__ import annotations

import msgspec

TO_THE_END = 1 << 62  # the last line of a range that has no end


class Lines(msgspec.Struct, frozen=True):
    """A range of lines, from 1, both ends included; an empty one stands for a part that is not known."""

    first: int = 1
    last: int = TO_THE_END

    def covers(self, other: Lines) -> bool:
        """Return True if all of another range lies in this one; all lines cover also what is not known."""
        return self == ALL_LINES or self.first <= other.first <= other.last <= self.last


ALL_LINES = Lines()
UNKNOWN_LINES = Lines(1, 0)
