"""The Outputs page's source: the entries of one workspace, seen from one session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from time import monotonic

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.intake.descriptions import heads_numbered_lines
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.window.message_states import MessageStates, is_in_full
from helix_desktop.context.window.used_tokens import content_tokens
from helix_desktop.domain.digest import MIN_PREFIX, is_digest_prefix
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import Excluded, FoldMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.store import (
    CacheEntry,
    ContentHit,
    EntryFilter,
    EntrySort,
    StoreTotals,
    sort_position,
)
from helix_desktop.domain.text_format import FIRST_LINE_CAP
from helix_desktop.domain.text_search import normalize, parse_query
from helix_desktop.ui.outputs.rows import (
    DIGEST_BYTES,
    INDEX_LABELS,
    MAX_LISTED,
    SAME_STATES,
    CacheFilter,
    CacheRow,
    CacheSearchResults,
    CacheSort,
    CacheState,
)
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator

tr = Translator("Outputs")

_SEARCH_PART_S = 0.25  # seconds that one part of a search takes at most, so that typing is answered
_FIRST_ROWS = 128  # that are shown before all are listed
_MAX_HITS = 100  # in one part of a search
_CONTEXT_CHARS = 16  # characters of a line that are shown before the word that was found
_NEWEST = EntrySort("used", True)
_ELSEWHERE: tuple[CacheState, int] = ("elsewhere", 0)
_RANK: dict[CacheState, int] = {
    "pinned": 6,
    "in_window": 5,
    "in_part": 4,
    "cached": 3,
    "excluded": 3,
    "folded": 2,
    "observed": 2,
    "handed_over": 1,
    "truncated": 0,
}


class OutputSource:
    """The entries of a workspace; state and tokens are those in the session of `conversation`.

    Its methods raise HelixError where the store can't be read.
    """

    def __init__(self, workspace: OpenWorkspace, conversation: Callable[[], Conversation | None]) -> None:
        self._workspace = workspace
        self._conversation = conversation
        self._states: dict[str, tuple[CacheState, int]] = {}
        self._session_digests: frozenset[bytes] = frozenset()
        self._stale_digests: dict[str, int] = {}
        self._hits: dict[str, ContentHit] = {}
        self._terms: tuple[str, ...] = ()
        self.damaged: set[str] = set()

    async def ids(self, cache_filter: CacheFilter) -> bytes:
        """Return the digests of all entries that pass, text aside, in its order: 32 bytes each, joined."""
        self._hits = {}
        await self._read_window(cache_filter)
        order, by_window = _orders(cache_filter.sort)
        ids = await self._workspace.store.digests(order, _store_filter(cache_filter))
        if not (cache_filter.session_only or cache_filter.state or by_window):
            return ids
        return await asyncio.to_thread(self._filter_by_state, ids, cache_filter)

    async def first_ids(self, cache_filter: CacheFilter) -> bytes:
        """Return the first digests of that list where they are at hand before all are; else none."""
        if cache_filter != CacheFilter():
            return b""
        entry_filter = _store_filter(cache_filter)
        page = await self._workspace.store.page("", _FIRST_ROWS, _NEWEST, entry_filter=entry_filter)
        return b"".join(bytes.fromhex(entry.digest) for entry in page.entries)

    async def search(self, cache_filter: CacheFilter, cursor: str = "") -> CacheSearchResults:
        """Return what holds the filter's words, from a cursor on; answers within half a second.

        A hash prefix finds its entries first.
        """
        store = self._workspace.store
        filters = _store_filter(cache_filter)
        text = cache_filter.text.strip()
        if not cursor:
            await self._read_window(cache_filter)
            self._hits = {}
            self._terms = parse_query(text)
            by_hash = await self._by_hash(text.lower(), filters)
            if by_hash:
                return CacheSearchResults(self._sort_entries(by_hash, cache_filter))
        deadline = monotonic() + _SEARCH_PART_S
        # An index holds the names of everything: it would be found by nearly any word.
        kinds = cache_filter.entry_filter.kinds or ("output", "argument")
        results = await store.search(
            text,
            msgspec.structs.replace(filters, kinds=kinds),
            _MAX_HITS,
            cursor,
            lambda _: monotonic() < deadline,
        )
        self._hits |= {hit.entry.digest: hit for hit in results.hits}
        more = results.cursor if len(self._hits) < MAX_LISTED else ""
        return CacheSearchResults(
            self._sort_entries([hit.entry for hit in self._hits.values()], cache_filter),
            more,
            results.unindexed,
        )

    async def tools(self) -> Sequence[str]:
        return [tool for tool in await self._workspace.store.tools() if tool and tool not in INDEX_LABELS]

    async def sessions(self) -> Sequence[tuple[str, str]]:
        return [(session.id, session.title) for session in await self._workspace.store.sessions()]

    async def _read_window(self, cache_filter: CacheFilter) -> None:
        """Read where contents stand in the session's window and, for its filter, which ones its log names."""
        conversation = self._conversation()
        transcript = conversation.session.transcript if conversation is not None else None
        self._states = {}
        if conversation is not None and transcript is not None:
            sees_images = conversation.model.images
            self._states = await asyncio.to_thread(content_states, transcript, sees_images=sees_images)
        self._stale_digests = dict(transcript.stale_digests) if transcript else {}
        self._session_digests = frozenset()
        if conversation is not None and cache_filter.session_only:
            digests = await self._workspace.store.retention.session_digests(conversation.session.id)
            self._session_digests = frozenset(map(bytes.fromhex, digests))

    async def _by_hash(self, text: str, filters: EntryFilter) -> list[CacheEntry]:
        if not (len(text) >= MIN_PREFIX // 2 and is_digest_prefix(text)):
            return []
        any_kind = msgspec.structs.replace(filters, kinds=())
        page = await self._workspace.store.page(limit=_MAX_HITS, prefix=text, entry_filter=any_kind)
        return list(page.entries)

    def _sort_entries(self, entries: Sequence[CacheEntry], cache_filter: CacheFilter) -> bytes:
        """Found entries in the filter's order, those of another state or session left out."""
        sort, _ = _orders(cache_filter.sort)
        ordered = sorted(entries, key=lambda it: sort_position(it, sort.column), reverse=sort.descending)
        return self._filter_by_state(b"".join(bytes.fromhex(entry.digest) for entry in ordered), cache_filter)

    def _filter_by_state(self, ids: bytes, cache_filter: CacheFilter) -> bytes:
        """Return the digests of one state or session, and in the order of what the window makes of them."""
        parts = [ids[at : at + DIGEST_BYTES] for at in range(0, len(ids), DIGEST_BYTES)]
        states = {bytes.fromhex(digest): state for digest, state in self._states.items()}
        damaged = {bytes.fromhex(digest) for digest in self.damaged}
        if cache_filter.session_only:
            parts = [raw for raw in parts if raw in self._session_digests]
        if cache_filter.state == "damaged":
            parts = [raw for raw in parts if raw in damaged]
        elif cache_filter.state is not None and cache_filter.state != "in_trash":
            same = SAME_STATES[cache_filter.state]
            parts = [raw for raw in parts if raw not in damaged and states.get(raw, _ELSEWHERE)[0] in same]
        _, value = _orders(cache_filter.sort)
        if value is not None:
            down = cache_filter.sort.is_descending
            parts.sort(key=lambda raw: value(*states.get(raw, _ELSEWHERE)), reverse=down)
        return b"".join(parts)

    async def rows(self, digests: Sequence[str]) -> Sequence[CacheRow]:
        result = []
        for digest in digests:
            try:
                result.append(self._row(await self._workspace.store.entry(digest)))
            except DigestUnknown:
                continue
        return result

    async def totals(self) -> StoreTotals:
        return await self._workspace.store.totals()

    def _row(self, entry: CacheEntry) -> CacheRow:
        state, saved = self._states.get(entry.digest, _ELSEWHERE)
        if entry.trashed:
            state = "in_trash"
        elif entry.kind == "index":
            state = "index"
        own = {"first_line": _first_line(entry), "tokens": content_tokens(entry)}
        return CacheRow(
            **(msgspec.structs.asdict(entry) | own),
            state="damaged" if entry.digest in self.damaged else state,
            saved=saved,
            changed_since=self._stale_digests.get(entry.digest, 0),
            hit=self._hit(entry.digest),
            is_hit_inside=entry.digest in self._hits and bool(self._hits[entry.digest].matches.lines),
        )

    def _hit(self, digest: str) -> str:
        hit = self._hits.get(digest)
        if hit is None:
            return ""
        if not hit.matches.lines:
            return tr("matches name")
        spot = hit.matches.best[0]
        line = spot.line - heads_numbered_lines(hit.entry.tool, hit.matches.header)
        return f"{format_integer(line)}: {_excerpt_from_match(spot.excerpt, self._terms)}"


def _first_line(entry: CacheEntry) -> str:
    """Return the first line of a content; those of indexes were stored cut without a sign of it."""
    line = entry.first_line
    cut = entry.kind == "index" and len(line) >= FIRST_LINE_CAP and not line.endswith("…")
    return f"{line}…" if cut else line


def _excerpt_from_match(excerpt: str, terms: Sequence[str]) -> str:
    """Return an excerpt from shortly before the first of the words on, as a narrow column shows it."""
    folded = normalize(excerpt)
    first = min((at for at in map(folded.find, terms) if at >= 0), default=0)
    is_near = first <= _CONTEXT_CHARS or len(folded) != len(excerpt)
    return excerpt if is_near else f"…{excerpt[first - _CONTEXT_CHARS :]}"


def _orders(sort: CacheSort) -> tuple[EntrySort, Callable[[CacheState, int], int] | None]:
    """Return the store's part of an order, and by what of the window its newest first are sorted then."""
    match sort.column:
        case "state":
            return _NEWEST, lambda state, _: _RANK.get(state, -1)
        case "saved":
            return _NEWEST, lambda _, saved: saved
        case column:
            return EntrySort(column, sort.is_descending), None


def _store_filter(cache_filter: CacheFilter) -> EntryFilter:
    """Return the store's part of a filter; unless it asks for other kinds of content, only outputs pass."""
    entry_filter = cache_filter.entry_filter
    if cache_filter.state == "in_trash":
        return msgspec.structs.replace(entry_filter, trashed=True)
    if entry_filter.kinds or cache_filter.state == "damaged":
        return entry_filter
    return msgspec.structs.replace(entry_filter, kinds=("output",))


def content_states(transcript: Transcript, *, sees_images: bool = True) -> dict[str, tuple[CacheState, int]]:
    """Return what each digest of a session is in its window now, and the tokens that saves.

    An image is a marker in the window of a model without `sees_images`.

    A content that stands in the window in several places counts as what shows most of it; of those that show
    as much as what saves most. A lookup of some lines, or a part that the user attached, which have the
    digest of the whole, count only where nothing else stands. What notes and summaries replaced is listed by
    their indexes.
    """
    standings = MessageStates(transcript)
    states: dict[str, tuple[CacheState, int]] = {}
    for item in transcript.messages.items:
        for digest, state, saved in _item_states(item, transcript, standings, sees_images):
            previous = states.get(digest)
            is_part = state == "in_part" and isinstance(item.event, UserSpoke)
            if previous is not None and (is_part or _is_lookup(item, transcript)):
                continue
            if previous is None or (_RANK[state], saved) >= (_RANK[previous[0]], previous[1]):
                states[digest] = (state, saved)
    rewrites = (*transcript.rewrites.by_seq.values(), *transcript.rewrites.observations.values())
    for rewrite in rewrites:
        if isinstance(rewrite, FoldMade | ObservationsMade | HandoverMade):
            states[rewrite.index] = ("index", 0)
        elif isinstance(rewrite, Excluded):  # of a message, or of a text of the session's start
            is_out = rewrite in transcript.rewrites.excluded_texts.values()
            of_part: CacheState = "excluded" if is_out else "in_window"
            state = of_part if rewrite.part else standings.state_of(rewrite.targets[0])
            states.setdefault(rewrite.digest, (state, 0))
    return states


def _is_lookup(item: LogItem, transcript: Transcript) -> bool:
    output = item.event
    return (
        isinstance(output, ToolAnswered)
        and bool(output.recalled)
        and not is_in_full(item.seq, output, transcript)
    )


def _item_states(
    item: LogItem, transcript: Transcript, window_states: MessageStates, sees_images: bool
) -> Iterator[tuple[str, CacheState, int]]:
    """Digest, state and saving of each content of a message."""
    state = window_states.state_of(item.seq)
    in_window = state in ("in_window", "pinned")
    match item.event:
        case ToolAnswered() as output if output.digest:
            is_full = is_in_full(item.seq, output, transcript)
            full = max(output.full_tokens, output.tokens)
            sent = output.marker_tokens if state == "cached" else 0
            if in_window:  # a preview saves the rest of its output
                sent = full if is_full else transcript.window.entry_tokens(item) - FRAMING_TOKENS
            saved = max(0, full - sent)
            yield output.digest, "in_part" if state == "in_window" and not is_full else state, saved
        case AssistantSpoke() as response if response.short:
            swept = item.seq in transcript.window.swept and in_window
            saving = response.tokens - response.short_tokens
            for call in response.short:
                for digest in call.digests:
                    stands: CacheState = "cached" if swept else state
                    yield digest, stands, saving if stands == "cached" else 0
        case UserSpoke(attachments=attachments, short=short):
            is_swept = item.seq in transcript.window.swept and in_window
            for digest in short.digests if short is not None else ():
                yield digest, "cached" if is_swept else state, 0
            for attachment in attachments:
                is_part = attachment.image is None and not attachment.is_whole
                is_unseen = attachment.image is not None and not sees_images
                seen_as: CacheState = "in_part" if is_part else state
                if is_unseen:
                    seen_as = "cached"
                yield attachment.digest, seen_as if in_window else state, 0
        case _:
            pass
