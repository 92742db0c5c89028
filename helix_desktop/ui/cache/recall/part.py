"""Which part of cached contents is recalled, and what a user types for it; no Qt."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("Cache")

RecallHow: TypeAlias = Literal["whole", "lines", "pattern"]
DEFAULT_CONTEXT, CONTEXTS = 2, (0, 1, 2, 3, 5, 10, 20)
"""Lines around a matching one, as the agent's recall has them, and those to choose from."""
_LINES = re.compile(r"\s*(\d{1,9})\s*(?:([-–])\s*(\d{1,9})?)?\s*\Z")


class RecallPart(msgspec.Struct, frozen=True):
    """All of a content, lines `first` to `last` (0: the end), or those that match with `context` around."""

    how: RecallHow = "whole"
    first: int = 0
    last: int = 0
    pattern: str = ""
    context: int = DEFAULT_CONTEXT


def parse_recall_part(typed: str) -> RecallPart:
    """Return the lines that "10-40", "10-" or "10" mean. Raises InvalidInput."""
    match = _LINES.match(typed)
    first = int(match[1]) if match else 0
    last = 0 if match and match[2] and not match[3] else int(match[3] or match[1]) if match else 0
    if not first or (last and last < first):
        raise InvalidInput(
            text("These lines can't be read."), fix=text("Write lines such as {example}.", example="10-40")
        )
    return RecallPart("lines", first, last)
