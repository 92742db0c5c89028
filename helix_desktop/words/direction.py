"""Texts of both directions in one line, so that each keeps its order (Unicode Bidirectional Algorithm)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias
from unicodedata import bidirectional

from helix_desktop.words.translation import current_language

LetterDirection: TypeAlias = Literal["left_to_right", "right_to_left", ""]
_DIRECTIONS: dict[str, LetterDirection] = {"L": "left_to_right", "R": "right_to_left", "AL": "right_to_left"}
LEFT_TO_RIGHT_ISOLATE, END_OF_ISOLATE = "\u2066", "\u2069"
_MARK = "\u200e"  # left-to-right mark


def first_direction(text: str) -> LetterDirection:
    """Return the direction of a text's first letter; empty where it has none."""
    letter = next(filter(str.isalpha, text), "")
    return _DIRECTIONS.get(bidirectional(letter), "") if letter else ""


def isolate(text: str) -> str:
    """Return a text for a line from right to left: a path keeps its slashes, a cut title its dots."""
    return (
        f"{LEFT_TO_RIGHT_ISOLATE}{text}{END_OF_ISOLATE}" if first_direction(text) == "left_to_right" else text
    )


def with_sign(sign: str, number: str) -> str:
    """Return a number behind its sign, which would stand on its other side in a line from right to left."""
    return f"{_MARK if current_language().is_right_to_left else ''}{sign}{number}"


def dotted(parts: Iterable[str]) -> str:
    """Return the parts that are not empty as one line, separated by dots."""
    if current_language().is_right_to_left:
        parts = map(isolate, parts)
    return " · ".join(filter(None, parts))
