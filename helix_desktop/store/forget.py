"""Forgetting in a workspace on disk: preview, removal, tombstones, and files that hold it no longer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from helix_desktop.context.errors import StoreDamaged, StoreWriteFailed
from helix_desktop.context.forgetting import Finds, Redaction, Wanted
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec
from helix_desktop.store.commit import Clock
from helix_desktop.store.content import Contents
from helix_desktop.store.handle import Handle
from helix_desktop.store.keep import Put
from helix_desktop.store.layout import Layout
from helix_desktop.store.redacting import Redactor
from helix_desktop.store.scouring import Due, clear_aside, copies_aside, scour
from helix_desktop.store.secret_search import Read, Search, Told, search
from helix_desktop.store.tombstone import Tombstone, read_tombstone, write_tombstone

_ROUNDS = 3  # what is written while the search runs is found by the next one


class LevelForgetting:
    """Removes what the person names from one workspace's LevelDB; lives as long as its store."""

    def __init__(
        self,
        read: Read,
        put: Put,
        handle: Handle,
        layout: Layout,
        codec: Codec,
        contents: Contents,
        clock: Clock,
        index_caught_up: Callable[[], Awaitable[object]],
    ) -> None:
        self._read, self._put, self._layout = read, put, layout
        self._handle, self._codec, self._contents, self._clock = handle, codec, contents, clock
        self._index_caught_up = index_caught_up

    async def preview(self, wanted: Wanted, told: Told = lambda done, total: None) -> Finds:
        """Where it stands; changes nothing. Raises InputUnusable."""
        redaction = Redaction(wanted, self._clock())
        return await self._finds(await self._search(redaction, told), redaction)

    async def carry_out(self, wanted: Wanted, told: Told = lambda done, total: None) -> Finds:
        """Remove it everywhere in this store, also from its files; what was changed. Raises InputUnusable."""
        at = self._clock()
        first: Finds | None = None
        for _ in range(_ROUNDS):
            finds = await self._round(Redaction(wanted, at), at, told, again=first is not None)
            first = first or finds
            if _left(finds).nothing and first is not finds:
                break
        else:
            raise StoreWriteFailed(
                "It was removed, and is being written again.",
                "A running turn goes on mentioning it.",
                "Stop what runs in this workspace, and forget it again.",
            )
        await self._index_caught_up()  # before the note is deleted that has the next opening begin it anew
        try:
            await self._put(self._scour, 0)
        except StoreDamaged as error:
            raise StoreDamaged(
                "What was removed may still be in the store's files: they are damaged.",
                error.why,
                "Close the workspace and open it again, which mends it; then forget it once more.",
            ) from error
        assert first is not None  # there is a first round
        return first

    async def when(self, digest: str) -> int:
        """When a content was forgotten, in milliseconds since 1970; 0 when it was not, or may come back."""
        keys.raw(digest)
        found = await self._read(lambda view: read_tombstone(view.get, self._codec, digest))
        return found.at if found is not None and not found.lifted else 0

    async def lift(self, digest: str) -> bool:
        """Let a forgotten content be stored again; whether it was forgotten."""
        lifted: list[bool] = []

        def stage(batch: Batch) -> None:
            found = read_tombstone(batch.get, self._codec, digest)
            lifted.append(found is not None and not found.lifted)
            if found is not None:
                write_tombstone(batch, self._codec, digest, Tombstone(found.at, found.successor, lifted=True))

        keys.raw(digest)
        await self._put(stage, 0)
        return lifted[0]

    async def _search(self, redaction: Redaction, told: Told) -> Search:
        return await search(self._read, self._codec, self._contents, redaction, told)

    async def _finds(self, found: Search, redaction: Redaction) -> Finds:
        def aside() -> tuple[list[str], list[str]]:
            gone = {one.digest for one in (*found.contents, *found.indexes)}
            here = redaction.stands_in if redaction.needles else None
            damaged = self._contents.quarantine.suspects(gone, self._contents.content_of, here)
            return damaged, [one.name for one in copies_aside(self._layout)]

        return found.finds(*await self._read(lambda _: aside()))

    async def _round(self, redaction: Redaction, at: int, told: Told, again: bool) -> Finds:
        """Search, and change what was found; a second search that finds nothing changes nothing."""
        found = await self._search(redaction, told)
        finds = await self._finds(found, redaction)

        def stage(batch: Batch) -> None:
            due = Due(at, finds.damaged, finds.aside)
            Redactor(batch, self._handle, self._codec, self._contents, redaction, at).stage(found)
            batch.put(keys.SCOUR, self._codec.seal(keys.SCOUR, due))

        if not (again and _left(finds).nothing):
            await self._put(stage, 0)
        await self._read(lambda _: clear_aside(self._layout, finds.damaged, finds.aside))
        return finds

    def _scour(self, batch: Batch) -> None:
        scour(self._handle, self._layout)
        batch.delete(keys.SCOUR)


def _left(finds: Finds) -> Finds:
    """Without the damaged rows that the search itself set aside once more: those are no new mention."""
    rows = (one for one in finds.damaged if one.partition(".")[0] not in finds.unreadable)
    return msgspec.structs.replace(finds, damaged=tuple(rows))
