"""The fields by which OpenAI's dialects ask for a provider's cache, and what a server refused of them."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from helix_desktop.domain.messages import CacheHints, ModelInfo

KEY, RETENTION, BREAKPOINT = "prompt_cache_key", "prompt_cache_retention", "prompt_cache_breakpoint"
CONTROL = "cache_control"
"""What gateways take over for Anthropic's models, which store nothing without being asked."""

_DAY_S, _HOUR_S, _HALF_HOUR_S = 86_400, 3_600, 1_800
"""How long OpenAI stores with "24h", Anthropic with "1h", OpenAI from GPT-5.6 on, in seconds."""


class CacheFields:
    """The cache fields of one request; `refused` holds what the server refuses, for all requests.

    Models whose writes have a price take breakpoints and no retention: OpenAI's from GPT-5.6 on.
    """

    def __init__(self, info: ModelInfo, hints: CacheHints | None, refused: set[str]) -> None:
        self._hints, self._refused = hints or CacheHints(), refused
        self._has_paid_writes = bool(info.price_cache_write)
        self._is_anthropic = "claude" in info.name.lower()

    def body_fields(self) -> dict[str, Any]:
        """Return the fields at the top of a request."""
        values: dict[str, Any] = {KEY: self._hints.key}
        if self._is_anthropic and self._hints.key:
            long = {"ttl": "1h"} if self._hints.keep_long else {}
            values[CONTROL] = {"type": "ephemeral", **long}
        elif self._hints.keep_long and not self._has_paid_writes:
            values[RETENTION] = "24h"
        return {name: value for name, value in values.items() if value and name not in self._refused}

    @property
    def ends(self) -> Set[int]:
        """Return after how many messages a breakpoint is set."""
        takes = self._has_paid_writes and not self._is_anthropic and BREAKPOINT not in self._refused
        return frozenset(self._hints.ends if takes else ())

    @property
    def lifetime_s(self) -> int:
        """Return for how many seconds the server stores what the request begins with; 0: its default."""
        fields = self.body_fields()
        if RETENTION in fields:
            return _DAY_S
        if CONTROL in fields and self._hints.keep_long:
            return _HOUR_S
        return _HALF_HOUR_S if self.ends else 0

    def learn(self, error_text: str) -> bool:
        """Leave out a field that an error names; return True if that changes the request."""
        sent = [*self.body_fields(), *([BREAKPOINT] if self.ends else [])]
        refused = [name for name in sent if name in error_text]
        self._refused.update(refused)
        return bool(refused)
