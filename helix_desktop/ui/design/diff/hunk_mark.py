"""What the head of a hunk says became of it."""

from __future__ import annotations

import msgspec


class HunkMark(msgspec.Struct, frozen=True):
    """A word about a hunk (empty: none); one that is over is muted, and its button does the opposite."""

    word: str = ""
    is_over: bool = False


NO_MARK = HunkMark()
