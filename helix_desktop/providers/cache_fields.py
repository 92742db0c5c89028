"""The fields by which OpenAI's dialects ask for a provider's cache, and what a server refused of them."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from helix_desktop.domain.messages import CacheHints, ModelInfo

KEY, RETENTION, BREAKPOINT = "prompt_cache_key", "prompt_cache_retention", "prompt_cache_breakpoint"

_DAY_S, _HALF_HOUR_S = 86_400, 1_800
"""How long OpenAI stores with "24h", and from GPT-5.6 on ("Prompt caching", November 2026)."""


class CacheFields:
    """The cache fields of one request; `refused` holds what the server refuses, for all requests.

    Models whose writes have a price take breakpoints and no retention: OpenAI's from GPT-5.6 on.
    """

    def __init__(self, info: ModelInfo, hints: CacheHints | None, refused: set[str]) -> None:
        self._hints, self._refused = hints or CacheHints(), refused
        self._has_paid_writes = bool(info.price_cache_write)

    def body_fields(self) -> dict[str, Any]:
        """Return the fields at the top of a request."""
        values = {KEY: self._hints.key}
        if self._hints.keep_long and not self._has_paid_writes:
            values[RETENTION] = "24h"
        return {name: value for name, value in values.items() if value and name not in self._refused}

    @property
    def ends(self) -> Set[int]:
        """Return after how many messages a breakpoint is set."""
        takes = self._has_paid_writes and BREAKPOINT not in self._refused
        return frozenset(self._hints.ends if takes else ())

    @property
    def lifetime_s(self) -> int:
        """Return for how many seconds the server stores what the request begins with; 0: its default."""
        if RETENTION in self.body_fields():
            return _DAY_S
        return _HALF_HOUR_S if self.ends else 0

    def learn(self, error_text: str) -> bool:
        """Leave out a field that an error names; return True if that changes the request."""
        sent = [*self.body_fields(), *([BREAKPOINT] if self.ends else [])]
        refused = [name for name in sent if name in error_text]
        self._refused.update(refused)
        return bool(refused)
