"""How a store is listed and searched through its owner: by the owner's index."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from helix_desktop.context.content import Page
from helix_desktop.context.event import Recorded
from helix_desktop.store.finder import Finder
from helix_desktop.store.ordering import Listing
from helix_desktop.store.remote import calls
from helix_desktop.store.remote.calls import Call

T = TypeVar("T")


class RemoteFinder(Finder):
    """The finding half of a store that another process owns."""

    @abstractmethod
    async def _ask(self, call: Call[T], *given: object) -> T:
        """What the owner answers. Raises what the method raises, StoreClosed when the owner is gone."""

    async def listed(self, asked: Listing, words: Sequence[str] = ()) -> Page:
        """The page of a listing; given folded words, without what surely does not hold them all."""
        return await self._ask(calls.LISTED, asked, words)

    async def listed_digests(self, asked: Listing) -> bytes:
        """All digests of a listing, joined."""
        return await self._ask(calls.LISTED_DIGESTS, asked)

    async def tools(self) -> tuple[str, ...]:
        """The tools by whose name something is stored, in order."""
        return await self._ask(calls.TOOLS)

    async def handovers(self) -> list[tuple[str, Recorded]]:
        """Every handover with its session, in any order."""
        return await self._ask(calls.HANDOVERS)

    async def indexed(self) -> None:
        """Wait until the owner's search index holds all it ever will."""
        await self._ask(calls.INDEXED)
