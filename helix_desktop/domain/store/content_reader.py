"""Reading the contents of one workspace's store: what the agent, its tools and other programs need of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from helix_desktop.domain.store.entries import (
    DEFAULT_FILTER,
    CacheEntry,
    EntryFilter,
    EntryOrder,
    EntryPage,
    SearchResults,
    SessionSummary,
    StoreTotals,
)


class ContentReader(Protocol):
    """The contents of one workspace, and of no other. Every method may raise StoreClosed."""

    async def get(self, digest: str) -> bytes:
        """Return a full digest's verified bytes. Raises DigestUnknown (with near matches), ContentDamaged."""
        ...

    async def entry(self, digest: str) -> CacheEntry:
        """Return a content's metadata. Raises DigestUnknown."""
        ...

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """Return the digests that begin with `prefix` (1 to 64 hex digits), in order, at most `limit`."""
        ...

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: EntryOrder = "newest",
        prefix: str = "",
        entry_filter: EntryFilter = DEFAULT_FILTER,
    ) -> EntryPage:
        """Return entries that match a filter, in an order or (with a prefix) by digest, from a cursor on.

        Raises ValueError for the cursor of another order.
        """
        ...

    async def tools(self) -> tuple[str, ...]:
        """Return the names of all tools that stored an entry, in order."""
        ...

    async def search(
        self,
        query: str,
        entry_filter: EntryFilter = DEFAULT_FILTER,
        limit: int = 20,
        cursor: str = "",
        should_continue: Callable[[int], bool] = lambda _: True,
    ) -> SearchResults:
        """Return the newest contents that hold all words of a query, from a cursor on; each is read.

        Ends at `limit` hits or when `should_continue`, called with the size of the next content, returns
        False. Raises InvalidInput for a query without words, ValueError for an invalid cursor.
        """
        ...

    async def sessions(self) -> list[SessionSummary]:
        """Return all sessions except those in the trash, last updated first."""
        ...

    async def totals(self) -> StoreTotals:
        """Return the counts and sizes of the whole store."""
        ...
