"""The cache browser's source: the entries of one room, seen from one session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from helix_desktop.agent.room import Room
from helix_desktop.context.content import Entry
from helix_desktop.context.errors import DigestUnknown
from helix_desktop.context.event import ToolAnswered
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.cache_browser.rows import CacheFilter, CacheRow, CacheState, CacheTotals, passes

_PAGE = 2_000
_RANK: dict[CacheState, int] = {"in window": 3, "marker": 2, "handed over": 1}


class RoomSource:
    """Entries of a room; their state is what they are in the session of `transcript`."""

    def __init__(self, room: Room, transcript: Callable[[], Transcript | None]) -> None:
        self._room, self._transcript = room, transcript
        self._states: dict[str, tuple[CacheState, int]] = {}
        self.damaged: set[str] = set()

    async def ids(self, wanted: CacheFilter) -> bytes:
        """The digests that pass, in order of creation, 32 bytes each."""
        transcript = self._transcript()
        self._states = await asyncio.to_thread(states_of, transcript) if transcript else {}
        found = bytearray()
        cursor = ""
        while True:
            page = await self._room.store.page(cursor, _PAGE, wanted.order)
            for entry in page.entries:
                if not wanted.narrows or self._passes(entry, wanted):
                    found += bytes.fromhex(entry.digest)
            cursor = page.cursor
            if not cursor:
                return bytes(found)

    def _passes(self, entry: Entry, wanted: CacheFilter) -> bool:
        if wanted.session_only and entry.digest not in self._states:
            return False
        return passes(self._row(entry), wanted)

    async def rows(self, digests: Sequence[str]) -> Sequence[CacheRow]:
        """The rows of some digests; digests that are gone are left out."""
        found = []
        for digest in digests:
            try:
                found.append(self._row(await self._room.store.entry(digest)))
            except DigestUnknown:
                continue
        return found

    async def totals(self) -> CacheTotals:
        """Counts and sizes of everything."""
        totals = await self._room.store.totals()
        return CacheTotals(totals.entries, totals.size, totals.stored_size)

    def _row(self, entry: Entry) -> CacheRow:
        state, saved = self._states.get(entry.digest, ("stored", 0))
        if entry.kind == "index":
            state = "index"
        return CacheRow(
            digest=entry.digest,
            state="damaged" if entry.digest in self.damaged else state,
            tool=entry.tool,
            target=entry.target,
            first_line=entry.first_line,
            size=entry.size,
            tokens=entry.tokens,
            saved=saved,
            recalls=entry.recalls,
            refs=entry.references,
            created=entry.created,
            last_used=entry.last_used,
        )


def states_of(transcript: Transcript) -> dict[str, tuple[CacheState, int]]:
    """What each digest of a session is in its window now, and the tokens that saves.

    A content that stands in the window in one place and as a marker in another counts as in the window.
    """
    held = transcript.handover
    upto = held[1].upto if held else 0
    masked = transcript.masked
    states: dict[str, tuple[CacheState, int]] = {}
    for item in transcript.items:
        if not isinstance(item.event, ToolAnswered) or not item.event.digest:
            continue
        state: CacheState = "marker" if item.seq in masked else "in window"
        saved = item.event.tokens - item.event.marker_tokens if item.seq in masked else 0
        if item.seq <= upto:
            state, saved = "handed over", item.event.tokens
        former = states.get(item.event.digest)
        if former is None or _RANK[state] >= _RANK[former[0]]:
            states[item.event.digest] = (state, saved)
    return states
