"""The direction of a paragraph's own letters: the window reads from left to right in every language."""

from __future__ import annotations

from unicodedata import bidirectional

from PySide6.QtCore import Qt

_DIRECTIONS = {
    "L": Qt.LayoutDirection.LeftToRight,
    "R": Qt.LayoutDirection.RightToLeft,
    "AL": Qt.LayoutDirection.RightToLeft,
}


def text_direction(text: str) -> Qt.LayoutDirection:
    """Return the direction of a text's first letter; LayoutDirectionAuto where it has none."""
    letter = next(filter(str.isalpha, text), "")
    unknown = Qt.LayoutDirection.LayoutDirectionAuto
    return _DIRECTIONS.get(bidirectional(letter), unknown) if letter else unknown
