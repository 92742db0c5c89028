"""The words of a search: what is looked for, and in which form two spellings of it are the same."""

from __future__ import annotations

import re
import unicodedata

from helix_desktop.domain.errors import InvalidInput

MAX_QUERY_LENGTH = 200  # characters
_PART = re.compile(r'"([^"]+)"|(\S+)')


def parse_query(query: str) -> tuple[str, ...]:
    """Return the normalized words of a query; "quoted words" are a phrase on one line. Raise InvalidInput."""
    if len(query) > MAX_QUERY_LENGTH:
        raise InvalidInput(
            f"The query has {len(query):,} characters; the most is {MAX_QUERY_LENGTH}.",
            fix="Give a few words that the content holds.",
        )
    parts = [match[1] or match[2] for match in _PART.finditer(query)]
    words = dict.fromkeys(normalize(line) for part in parts for line in part.splitlines() if line.strip())
    if not words:
        raise InvalidInput(
            "The query is empty.", fix='Give words that the content holds, or a "quoted phrase".'
        )
    return tuple(words)


def normalize(text: str) -> str:
    """Return the text without differences of case and of how accents are encoded; lines stay lines."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())
