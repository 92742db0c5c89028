"""The cache browser's source: the entries of one room, seen from one session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from time import monotonic

import msgspec

from helix_desktop.agent.room import Room
from helix_desktop.context.content import ContentKind, Entry, Filter, Hit, Sort, SortColumn
from helix_desktop.context.digest import FIRST_LINE_CAP, LEAST_PREFIX, is_prefix
from helix_desktop.context.errors import DigestUnknown
from helix_desktop.context.event import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.context.layout import Item
from helix_desktop.context.listing import position
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.words import fold, words_of
from helix_desktop.ui.cache_browser.rows import (
    DIGEST_BYTES,
    MOST_LISTED,
    CacheColumn,
    CacheFilter,
    CacheFound,
    CacheRow,
    CacheSort,
    CacheState,
    CacheTotals,
    HandoverLink,
)
from helix_desktop.ui.standing import Standings, in_full

_SEARCH_S = 0.25  # seconds that one part of a search takes at most, so that typing is answered
_HITS = 100  # in one part of a search
_HANDOVERS = 6
_BEFORE_WORD = 16  # characters of a line that are shown before the word that was found
_OF_THE_STORE = ("index", "in the trash")  # states that it lists by itself
_STORED: tuple[CacheState, int] = ("stored", 0)
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

    def __init__(
        self, room: Room, transcript: Callable[[], Transcript | None], clock: Callable[[], float] = monotonic
    ) -> None:
        self._room, self._transcript, self._clock = room, transcript, clock
        self._states: dict[str, tuple[CacheState, int]] = {}
        self._hits: dict[str, Hit] = {}
        self._words: tuple[str, ...] = ()
        self.damaged: set[str] = set()

    async def ids(self, wanted: CacheFilter) -> bytes:
        """The digests that pass, text aside, in the filter's order: 32 bytes each, joined."""
        self._hits = {}
        await self._look_at_window()
        sort = wanted.sort
        order = Sort("created", True) if _standing_sort(sort) else Sort(_stored(sort.column), sort.descending)
        ids = await self._room.store.digests(order, _narrowed(wanted))
        if not (wanted.session_only or wanted.state or _standing_sort(sort)):
            return ids
        return await asyncio.to_thread(self._by_standing, ids, wanted)

    async def search(self, wanted: CacheFilter, cursor: str = "") -> CacheFound:
        """What holds the filter's words, found so far; a hash prefix finds its entries first."""
        store, filters, text = self._room.store, _narrowed(wanted), wanted.text.strip()
        handovers: tuple[HandoverLink, ...] = ()
        if not cursor:
            await self._look_at_window()
            self._hits, self._words = {}, words_of(text)
            by_hash = await self._by_hash(text.lower(), filters)
            if by_hash:
                return CacheFound(self._sorted(by_hash, wanted))
            handovers = await self._handovers(text)
        deadline = self._clock() + _SEARCH_S
        # An index holds the names of everything: it would be found by nearly any word.
        kinds = filters.kinds or ("output", "argument")
        found = await store.search(
            text,
            msgspec.structs.replace(filters, kinds=kinds),
            _HITS,
            cursor,
            lambda _: self._clock() < deadline,
        )
        self._hits |= {hit.entry.digest: hit for hit in found.hits}
        more = found.cursor if len(self._hits) < MOST_LISTED else ""
        return CacheFound(self._sorted([hit.entry for hit in self._hits.values()], wanted), more, handovers)

    async def tools(self) -> Sequence[str]:
        """The tools that anything is stored of."""
        return [tool for tool in await self._room.store.tools() if tool]

    async def sessions(self) -> Sequence[tuple[str, str]]:
        """The sessions by id and title, last updated first."""
        return [(one.id, one.title) for one in await self._room.store.sessions()]

    async def _look_at_window(self) -> None:
        transcript = self._transcript()
        self._states = await asyncio.to_thread(states_of, transcript) if transcript else {}

    async def _by_hash(self, text: str, filters: Filter) -> list[Entry]:
        if not (len(text) >= LEAST_PREFIX // 2 and is_prefix(text)):
            return []
        page = await self._room.store.page(limit=_HITS, prefix=text, wanted=filters)
        return list(page.entries)

    async def _handovers(self, text: str) -> tuple[HandoverLink, ...]:
        found = await self._room.store.search_handovers(text, _HANDOVERS)
        titles = dict(await self.sessions()) if found else {}
        return tuple(
            HandoverLink(
                one.session, one.seq, titles.get(one.session, ""), one.sighting.best[0].excerpt.lstrip("- ")
            )
            for one in found
        )

    def _sorted(self, entries: Sequence[Entry], wanted: CacheFilter) -> bytes:
        """Found entries in the filter's order, those of another state or session left out."""
        sort = wanted.sort
        column = "created" if _standing_sort(sort) else _stored(sort.column)
        down = _standing_sort(sort) or sort.descending
        ordered = sorted(entries, key=lambda one: position(one, column), reverse=down)
        return self._by_standing(b"".join(bytes.fromhex(one.digest) for one in ordered), wanted)

    def _by_standing(self, ids: bytes, wanted: CacheFilter) -> bytes:
        """The digests of one state or session, and in the order of what the window makes of them."""
        parts = [ids[at : at + DIGEST_BYTES] for at in range(0, len(ids), DIGEST_BYTES)]
        states = {bytes.fromhex(digest): state for digest, state in self._states.items()}
        damaged = {bytes.fromhex(digest) for digest in self.damaged}
        if wanted.session_only:
            parts = [one for one in parts if one in states]
        if wanted.state == "damaged":
            parts = [one for one in parts if one in damaged]
        elif wanted.state is not None and wanted.state not in _OF_THE_STORE:
            at = wanted.state
            parts = [one for one in parts if one not in damaged and states.get(one, _STORED)[0] == at]
        if wanted.sort.column == "saved":
            parts.sort(key=lambda one: states.get(one, _STORED)[1], reverse=wanted.sort.descending)
        elif wanted.sort.column == "state":
            parts.sort(
                key=lambda one: _RANK.get(states.get(one, _STORED)[0], -1), reverse=wanted.sort.descending
            )
        return b"".join(parts)

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
        if entry.trashed:
            state = "in the trash"
        elif entry.kind == "index":
            state = "index"
        return CacheRow(
            digest=entry.digest,
            state="damaged" if entry.digest in self.damaged else state,
            tool="argument" if entry.kind == "argument" else entry.tool,
            target=f"{entry.tool} {entry.target}" if entry.kind == "argument" else entry.target,
            first_line=_first_line(entry),
            size=entry.size,
            tokens=entry.tokens,
            saved=saved,
            recalls=entry.recalls,
            refs=entry.references,
            created=entry.created,
            last_used=entry.last_used,
            kept=entry.pinned,
            hit=self._hit(entry.digest),
        )

    def _hit(self, digest: str) -> str:
        hit = self._hits.get(digest)
        if hit is None:
            return ""
        if not hit.sighting.lines:
            return "in its name"
        spot = hit.sighting.best[0]
        return f"{spot.line:,}: {_from_word(spot.excerpt, self._words)}"


def _first_line(entry: Entry) -> str:
    """The first line of a content; those of indexes were stored cut without a sign of it."""
    line = entry.first_line
    cut = entry.kind == "index" and len(line) >= FIRST_LINE_CAP and not line.endswith("…")
    return f"{line}…" if cut else line


def _from_word(excerpt: str, words: Sequence[str]) -> str:
    """An excerpt from shortly before the first of the words on, as a narrow column shows it."""
    folded = fold(excerpt)
    first = min((at for at in map(folded.find, words) if at >= 0), default=0)
    return (
        excerpt
        if first <= _BEFORE_WORD or len(folded) != len(excerpt)
        else f"…{excerpt[first - _BEFORE_WORD :]}"
    )


def _standing_sort(sort: CacheSort) -> bool:
    return sort.column in ("state", "saved")


def _stored(column: CacheColumn) -> SortColumn:
    """The store's name of a column; the newest first for what it does not know."""
    return "created" if column == "state" or column == "saved" else column  # noqa: PLR1714 - mypy narrows so


def _narrowed(wanted: CacheFilter) -> Filter:
    """What the store is asked for: an index is a kind of content, every other state is none of an index."""
    if wanted.state is None or wanted.state == "damaged":
        return wanted.wanted
    if wanted.state == "in the trash":
        return msgspec.structs.replace(wanted.wanted, trashed=True)
    kinds: tuple[ContentKind, ...] = ("index",) if wanted.state == "index" else ("output", "argument")
    return msgspec.structs.replace(wanted.wanted, kinds=kinds)


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
