"""What the head of a hunk says became of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HunkMark:
    """A word about a hunk (empty: none); one that is over is muted, and its button does the opposite."""

    word: str = ""
    is_over: bool = False


NO_MARK = HunkMark()
