"""What the tools on a workspace's cache need of its store."""

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
"""The tokens of each text."""


class Cache(Protocol):
    """The store of one workspace; it knows no other."""

    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest, verified. Raises StoreError."""
        ...

    async def entry(self, digest: str) -> CacheEntry:
        """What is known of a content. Raises StoreError."""
        ...

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix`, in order."""
        ...

    async def search(
        self,
        query: str,
        entry_filter: EntryFilter = DEFAULT_FILTER,
        limit: int = 20,
        cursor: str = "",
        should_continue: Callable[[int], bool] = lambda _: True,
    ) -> SearchResults:
        """The newest contents that hold all words. Raises StoreError, InputUnusable, ValueError."""
        ...

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: EntryOrder = "newest",
        prefix: str = "",
        entry_filter: EntryFilter = DEFAULT_FILTER,
    ) -> EntryPage:
        """Entries that pass, in an order, from a cursor on. Raises StoreError, ValueError."""
        ...

    async def tools(self) -> tuple[str, ...]:
        """The tools by whose name something is stored. Raises StoreError."""
        ...

    async def totals(self) -> StoreTotals:
        """How much is stored. Raises StoreError."""
        ...
