"""The words of a search: what is looked for, and in which form two spellings of it are the same."""

from __future__ import annotations

import re
import unicodedata

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Store")

MAX_QUERY_LENGTH = 200  # characters
_PART = re.compile(r'"([^"]+)"|(\S+)')


def parse_query(query: str) -> tuple[str, ...]:
    """Return the normalized words of a query; "quoted words" are a phrase on one line. Raise InvalidInput."""
    if len(query) > MAX_QUERY_LENGTH:
        raise InvalidInput(
            _text(
                "The query has {count} characters; the limit is {limit}.",
                count=len(query),
                limit=MAX_QUERY_LENGTH,
            ),
            fix=_text("Enter a few words from the content."),
        )
    parts = [match[1] or match[2] for match in _PART.finditer(query)]
    words = dict.fromkeys(normalize(line) for part in parts for line in part.splitlines() if line.strip())
    if not words:
        raise InvalidInput(
            _text("The query is empty."), fix=_text('Enter words from the content, or a "quoted phrase".')
        )
    return tuple(words)


def spelled_words(query: str) -> tuple[str, ...]:
    """Return the words of a query as they are spelled: a line with this spelling is better than others."""
    return tuple(dict.fromkeys(match[1] or match[2] for match in _PART.finditer(query)))


def normalize(text: str) -> str:
    """Return the text without differences of case and of how accents are encoded; lines stay lines."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())
