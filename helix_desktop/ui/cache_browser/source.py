"""The cache browser's source: the entries of one room, seen from one session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from helix_desktop.agent.room import Room
from helix_desktop.context.content import Entry
from helix_desktop.context.errors import DigestUnknown
from helix_desktop.context.event import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.context.layout import Item
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.cache_browser.rows import CacheFilter, CacheRow, CacheState, CacheTotals, passes
from helix_desktop.ui.standing import Standings, in_full

_PAGE = 2_000
_RANK: dict[CacheState, int] = {
    "pinned": 7,
    "in window": 6,
    "in part": 5,
    "marker": 4,
    "folded": 3,
    "observed": 2,
    "handed over": 1,
    "left out": 0,
}


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
            tool="argument" if entry.kind == "argument" else entry.tool,
            target=f"{entry.tool} {entry.target}" if entry.kind == "argument" else entry.target,
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

    A content that stands in the window in several places counts as what shows most of it.
    """
    standings = Standings(transcript)
    states: dict[str, tuple[CacheState, int]] = {}
    for item in transcript.items:
        for digest, state, saved in _standing(item, transcript, standings):
            former = states.get(digest)
            if former is None or _RANK[state] >= _RANK[former[0]]:
                states[digest] = (state, saved)
    return states


def _standing(
    item: Item, transcript: Transcript, standings: Standings
) -> Iterator[tuple[str, CacheState, int]]:
    """Digest, state and saving of each content of a message."""
    standing = standings.of(item.seq)
    shown = standing in ("in window", "pinned")
    match item.event:
        case ToolAnswered() as answer if answer.digest:
            state: CacheState = "marker" if standing == "cached" else standing
            whole, full = in_full(item.seq, answer, transcript), item.event.tokens
            saved = 0 if shown else full - answer.marker_tokens if standing == "cached" else full
            yield answer.digest, "in part" if standing == "in window" and not whole else state, saved
        case AssistantSpoke() as spoke if spoke.short:
            masked = item.seq in transcript.masked and shown
            saving = spoke.tokens - spoke.short_tokens
            for call in spoke.short:
                for digest in call.digests:
                    stands: CacheState = "marker" if masked or standing == "cached" else standing
                    yield digest, stands, saving if stands == "marker" else 0
        case UserSpoke(attachments=attachments):
            for one in attachments:
                yield one.digest, "in window" if shown else "marker" if standing == "cached" else standing, 0
        case _:
            pass
