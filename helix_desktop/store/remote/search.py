"""Listing and search of a store through its owner, with the owner's index."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.store.entries import EntryPage
from helix_desktop.store.core.entry_query import EntryQuery
from helix_desktop.store.remote import rpc_methods
from helix_desktop.store.remote.rpc_methods import RpcMethod
from helix_desktop.store.search.store_search import StoreSearch

T = TypeVar("T")


class RemoteSearch(StoreSearch):
    """The listing and search half of a store that another process owns."""

    @abstractmethod
    async def _call(self, method: RpcMethod[T], *args: object) -> T:
        """Return the owner's answer. Raise what the method raises, StoreClosed if the owner is gone."""

    async def listed(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; with normalized terms, without entries that cannot hold them all."""
        return await self._call(rpc_methods.LISTED, entry_query, terms)

    async def listed_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined."""
        return await self._call(rpc_methods.LISTED_DIGESTS, entry_query)

    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that stored something, sorted."""
        return await self._call(rpc_methods.TOOLS)

    async def handovers(self) -> list[tuple[str, RecordedEvent]]:
        """Return every handover with its session, in any order."""
        return await self._call(rpc_methods.HANDOVERS)

    async def indexed(self) -> None:
        """Wait until the owner's search index is complete."""
        await self._call(rpc_methods.INDEXED)
