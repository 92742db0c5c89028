"""The store in memory: the same results and errors as on disk, nothing durable. For tests and replay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, HelixError, StoreWriteFailed
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.summary import HandoverMade, checkpoint_in
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store.commit import (
    BranchPoint,
    Commit,
    Draft,
    PartialOutput,
    listed_session,
    point_in,
    without_partial_answer,
)
from helix_desktop.domain.store.entries import CacheEntry, Content, EntryPage, SessionSummary, StoreTotals
from helix_desktop.domain.store.reports import IntegrityReport, LostContent, RepairReport
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.commit import (
    check_branch,
    check_commit,
    check_digest,
    check_sequence,
    check_stored,
)
from helix_desktop.store.core.store_search import EntryQuery, StoreSearch, page_from_unordered
from helix_desktop.store.memory.retention import MemoryData, MemoryRedaction, MemoryRetention
from helix_desktop.system.clock import ClockMs, wall_clock_ms


class MemoryHealth:
    """The health of a store that never has damage."""

    def __init__(self, contents: Mapping[str, bytes], check_open: Callable[[], None]) -> None:
        self._contents, self._check_open = contents, check_open

    @property
    def report(self) -> RepairReport | None:
        """Return None: nothing is ever repaired."""
        return None

    async def acknowledge(self) -> None:
        """Do nothing: there is no report to acknowledge."""
        self._check_open()

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Return an unsubscribe function; the listener is never called, bytes in memory cannot be damaged."""
        return lambda: None

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return None: there are no files."""
        return None

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        """Compare the content of every entry with its SHA-256."""
        self._check_open()
        wrong = [digest for digest, data in self._contents.items() if digest_of(data) != digest]
        count = len(self._contents)
        if on_progress is not None:
            on_progress(count, count)
        return IntegrityReport(count, count, tuple(map(LostContent, wrong)))


class MemoryStore(StoreSearch):
    """One workspace's store while the process lives. Nothing is compressed: `stored_size` equals `size`."""

    def __init__(self, clock: ClockMs = wall_clock_ms) -> None:
        self._clock = clock
        self._closed = False
        self._data = MemoryData()
        self.retention = MemoryRetention(self._data, clock, self._check_open)
        self.redaction = MemoryRedaction(self._data, clock, self._check_open)
        self.health = MemoryHealth(self._data.contents, self._check_open)

    async def commit(self, commit: Commit) -> None:
        """Store all or nothing. Raise ContentTooLarge, StoreClosed, ValueError as LevelDbStore does."""
        self._check_open()
        session_id, at_ms = commit.session_id, self._clock()
        check_commit(commit)
        self._check_against_stored(commit)
        for content in commit.contents:
            await self._store_content(content, at_ms, session_id)
        self._begin_branch(commit)
        for recorded in commit.events:
            self._data.logs.setdefault(session_id, []).append(recorded)
            for digest in digests_in(recorded.event):
                if digest in self._data.entries:
                    self._update_entry(
                        digest, references=self._data.entries[digest].references + 1, trashed=0
                    )
        for digest in commit.recalls:
            if digest in self._data.entries:
                recall_count = self._data.entries[digest].recalls + 1
                self._update_entry(digest, recalls=recall_count, last_used=at_ms, trashed=0)
        if commit.summary is not None:
            self._data.summaries[session_id] = commit.summary
        if commit.ends_partial_answer and session_id in self._data.drafts:
            self._data.drafts[session_id] = without_partial_answer(self._data.drafts[session_id])

    async def events(self, session_id: str) -> list[RecordedEvent]:
        """Return a session's full log, in order; empty if there is none."""
        self._check_open()
        keys.session_bytes(session_id)
        return self._data.log_of(session_id)

    async def sessions(self) -> list[SessionSummary]:
        """Return all sessions except those in the trash, last updated first."""
        self._check_open()
        summaries = self._data.summaries.values()
        listed = (summary for summary in summaries if not (summary.trashed or summary.is_removed))
        return sorted(listed, key=lambda summary: (-summary.updated, summary.id))

    async def get(self, digest: str) -> bytes:
        """Return the bytes of a full digest. Raise DigestUnknown (with near matches)."""
        self._check_open()
        if digest not in self._data.contents:
            raise self._missing_error(digest)
        return self._data.contents[digest]

    async def entry(self, digest: str) -> CacheEntry:
        """Return the metadata of a content. Raise DigestUnknown."""
        self._check_open()
        if digest not in self._data.entries:
            raise self._missing_error(digest)
        return self._data.entries[digest]

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """Return the digests that begin with `prefix` (1 to 64 hex digits), sorted. Raise ValueError."""
        self._check_open()
        return self._find_digests(prefix, limit)

    async def totals(self) -> StoreTotals:
        """Return counts and sizes of the store."""
        self._check_open()
        size = sum(len(data) for data in self._data.contents.values())
        sessions = sum(not summary.is_removed for summary in self._data.summaries.values())
        return StoreTotals(len(self._data.entries), size, size, sessions)

    async def save_draft(self, session_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached but not sent; if both are empty, delete the draft."""
        self._check_open()
        keys.session_bytes(session_id)
        stored = self._data.drafts.get(session_id, Draft())
        self._data.drafts[session_id] = msgspec.structs.replace(
            stored, text=text, attachments=tuple(attachments)
        )

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        """Save what came so far of an answer, until it is recorded; None: delete it."""
        self._check_open()
        keys.session_bytes(session_id)
        stored = self._data.drafts.get(session_id, Draft())
        self._data.drafts[session_id] = msgspec.structs.replace(stored, partial_answer=answer)

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        """Save what running calls printed so far, until their answers are recorded; empty: delete it."""
        self._check_open()
        keys.session_bytes(session_id)
        stored = self._data.drafts.get(session_id, Draft())
        self._data.drafts[session_id] = msgspec.structs.replace(stored, partial_outputs=tuple(outputs))

    async def draft(self, session_id: str) -> Draft:
        """Return what was typed and attached but not sent, and what came of an answer not yet recorded."""
        self._check_open()
        keys.session_bytes(session_id)
        return self._data.drafts.get(session_id, Draft())

    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that stored something, sorted."""
        self._check_open()
        return tuple(sorted({entry.tool for entry in self._data.entries.values()}))

    async def wait_until_indexed(self) -> None:
        """Return at once: nothing is indexed here, every search scans everything."""
        self._check_open()

    async def list_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; `terms` are left to the caller's text search."""
        self._check_open()
        return page_from_unordered(entry_query, self._data.entries.values())

    async def list_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined."""
        everything = msgspec.structs.replace(entry_query, limit=len(self._data.entries) + 1)
        page = await self.list_page(everything)
        return b"".join(bytes.fromhex(entry.digest) for entry in page.entries)

    async def handovers(self, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
        """Return every handover, and checkpoint if asked, with its session, in any order."""
        self._check_open()
        hidden = {summary.id for summary in self._data.summaries.values() if summary.trashed}
        return [
            (listed_session(session_id, recorded.seq, hidden, self._data.branches), recorded)
            for session_id, log in self._data.logs.items()
            for recorded in log
            if isinstance(recorded.event, HandoverMade)
            or (with_checkpoints and checkpoint_in(recorded.event) is not None)
        ]

    async def close(self) -> None:
        """Close the store: later calls raise StoreClosed. Idempotent."""
        self._closed = True

    def _new_point(self, commit: Commit) -> BranchPoint | None:
        """Return where the branch begins that a commit makes; None if it makes none."""
        is_new = not self._data.last_seq(commit.session_id)
        return point_in(commit.events[0]) if commit.events and is_new else None

    def _begin_branch(self, commit: Commit) -> None:
        point = self._new_point(commit)
        if point is not None:
            holder = self._data.holder_of(point.parent, point.seq)
            self._data.branches[commit.session_id] = BranchPoint(holder, point.seq)

    async def _store_content(self, content: Content, at_ms: int, session_id: str) -> None:
        digest = content.digest
        entry = self._data.entries.get(digest)
        if entry is not None:
            self._update_entry(digest, trashed=0, last_used=max(at_ms, entry.last_used))
        elif entry is None and not self._is_redacted(digest):
            self._data.contents[digest] = content.data
            self._data.entries[digest] = _new_entry(content, at_ms, session_id)
            if self._data.tombstones.pop(digest, None):
                self._update_entry(digest, references=len(await self.retention.references(digest)))

    def _check_open(self) -> None:
        if self._closed:
            raise store_errors.store_closed()

    def _check_against_stored(self, commit: Commit) -> None:
        """Refuse the commit before anything is changed."""
        for content in commit.contents:
            check_digest(content, digest_of(content.data))
        added = {content.digest for content in commit.contents}

        def is_stored(digest: str) -> bool:
            return digest in self._data.entries or digest in added or self._is_redacted(digest)

        point = self._new_point(commit)
        if point is not None:
            check_branch(commit.session_id, point, self._data.last_seq(point.parent))
        last_seq = point.seq if point is not None else self._data.last_seq(commit.session_id)
        check_sequence(commit.session_id, last_seq, commit.events)
        for recorded in commit.events:
            for digest in digests_in(recorded.event):
                check_stored(digest, is_stored(digest), f"event {recorded.seq}")
        for digest in commit.recalls:
            check_stored(digest, is_stored(digest), "a recall")

    def _is_redacted(self, digest: str) -> bool:
        tombstone = self._data.tombstones.get(digest)
        return tombstone is not None and not tombstone.lifted

    def _missing_error(self, digest: str) -> DigestUnknown:
        tombstone = self._data.tombstones.get(digest)
        if tombstone is not None:
            return store_errors.content_redacted(digest, tombstone.at, tombstone.successor)
        return store_errors.digest_unknown(digest, self._find_digests)

    def _update_entry(self, digest: str, **fields: int) -> None:
        self._data.entries[digest] = msgspec.structs.replace(self._data.entries[digest], **fields)

    def _find_digests(self, prefix: str, limit: int) -> list[str]:
        span = keys.records_of(prefix)
        matches = _in_span(sorted(keys.record(digest) for digest in self._data.entries), span)
        return [keys.digest_in(key) for key in matches[:limit]]


def _in_span(sorted_keys: list[bytes], span: keys.Span) -> list[bytes]:
    return sorted_keys[bisect_left(sorted_keys, span[0]) : bisect_left(sorted_keys, span[1])]


def _new_entry(content: Content, at_ms: int, session_id: str) -> CacheEntry:
    return CacheEntry(
        content.digest,
        len(content.data),
        len(content.data),
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        at_ms,
        at_ms,
        session=session_id,
    )
