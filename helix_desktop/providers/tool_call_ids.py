"""Ids of tool calls as a dialect takes them: calls may have been made with another provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import sha256


class ToolCallIds:
    """Gives the calls of one request ids that its dialect takes; the same request gets the same ids.

    An id that is legal stays as it is. `unique`: the dialect wants each id once in the whole request.
    """

    def __init__(
        self, pattern: re.Pattern[str], make_id: Callable[[str], str] | None = None, *, unique: bool = False
    ) -> None:
        self._pattern, self._make_id, self._unique = pattern, make_id or _hashed_id, unique
        self._used: set[str] = set()
        self._newest: dict[str, str] = {}

    def register(self, ids: Iterable[str]) -> None:
        """A message made these calls."""
        self._newest = {one: self._unused_id(one) for one in ids}

    def wire_id(self, call_id: str) -> str:
        """The id to be sent for a call of the newest message that made any, and for its answer."""
        return self._newest.get(call_id) or self._unused_id(call_id)

    def _unused_id(self, call_id: str) -> str:
        found = call_id if self._pattern.fullmatch(call_id) else self._make_id(call_id)
        time = 1
        while self._unique and found in self._used:
            time += 1
            found = self._make_id(f"{call_id} {time}")
        self._used.add(found)
        return found


def _hashed_id(call_id: str) -> str:
    """An id of signs that every dialect takes."""
    return f"call_{hash_id(call_id)[:24]}"


def hash_id(call_id: str) -> str:
    """64 hex digits that stand for an id."""
    return sha256(call_id.encode("utf-8", "replace")).hexdigest()
