"""Several selected entries that are recalled together, in words; no Qt."""

from __future__ import annotations

import msgspec

from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

MAX_RECALLED = 20
"""Contents that are recalled whole without a question."""


class RecallSelection(msgspec.Struct, frozen=True):
    """How many of the selected entries can be recalled, and their tokens (None: not all are known yet)."""

    count: int
    tokens: int | None = None

    @property
    def asks_first(self) -> bool:
        """Return True if they are so many that the user is asked which part of them to recall."""
        return self.count > MAX_RECALLED

    @property
    def words(self) -> str:
        """Return what recalling them is called."""
        if self.asks_first:
            return tr.plural(self.count, "Recall %n entry into message…", "Recall %n entries into message…")
        return tr.plural(self.count, "Recall %n entry into message", "Recall %n entries into message")

    @property
    def short_words(self) -> str:
        if self.asks_first:
            return tr.plural(self.count, "Recall %n entry…", "Recall %n entries…")
        return tr.plural(self.count, "Recall %n entry", "Recall %n entries")

    @property
    def cost(self) -> str:
        """Return what they cost in a message; empty while that is not known."""
        if self.tokens is None:
            return ""
        return tr("≈ {tokens}", tokens=format_token_count(self.tokens))
