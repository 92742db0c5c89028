"""The lines of a content that match a pattern, as a recall shows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MatchingLines:
    """How many lines match, whether all were counted, and their numbered text with the lines around them."""

    count: int
    is_complete: bool
    text: str
