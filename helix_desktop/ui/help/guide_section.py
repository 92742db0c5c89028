"""One part of a topic of the guide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuideSection:
    """A part of a topic: its heading, and paragraphs, rows of two columns or `cases` below it.

    Rows begin with a short name; a case is a line of words with what follows from it below.
    """

    heading: str
    paragraphs: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()
    cases: tuple[tuple[str, str], ...] = ()
