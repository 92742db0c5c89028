"""Ids of tool calls as a dialect takes them: calls may have been made with another provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import sha256


class CallIds:
    """Gives the calls of one request ids that its dialect takes; the same request gets the same ids.

    An id that is legal stays as it is. `unique`: the dialect wants each id once in the whole request.
    """

    def __init__(
        self, legal: re.Pattern[str], made: Callable[[str], str] | None = None, *, unique: bool = False
    ) -> None:
        self._legal, self._made, self._unique = legal, made or _made, unique
        self._used: set[str] = set()
        self._newest: dict[str, str] = {}

    def called(self, ids: Iterable[str]) -> None:
        """A message made these calls."""
        self._newest = {one: self._new(one) for one in ids}

    def of(self, call_id: str) -> str:
        """The id to be sent for a call of the newest message that made any, and for its answer."""
        return self._newest.get(call_id) or self._new(call_id)

    def _new(self, call_id: str) -> str:
        found = call_id if self._legal.fullmatch(call_id) else self._made(call_id)
        time = 1
        while self._unique and found in self._used:
            time += 1
            found = self._made(f"{call_id} {time}")
        self._used.add(found)
        return found


def _made(call_id: str) -> str:
    """An id of signs that every dialect takes."""
    return f"call_{digest_of_id(call_id)[:24]}"


def digest_of_id(call_id: str) -> str:
    """64 hex digits that stand for an id."""
    return sha256(call_id.encode("utf-8", "replace")).hexdigest()
