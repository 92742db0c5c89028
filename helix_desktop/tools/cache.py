"""What the tools on a workspace's cache need of its store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from helix_desktop.context.content import EVERYTHING, Entry, Filter, Found, Order, Page, StoreTotals

Count = Callable[[Sequence[str]], Awaitable[list[int]]]
"""The tokens of each text."""


class Cache(Protocol):
    """The store of one workspace; it knows no other."""

    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest, verified. Raises StoreError."""
        ...

    async def entry(self, digest: str) -> Entry:
        """What is known of a content. Raises StoreError."""
        ...

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix`, in order."""
        ...

    async def search(
        self,
        query: str,
        wanted: Filter = EVERYTHING,
        limit: int = 20,
        cursor: str = "",
        going: Callable[[int], bool] = lambda _: True,
    ) -> Found:
        """The newest contents that hold all words. Raises StoreError, InputUnusable, ValueError."""
        ...

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: Order = "newest",
        prefix: str = "",
        wanted: Filter = EVERYTHING,
    ) -> Page:
        """Entries that pass, in an order, from a cursor on. Raises StoreError, ValueError."""
        ...

    async def tools(self) -> tuple[str, ...]:
        """The tools by whose name something is stored. Raises StoreError."""
        ...

    async def totals(self) -> StoreTotals:
        """How much is stored. Raises StoreError."""
        ...
