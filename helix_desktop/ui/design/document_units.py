"""Positions in Qt's texts: they count UTF-16 units, of which an emoji takes two."""

from __future__ import annotations


def count_units(text: str) -> int:
    return len(text) if text.isascii() else len(_encode(text)) // 2


def slice_units(text: str, start: int, end: int | None = None) -> str:
    """Return the part of a text between two positions; without `end` all from the first one on."""
    if text.isascii():
        return text[start:end]
    last = None if end is None else 2 * end
    return _encode(text)[2 * start : last].decode("utf-16-le", "replace")


def to_lower(text: str) -> str:
    """Return a text in lower case whose characters stand where they stood: only "İ" would become two."""
    return text.replace("İ", "i").lower()


def _encode(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
