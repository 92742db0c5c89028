"""Search over everything: messages, outputs, handovers and file names of all workspaces, by session.

Each workspace's store answers for itself (`find_passages`, `search`); one that is not open is opened for it
and closed a moment after. Outputs up to 1 MB are in the index; larger ones are read by each search, for a
bounded time: what was left is said, and searched on demand.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from typing import Literal

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Store
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.files.mention import is_whole_name, name_start
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.passages import PASSAGE_KINDS, PassageKind, PassageQuery
from helix_desktop.domain.store import AGENT_KINDS, ContentHit, EntryFilter, SessionSummary, versions_with
from helix_desktop.domain.text_search import RankedText, WordRank, normalize, parse_query
from helix_desktop.services.closed_workspaces import ClosedSessions
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry

_log = logging.getLogger(__name__)

SearchKind = Literal["message", "output", "handover", "file"]
SEARCH_KINDS: tuple[SearchKind, ...] = ("message", "output", "handover", "file")

_AT_ONCE = 100  # hits of a workspace in a part
_MAX_OUTPUTS = 60  # of a workspace
_OUTPUTS_S = 0.3  # seconds in which a workspace's outputs are searched before the rest is left
_LIST_S = 0.5  # seconds for which outputs wait for an index that compares itself with its store
_PASSAGES_S = 2.0  # the same for its messages: words of one or two characters are in no index
_INDEX_SLICE_S = 1.0  # seconds that a closed store is held for its index: so long opening it may wait
_SHARES = 1_000  # of the progress of one workspace
_SAMPLE_S = 0.2  # seconds between two looks how far an index is


class SearchRequest(msgspec.Struct, frozen=True):
    """What to look for: words, kinds, workspaces (none: all), since when (ms since 1970).

    `session` of the one workspace: everything in it. `all_outputs`: also large ones and those that no
    index has yet, however long it takes.
    At most `limit` hits of a workspace, `per_session` of each kind in a session before one asks for all.
    """

    query: str
    kinds: tuple[SearchKind, ...] = SEARCH_KINDS
    workspaces: tuple[str, ...] = ()
    since: int = 0
    session: str = ""
    all_outputs: bool = False
    per_session: int = 5
    limit: int = 300

    @property
    def terms(self) -> tuple[str, ...]:
        """Return the normalized words. Raises InvalidInput if there are none."""
        return parse_query(self.query)


class SearchHit(msgspec.Struct, frozen=True):
    """A hit: an event of a session or, with its `digest`, an output, and a line of it with the words.

    `line` is where the excerpt is in an output, 0 if only its name has the words.
    """

    kind: SearchKind
    session: str
    at: int
    excerpt: str
    seq: int = 0
    speaker: Literal["user", "agent", ""] = ""
    digest: str = ""
    tool: str = ""
    target: str = ""
    line: int = 0
    size: int = 0


class SearchPart(msgspec.Struct, frozen=True):
    """What was found in a workspace, one part of it after the other; see `SearchFindings`."""

    workspace_id: str
    hits: tuple[SearchHit, ...] = ()
    more: tuple[str, ...] = ()
    summaries: Mapping[str, SessionSummary] = {}
    unindexed: int = 0
    events: int = 0
    outputs_left: bool = False
    has_more: bool = False
    error: HelixError | None = None


class SessionHits(msgspec.Struct, frozen=True):
    """A session with hits, newest first; the session is None for outputs that no listed session saved.

    `has_more`: further hits may exist in it.
    """

    workspace_id: str
    summary: SessionSummary | None
    hits: tuple[SearchHit, ...]
    has_more: bool


class SearchFindings:
    """Collects the parts of a search: sessions with their hits, and what was not searched."""

    def __init__(self, request: SearchRequest) -> None:
        self.request = request
        self.outputs_left = self.has_more = False
        self.errors: dict[str, HelixError] = {}  # by workspace
        self._summaries: dict[str, Mapping[str, SessionSummary]] = {}
        self._hits: dict[tuple[str, str], dict[SearchHit, tuple[int, bool, int]]] = {}
        """By workspace and session: hits with rank, whether they are no files, and age; less is better."""
        self._more: set[tuple[str, str]] = set()
        self.progress: dict[str, tuple[int, int]] = {}  # by workspace: events not in the index, of how many

    @property
    def count(self) -> int:
        """The number of hits."""
        return sum(map(len, self._hits.values()))

    @property
    def session_count(self) -> int:
        return len(self._hits)

    @property
    def unindexed(self) -> tuple[int, int]:
        """How many events are not in the index yet, of how many."""
        behind, events = zip(*self.progress.values(), strict=True) if self.progress else ((0,), (0,))
        return sum(behind), sum(events)

    @property
    def is_complete(self) -> bool:
        """Return True if every message and output was searched that the request is about."""
        return not (self.unindexed[0] or self.outputs_left)

    def add(self, part: SearchPart) -> None:
        """Take a part over."""
        self._summaries[part.workspace_id] = part.summaries or self._summaries.get(part.workspace_id, {})
        if part.error is not None:
            self.errors[part.workspace_id] = part.error
        if part.events:
            self.progress[part.workspace_id] = (part.unindexed, part.events)
        self.outputs_left |= part.outputs_left
        self.has_more |= part.has_more
        summaries = self._summaries[part.workspace_id]
        words = WordRank(self.request.terms)
        for hit in part.hits:
            rank = _rank(hit, words)
            key = (part.workspace_id, hit.session if hit.session in summaries else "")
            hits = self._hits.setdefault(key, {})
            same_kind = sum(other.kind == hit.kind for other in hits)
            is_over = not self.request.session and same_kind >= self.request.per_session
            if is_over and rank != WordRank.EXACT:
                self._more.add(key)
            else:
                hits[hit] = (rank, hit.kind != "file", -hit.at)
        self._more |= {(part.workspace_id, session) for session in part.more}

    def versions_with(self, workspace_id: str, hit: SearchHit) -> list[str]:
        """Return the ids of the versions of its session that hold a hit, oldest first."""
        return versions_with(self._summaries[workspace_id], hit.session, hit.seq)

    def sessions(self) -> list[SessionHits]:
        """Return the sessions with hits, the best first, as are the hits of each; equal ones newest first.

        What is called as the words is best, then what has them as whole words.
        """
        if not self._hits:
            return []
        words = WordRank(self.request.terms)
        ranked = []
        for (workspace_id, session), hits in self._hits.items():
            best_first = tuple(sorted(hits, key=hits.__getitem__))
            rank = hits[best_first[0]]
            summary = self._summaries[workspace_id].get(session)
            has_more = (workspace_id, session) in self._more
            if summary is not None and words.of(RankedText(summary.title)) == WordRank.EXACT:
                rank = (WordRank.EXACT, *rank[1:])
            ranked.append((rank, SessionHits(workspace_id, summary, best_first, has_more)))
        ranked.sort(key=lambda each: each[0])
        return [found for _, found in ranked]


def _rank(hit: SearchHit, words: WordRank) -> int:
    """Return how well a hit fits the words: by its file, or by its line."""
    path = hit.excerpt if hit.kind == "file" else hit.target
    folded = normalize(path)
    if is_whole_name(words.name, folded[name_start(folded) :]):
        return WordRank.EXACT
    rank = words.of(RankedText(hit.excerpt))
    if hit.target:
        rank = min(rank, words.of(RankedText(hit.target)))
    return rank


class SearchService:
    """Searches the workspaces, open or not, and has the indexes of closed ones made."""

    def __init__(
        self,
        registry: WorkspaceRegistry,
        open_workspaces: Callable[[], Mapping[str, OpenWorkspace]],
        closed: ClosedSessions,
    ) -> None:
        self._registry = registry
        self._open = open_workspaces
        self._closed = closed
        self.is_indexing = False

    async def workspaces(self) -> list[WorkspaceRecord]:
        """Return the workspaces that have data, open ones first."""
        records = self._registry.list_workspaces()
        is_open = self._open()
        with_data = [
            record
            for record in records
            if record.id in is_open or await asyncio.to_thread(self._registry.store_folder(record.id).is_dir)
        ]
        return sorted(with_data, key=lambda record: record.id not in is_open)

    async def find(self, request: SearchRequest) -> AsyncGenerator[SearchPart]:
        """Yield what is found, workspace by workspace, each newest first. Raises InvalidInput at once.

        A workspace that can't be searched is a part with its error. Ends between two parts when the caller is
        canceled.
        """
        request.terms  # noqa: B018 - raises for a query without words before anything is opened
        for record in await self.workspaces():
            if request.workspaces and record.id not in request.workspaces:
                continue
            try:
                async with self._store(record.id) as store:
                    async for part in _find_in(record.id, store, request):
                        yield part
            except HelixError as error:
                _log.warning("The workspace %s is not searched: %s", record.name, error)
                yield SearchPart(record.id, error=error)

    async def index_closed(
        self,
        on_progress: OnProgress = no_progress,
        workspaces: Collection[str] = (),
        patience_s: float | None = None,
    ) -> None:
        """Have the messages of closed workspaces (none named: all) indexed; open ones do it by themselves.

        Ends after `patience_s` seconds, also where events are left: a search says how many. None: at
        the end. A store is held for a second at a time, so that opening its workspace does not wait
        for the end. Raises nothing of a workspace: searching it says what is wrong.
        """
        deadline = inf if patience_s is None else time.monotonic() + patience_s
        self.is_indexing = True
        try:
            records = [
                record
                for record in await self.workspaces()
                if record.id not in self._open() and (not workspaces or record.id in workspaces)
            ]
            for number, record in enumerate(records):
                report = partial(_report, on_progress, number, len(records))
                await self._index_one(record, report, deadline)
        finally:
            self.is_indexing = False
        on_progress(1, 1)

    async def _index_one(self, record: WorkspaceRecord, on_progress: OnProgress, deadline: float) -> None:
        left = 1
        while left and record.id not in self._open() and time.monotonic() < deadline:
            until = min(deadline, time.monotonic() + _INDEX_SLICE_S)
            try:
                async with self._store(record.id) as store:
                    left = await _index(store, on_progress, until)
            except HelixError as error:
                _log.warning("The workspace %s is not indexed: %s", record.name, error)
                return
            await self._closed.release_store(record.id)

    async def release(self) -> None:
        """Close the stores that were opened to search in them, unless they are being indexed."""
        if not self.is_indexing:
            await self._closed.release()

    @asynccontextmanager
    async def _store(self, workspace_id: str) -> AsyncIterator[Store]:
        workspace = self._open().get(workspace_id)
        if workspace is not None:
            yield workspace.store
        else:
            async with self._closed.acquire(workspace_id) as store:
                yield store


async def _find_in(workspace_id: str, store: Store, request: SearchRequest) -> AsyncGenerator[SearchPart]:
    summaries = {summary.id: summary for summary in await store.sessions()}
    kinds: tuple[PassageKind, ...] = tuple(kind for kind in PASSAGE_KINDS if kind in request.kinds)
    found = 0
    cursor = 0
    deadline = time.monotonic() + _PASSAGES_S
    while kinds:
        page = await store.find_passages(
            PassageQuery(
                request.terms,
                kinds,
                request.since,
                request.session,
                0 if request.session else request.per_session,
                min(_AT_ONCE, request.limit),
                cursor,
            )
        )
        found = found + len(page.hits)
        cursor = page.cursor
        is_over = not cursor or found >= request.limit or time.monotonic() > deadline
        yield SearchPart(
            workspace_id,
            tuple(SearchHit(it.kind, it.session, it.at, it.excerpt, it.seq, it.speaker) for it in page.hits),
            page.more,
            summaries,
            page.unindexed,
            page.events,
            has_more=bool(cursor) and is_over,
        )
        if is_over:
            break
    if "output" in request.kinds:
        async for part in _find_outputs(workspace_id, store, request, summaries):
            yield part


async def _find_outputs(
    workspace_id: str, store: Store, request: SearchRequest, summaries: Mapping[str, SessionSummary]
) -> AsyncGenerator[SearchPart]:
    entry_filter = EntryFilter(kinds=AGENT_KINDS, since=request.since, session=request.session)
    deadline = time.monotonic() + _OUTPUTS_S

    def should_continue(_: int) -> bool:
        return request.all_outputs or time.monotonic() < deadline

    # The index of a store with very many new outputs compares itself with it for seconds first.
    patience_s = None if request.all_outputs else _OUTPUTS_S + _LIST_S
    try:
        async with asyncio.timeout(patience_s):
            results = await store.search(
                request.query, entry_filter, _MAX_OUTPUTS, should_continue=should_continue
            )
    except TimeoutError:
        yield SearchPart(workspace_id, summaries=summaries, outputs_left=True)
        return
    is_full = len(results.hits) == _MAX_OUTPUTS
    yield SearchPart(
        workspace_id,
        tuple(map(_of_output, results.hits)),
        (),
        summaries,
        outputs_left=bool(results.cursor) and not is_full,
        has_more=bool(results.cursor) and is_full,
    )


def _report(on_progress: OnProgress, number: int, count: int, done: int, total: int) -> None:
    """Report that so much of the workspace with this number is done, of so many."""
    on_progress(number * _SHARES + _SHARES * done // max(total, 1), count * _SHARES)


async def _index(store: Store, on_progress: OnProgress, deadline: float) -> int:
    """Let a store index its logs until a moment; return how many events are left."""
    while True:
        page = await store.find_passages(PassageQuery(("\0\0\0",), limit=1))
        on_progress(page.events - page.unindexed, page.events)
        left_s = deadline - time.monotonic()
        if not page.unindexed or left_s <= 0:
            return page.unindexed
        await asyncio.sleep(min(_SAMPLE_S, left_s))


def _of_output(hit: ContentHit) -> SearchHit:
    entry = hit.entry
    best = hit.matches.best
    return SearchHit(
        "output",
        entry.session,
        entry.created,
        best[0].excerpt if best else entry.first_line,
        digest=entry.digest,
        tool=entry.tool,
        target=entry.target,
        line=best[0].line if best else 0,
        size=entry.size,
    )
