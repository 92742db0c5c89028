"""The interface that the cache tools need of a workspace's store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from helix_desktop.domain.store.entries import (
    DEFAULT_FILTER,
    CacheEntry,
    EntryFilter,
    EntryOrder,
    EntryPage,
    SearchResults,
    StoreTotals,
)

CountTokens = Callable[[Sequence[str]], Awaitable[list[int]]]
"""Returns the token count of each text."""


class Cache(Protocol):
    """The store of one workspace; it has access to no other."""

    async def get(self, digest: str) -> bytes:
        """Return the bytes of a full digest, verified. Raises StoreError."""
        ...

    async def entry(self, digest: str) -> CacheEntry:
        """Return the metadata of a content. Raises StoreError."""
        ...

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """Return the digests that begin with `prefix`, in order."""
        ...

    async def search(
        self,
        query: str,
        entry_filter: EntryFilter = DEFAULT_FILTER,
        limit: int = 20,
        cursor: str = "",
        should_continue: Callable[[int], bool] = lambda _: True,
    ) -> SearchResults:
        """Return the newest contents that contain all words. Raises StoreError, InvalidInput, ValueError."""
        ...

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: EntryOrder = "newest",
        prefix: str = "",
        entry_filter: EntryFilter = DEFAULT_FILTER,
    ) -> EntryPage:
        """Return a page of the matching entries, from a cursor on. Raises StoreError, ValueError."""
        ...

    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that have stored contents. Raises StoreError."""
        ...

    async def totals(self) -> StoreTotals:
        """Return how much is stored. Raises StoreError."""
        ...
