"""Ids of tool calls that a dialect accepts: calls may come from another provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import sha256


class ToolCallIds:
    """Maps the calls of one request to ids that its dialect accepts; deterministic per request.

    Legal ids stay unchanged. `unique`: the dialect requires each id only once in the whole request.
    """

    def __init__(
        self, pattern: re.Pattern[str], make_id: Callable[[str], str] | None = None, *, unique: bool = False
    ) -> None:
        self._pattern, self._make_id, self._unique = pattern, make_id or _hashed_id, unique
        self._used: set[str] = set()
        self._newest: dict[str, str] = {}

    def register(self, ids: Iterable[str]) -> None:
        """Register the calls of a message."""
        self._newest = {call_id: self._unused_id(call_id) for call_id in ids}

    def wire_id(self, call_id: str) -> str:
        """Return the id to send for a call of the newest message with calls, and for its answer."""
        return self._newest.get(call_id) or self._unused_id(call_id)

    def _unused_id(self, call_id: str) -> str:
        candidate = call_id if self._pattern.fullmatch(call_id) else self._make_id(call_id)
        attempt = 1
        while self._unique and candidate in self._used:
            attempt += 1
            candidate = self._make_id(f"{call_id} {attempt}")
        self._used.add(candidate)
        return candidate


def _hashed_id(call_id: str) -> str:
    """Return an id of characters that every dialect accepts."""
    return f"call_{hash_id(call_id)[:24]}"


def hash_id(call_id: str) -> str:
    """Return the SHA-256 of an id as 64 hex digits."""
    return sha256(call_id.encode("utf-8", "replace")).hexdigest()
