"""One part of a topic of the guide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuideSection:
    """A part of a topic: its heading, and paragraphs or rows of two columns below it."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()
