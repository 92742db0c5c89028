"""Rows of logs and their branches, and of one commit; what the parts of a store share to reach them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Container, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.retention import ContentReference
from helix_desktop.domain.store import (
    BranchPoint,
    Commit,
    SessionSummary,
    StoreTotals,
    listed_session,
    point_in,
    without_partial_answer,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store import kinds, store_errors
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.kinds import (
    MAX_VALUE_BYTES,
    ROWS,
    RowDamaged,
    RowDatabase,
    RowSource,
    RowUnknown,
    RowView,
)
from helix_desktop.store.threads import WriteBatch
from helix_desktop.system.clock import ClockMs

text = TextContext("Store")
_log = logging.getLogger(__name__)

T = TypeVar("T")


class RunQuery(Protocol):
    """Run a query on the stored rows, on a reader's thread."""

    def __call__(self, query: Callable[[RowView], T], /) -> Awaitable[T]: ...


class WriteRows(Protocol):
    """Have rows staged and written durably, on the writer's thread."""

    def __call__(self, stage: Callable[[WriteBatch], T], size: int = 0, /) -> Awaitable[T]:
        """Return what `stage` does once they are durable; `size` is their approximate size in bytes."""
        ...


class StoreAccess(msgspec.Struct, frozen=True):
    run_query: RunQuery
    write: WriteRows
    database: RowDatabase
    contents: ContentStore
    clock: ClockMs


class StoreSnapshot(msgspec.Struct, frozen=True):
    """A snapshot and its readers; a task that works on it must end soon once `stop_event` is set."""

    view: RowView
    contents: ContentStore
    stop_event: threading.Event


class BulkAccess:
    def __init__(
        self, folder: Path, access: StoreAccess, run_query: Callable[[Callable[[RowView], Any]], Any]
    ) -> None:
        """`run_query` runs a reader on a snapshot, on the calling thread."""
        self.folder = folder
        self._access = access
        self._run_query = run_query
        self._running: set[threading.Event] = set()
        self._is_closed = False

    async def read_snapshot(self, task: Callable[[StoreSnapshot], T]) -> T:
        """Return the result of `task` on a snapshot of the store, on a thread of its own, however long.

        The snapshot's `stop_event` is set if the store closes or the caller is canceled. Raise StoreClosed.
        """
        if self._is_closed:
            raise store_errors.store_closed()
        stop_event = threading.Event()
        self._running.add(stop_event)

        def read(view: RowView) -> T:
            return task(StoreSnapshot(view, self._access.contents, stop_event))

        try:
            result: T = await asyncio.to_thread(self._run_query, read)
        finally:
            stop_event.set()
            self._running.discard(stop_event)
        return result

    async def write(self, stage: Callable[[WriteBatch, ContentStore], T], size: int) -> T:
        """Write durably what `stage` puts into a batch, about `size` bytes: all of it, or nothing.

        Return what `stage` returns. Raise StoreClosed, StoreWriteFailed, and what `stage` raises.
        """
        return await self._access.write(lambda batch: stage(batch, self._access.contents), size)

    def close(self) -> None:
        self._is_closed = True
        for stop_event in self._running:
            stop_event.set()


class LogPart(msgspec.Struct, frozen=True):
    """The events of one session after `after` up to and with `upto`, as a part of a branch's log."""

    session_id: str
    after: int
    upto: int


def log_parts(source: RowSource, session_id: str) -> list[LogPart]:
    """Return the parts of a session's log, oldest first; the last is its own. Raise RowDamaged."""
    parts: list[LogPart] = []
    upto = ROWS.last_seq.get(source, session_id) or 0
    passed = {session_id}
    while point := ROWS.branch.get(source, session_id):
        after = min(point.seq, upto)
        parts.append(LogPart(session_id, after, upto))
        session_id = point.parent
        upto = after
        if session_id in passed:
            raise RowDamaged(f"session {session_id} is a branch of itself")
        passed.add(session_id)
    parts.append(LogPart(session_id, 0, upto))
    return parts[::-1]


def holder_of(source: RowSource, session_id: str, seq: int) -> str:
    """Return the session whose rows hold event `seq` of a log. Raise RowDamaged."""
    parts = log_parts(source, session_id)
    return next((part.session_id for part in parts if part.after < seq <= part.upto), session_id)


def read_branches(view: RowView) -> dict[str, BranchPoint]:
    """Return every branch with its point. Raise RowDamaged."""
    rows = ROWS.branch.scan(view, kinds.BRANCHES)
    return {kinds.session_of(key, kinds.BRANCHES): point for key, point in rows}


def shared_end(batch: WriteBatch, database: RowDatabase, session_id: str) -> int:
    """Return the last event of a session that branches begin with, as a batch will leave them; 0: none.

    Raise RowDamaged.
    """
    points = database.read(read_branches)
    for key in batch.changes(*kinds.BRANCHES):
        branch = kinds.session_of(key, kinds.BRANCHES)
        point = ROWS.branch.get(batch, branch)
        points.pop(branch, None)
        if point is not None:
            points[branch] = point
    return max((point.seq for point in points.values() if point.parent == session_id), default=0)


def read_events(view: RowView, session_id: str) -> list[RecordedEvent]:
    """Return a session's full log, with its parent's part. Raise RowDamaged, also if rows are missing.

    Of an event in another format, RowUnknown says the session's title and the event's day.
    """
    *shared, own = log_parts(view, session_id)
    spans = [kinds.events_between(part.session_id, part.after, part.upto) for part in shared]
    spans.append(kinds.rows_of(session_id, b"e"))
    try:
        events = [recorded for span in spans for _, recorded in ROWS.event.scan(view, span)]
    except RowUnknown as error:
        summary = ROWS.summary.get(view, session_id)
        name = session_id
        if summary is not None:
            name = summary.title
        raise RowUnknown(f"session “{name}”, {error}") from error
    last = own.upto
    # A log that ends early, or has a gap, must never pass for the whole conversation.
    if [recorded.seq for recorded in events] != list(range(1, last + 1)):
        raise RowDamaged(f"session {session_id} has {len(events)} of {last} events")
    return events


def read_handovers(view: RowView, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
    """Return every handover, and checkpoint if asked, with its session, or a branch of one that is hidden.

    A damaged one is left out: it must not hide the others.
    """
    handovers: list[tuple[str, RecordedEvent]] = []
    hidden = {summary.id for _, summary in ROWS.summary.scan(view, kinds.SUMMARIES) if summary.trashed}
    points = read_branches(view) if hidden else {}
    spans = (kinds.HANDOVERS, kinds.CHECKPOINTS) if with_checkpoints else (kinds.HANDOVERS,)
    for key in (key for span in spans for key, _ in view.scan(span)):
        session_id, seq = kinds.session_and_seq(key)
        place = kinds.event_key(session_id, seq)
        row = view.get(place)
        try:
            if row is not None:
                recorded = ROWS.event.decode(place, row)
                if kinds.handover_mark(session_id, recorded) == key:
                    handovers.append((listed_session(session_id, seq, hidden, points), recorded))
        except RowDamaged as error:
            _log.warning("Event %d of session %s is damaged: %s", seq, session_id, error)
    return handovers


def read_references(view: RowView, digest: str) -> list[ContentReference]:
    """Return the events that name a content, by session and seq. Raise RowDamaged; ValueError."""
    references = (kinds.session_and_seq(key) for key, _ in view.scan(kinds.references_of(digest)))
    return [ContentReference(session, seq) for session, seq in sorted(references)]


def read_session_digests(view: RowView, session_id: str) -> list[str]:
    """Return the contents a session names, each once, in order of the first event. Raise RowDamaged."""
    parts = log_parts(view, session_id)
    spans = (kinds.back_references_between(part.session_id, part.after, part.upto) for part in parts)
    return list(dict.fromkeys(kinds.digest_in(key) for span in spans for key, _ in view.scan(span)))


def is_referenced(view: RowView, digest: str) -> bool:
    """Return True if any log names a content, whatever its record says. Raise RowDamaged."""
    return next(iter(view.scan(kinds.references_of(digest))), None) is not None


def read_draft_digests(view: RowView) -> frozenset[str]:
    """Return the contents that drafts name; one that can't be read names none."""
    digests: frozenset[str] = frozenset()
    for key, row in view.scan(kinds.DRAFTS):
        try:
            digests |= ROWS.draft.decode(key, row).digests
        except RowDamaged:
            continue
    return digests


def check_commit(commit: Commit) -> None:
    """Check the rules that do not depend on stored rows. Raise ValueError, ContentTooLarge."""
    kinds.session_bytes(commit.session_id)
    if commit.summary is not None and commit.summary.id != commit.session_id:
        raise ValueError(
            f"the summary is of session {commit.summary.id!r}, the commit of {commit.session_id!r}"
        )
    for content in commit.contents:
        if len(content.data) > MAX_VALUE_BYTES:
            raise store_errors.content_too_large(content, MAX_VALUE_BYTES)


def stage_commit(batch: WriteBatch, contents: ContentStore, commit: Commit, at_ms: int) -> None:
    """Put everything of a commit, made at `at_ms` (ms since 1970), into the batch.

    Raise ValueError if the commit is wrong or the stored rows do not allow it, ContentTooLarge.
    """
    check_commit(commit)
    for content in commit.contents:
        contents.stage(batch, content, at_ms, commit.session_id)
    stage_events(batch, commit.session_id, commit.events, max_bytes=MAX_VALUE_BYTES)
    for digest in commit.recalls:
        _check_referable(batch, digest, "a recall")
        ROWS.record.change(
            batch,
            digest,
            lambda record: replace(record, recalls=record.recalls + 1, last_used=at_ms, trashed=0),
        )
    if commit.summary is not None:
        stage_summary(batch, commit.summary)
    if commit.ends_partial_answer:
        ROWS.draft.change(batch, commit.session_id, without_partial_answer)


def stage_events(
    batch: WriteBatch,
    session_id: str,
    events: Sequence[RecordedEvent],
    missing: Container[str] = (),
    max_bytes: int | None = None,
) -> None:
    """Append events to a session's log. Raise ValueError if they leave a gap or name unknown contents.

    `missing` are contents that are known to be lost: the log may name them nevertheless. Raise
    ContentTooLarge for an event above `max_bytes`; without it, events that were acknowledged once are copied.
    """
    if not events:
        return
    point = point_in(events[0])
    if point is not None and ROWS.last_seq.get(batch, session_id) is None:
        stage_branch(batch, session_id, point)
    last_seq = ROWS.last_seq.get(batch, session_id) or 0
    for expected, recorded in enumerate(events, last_seq + 1):
        if recorded.seq != expected:
            raise ValueError(f"session {session_id!r} goes on with event {expected}, not with {recorded.seq}")
        ROWS.event.put_within(max_bytes, batch, recorded, session_id, recorded.seq)
        mark = kinds.handover_mark(session_id, recorded)
        if mark is not None:
            batch.put(mark)
        for digest in digests_in(recorded.event):
            add_reference(batch, session_id, recorded.seq, digest, digest in missing)
    ROWS.last_seq.put(batch, events[-1].seq, session_id)


def stage_branch(batch: WriteBatch, session_id: str, point: BranchPoint) -> None:
    """Let a new session begin with a part of another log. Raise ValueError if that does not reach so far."""
    last_seq = ROWS.last_seq.get(batch, point.parent) or 0
    if session_id == point.parent or not 1 <= point.seq <= last_seq:
        raise ValueError(
            f"{session_id!r} can't begin with {point.seq} events of {point.parent!r}, which has {last_seq}"
        )
    holder = holder_of(batch, point.parent, point.seq)
    ROWS.branch.put(batch, BranchPoint(holder, point.seq), session_id)
    ROWS.last_seq.put(batch, point.seq, session_id)


def stage_summary(batch: WriteBatch, summary: SessionSummary) -> None:
    if change := _listed(summary) - _listed(ROWS.summary.get(batch, summary.id)):
        batch.totals += StoreTotals(0, 0, 0, change)
    ROWS.summary.put(batch, summary, summary.id)


def _listed(summary: SessionSummary | None) -> int:
    return int(summary is not None and not summary.is_removed)


def add_reference(
    batch: WriteBatch, session_id: str, seq: int, digest: str, allow_missing: bool = False
) -> None:
    """Add a reference from an event to a content.

    Raise ValueError unless the content is stored or redacted, or `allow_missing`.
    """
    if not allow_missing:
        _check_referable(batch, digest, f"event {seq}")
    kinds.put_reference(batch, session_id, seq, digest)
    ROWS.record.change(
        batch, digest, lambda record: replace(record, references=record.references + 1, trashed=0)
    )


def remove_reference(batch: WriteBatch, session_id: str, seq: int, digest: str) -> None:
    batch.delete(kinds.reference_key(digest, session_id, seq))
    batch.delete(kinds.back_reference_key(session_id, seq, digest))
    count_down_references(batch, digest, 1)


def count_down_references(batch: WriteBatch, digest: str, count: int) -> None:
    ROWS.record.change(
        batch, digest, lambda record: replace(record, references=max(0, record.references - count))
    )


def _check_referable(batch: WriteBatch, digest: str, referrer: str) -> None:
    """Raise ValueError unless a content is stored or was redacted: events may name it, its bytes gone."""
    if batch.get(kinds.record_key(digest)) is None:
        tombstone = ROWS.tombstone.get(batch, digest)
        if tombstone is None or tombstone.lifted:
            raise ValueError(f"{referrer} names the content {digest}, which is not stored")
