"""Where a line of a diff breaks that is longer than its column of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from unicodedata import combining, east_asian_width

from helix_desktop.ui.design.diff.line_text import TAB_COLUMNS, LineText

_SHORTEST_SHARE = 2  # a word begins a new row if at least half of this one is filled


def line_breaks(line: LineText, columns: int) -> list[int]:
    """Return the places in what is drawn at which further rows begin; empty if all fits into `columns`.

    Rows end behind a space where there is one in their second half.
    """
    text = line.text
    if len(text) <= columns and line.is_plain:
        return []
    ends = None if line.is_plain else _ends_in_columns(text)
    breaks: list[int] = []
    start = 0
    while (end := _last_that_fits(ends, start, columns, len(text))) < len(text):
        space = text.rfind(" ", start + columns // _SHORTEST_SHARE, end + 1)
        start = space + 1 if 0 <= space < len(text) - 1 else max(end, start + 1)
        breaks.append(start)
    return breaks


def _last_that_fits(ends: Sequence[int] | None, start: int, columns: int, length: int) -> int:
    """Return where a row must end that begins at `start`; without `ends`, each character takes one column."""
    if ends is None:
        return min(length, start + columns)
    begin, end = ends[start], start
    while end < length and ends[end + 1] - begin <= columns:
        end += 1
    return end


def _ends_in_columns(text: str) -> list[int]:
    """Return in which column each character begins, and the last one ends; a tab is as wide as the widest."""
    return [0, *accumulate(map(_columns_of, text))]


def _columns_of(char: str) -> int:
    if char == "\t":
        return TAB_COLUMNS
    if char.isascii():
        return 1
    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
