"""The search of messages for what the user types: a new one takes the place of that which runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.text_search import parse_query
from helix_desktop.services.message_search import MessageHit, MessageSearch, SearchedSession
from helix_desktop.ui.design.async_actions import AsyncActions


class RunningMessageSearch:
    """Searches the same sessions for other words, until it is told to forget them and what it read.

    `terms` are the words of the newest search.
    """

    def __init__(
        self, async_actions: AsyncActions, create_search: Callable[[Sequence[SearchedSession]], MessageSearch]
    ) -> None:
        self._async_actions, self._create_search = async_actions, create_search
        self.terms: Sequence[str] = ()
        self._search: MessageSearch | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def has_sessions(self) -> bool:
        """True if there are sessions to search."""
        return self._search is not None

    def set_sessions(self, sessions: Sequence[SearchedSession]) -> None:
        """Search these sessions from now on."""
        if self._search is None:
            self._search = self._create_search(sessions)
        else:
            self._search.set_sessions(sessions)

    def start(self, query: str, find: Coroutine[Any, Any, None]) -> None:
        """Begin what calls `find` for a query, in place of what runs; an invalid one has no words."""
        self.stop()
        try:
            self.terms = parse_query(query)
        except InvalidInput:
            self.terms = ()
        self._task = self._async_actions.start(find, "search messages")

    def stop(self) -> None:
        """End what runs."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def find(self, limit: int, on_found: Callable[[Sequence[MessageHit]], None]) -> int:
        """Call `on_found` with the messages of each session; return how many sessions could not be read."""
        search = self._search
        if search is None or not self.terms:
            return 0
        try:
            async with aclosing(search.find(self.terms, limit)) as found:
                async for hits in found:
                    on_found(hits)
        finally:
            if search is not self._search:  # forgotten meanwhile, and it went on to read
                self._drop(search)
        return len(search.unread)

    def forget(self) -> None:
        """Drop the sessions, and what was read of them; what runs goes on."""
        if self._search is not None:
            self._drop(self._search)
            self._search = None

    def _drop(self, search: MessageSearch) -> None:
        self._async_actions.start(search.forget(), "forget messages")
