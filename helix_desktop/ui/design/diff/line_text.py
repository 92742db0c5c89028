"""A line as it is drawn: hidden characters as codes, and where each character of the line is in that."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from helix_desktop.domain.unicode_safety import escape_hidden, first_hidden

TAB_COLUMNS = 4
LONG_LINE = 400  # characters; of longer plain lines only what is in sight is laid out
LAST_COLUMN = 2_000  # characters of a long line that is not plain; Qt takes seconds for one of 200,000
_LINE_END_SIGN = "\\r"
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF  # the surrogates that stand for bytes that are no UTF-8


class LineText(NamedTuple):
    """What is drawn for a line's text, and of each of its characters the place in that; None: the same."""

    text: str
    places: Sequence[int] | None = None
    is_plain: bool = False  # every character is as wide as any other

    def place(self, column: int) -> int:
        """Return where a character of the line is in what is drawn."""
        if self.places is None:
            return min(column, len(self.text))
        return self.places[min(column, len(self.places) - 1)]

    def column(self, place: int) -> int:
        """Return which character of the line is at a place in what is drawn."""
        return place if self.places is None else max(0, bisect_right(self.places, place) - 1)


def line_text(text: str, *, shows_line_ends: bool) -> LineText:
    """Return what is drawn for a line; a carriage return at its end is a sign only if `shows_line_ends`."""
    end = _LINE_END_SIGN if text.endswith("\r") and shows_line_ends else ""
    text = text.removesuffix("\r")
    is_long = len(text) > LONG_LINE
    if text.isascii() and (text.isprintable() or not first_hidden(text)):
        # A tab of a long line is as wide as any character, so that no part of it has to be laid out to know.
        if is_long:
            return LineText(text.replace("\t", "→") + end, None, True)
        return LineText(text + end, None, "\t" not in text)
    text = text[:LAST_COLUMN]
    if not first_hidden(text):
        return LineText(text + end)
    parts = [_drawn(char) for char in text]
    return LineText("".join(parts) + end, [0, *accumulate(map(len, parts))])


def width_in_columns(text: str) -> int:
    """Return about how many columns of the code font a line takes; rather too many."""
    if len(text) > LONG_LINE:
        return len(text) if text.isascii() else 2 * LAST_COLUMN
    return len(text) + 7 * text.count("\t") + (0 if text.isascii() else len(text))


def _drawn(char: str) -> str:
    if _FIRST_BYTE <= ord(char) <= _LAST_BYTE:
        return f"\\x{ord(char) & 0xFF:02x}"
    return escape_hidden(char)


def expand_tabs(line: LineText) -> LineText:
    """Return what is drawn with blanks in the place of tabs, where no tab stops can be set."""
    if "\t" not in line.text:
        return line
    starts, text = [0], ""
    for char in line.text:
        text += " " * (TAB_COLUMNS - len(text) % TAB_COLUMNS) if char == "\t" else char
        starts.append(len(text))
    places = range(len(line.text) + 1) if line.places is None else line.places
    return LineText(text, [starts[place] for place in places])
