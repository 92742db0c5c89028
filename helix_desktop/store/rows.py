"""Rows of contents, verified whenever they are read, of logs and their branches, and of one commit.

A content row is version, method, length and time of creation, then the bytes. Above 1 MB it is the head of
chunks, which are written before it: a crash in between leaves chunks that no head names.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import threading
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from helix_desktop.domain.digest import digest_of, is_digest
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.retention import ContentReference
from helix_desktop.domain.store import (
    BranchPoint,
    Commit,
    Content,
    EntryRecord,
    SessionSummary,
    StoreTotals,
    listed_session,
    point_in,
    without_partial_answer,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store import kinds, store_errors
from helix_desktop.store.files import Quarantine
from helix_desktop.store.kinds import (
    MAX_CONTENT_BYTES,
    ROW_VERSION,
    ROWS,
    RowDamaged,
    RowDatabase,
    RowGetter,
    RowSource,
    RowView,
)
from helix_desktop.store.writer import WriteBatch
from helix_desktop.system.clock import ClockMs

text = TextContext("Store")

MAX_SINGLE_ROW_BYTES = 1024 * 1024  # largest content stored in one row, in bytes
CHUNK_BYTES = 512 * 1024  # bytes of content per chunk above that
_PLAIN, _ZSTD, _CHUNKED = range(3)
_HEAD = struct.Struct(">BBQQ")
_COUNT = struct.Struct(">I")


def _check_digest(content: Content) -> None:
    """Raise ValueError unless the content's digest is the SHA-256 of its bytes."""
    if content.digest != digest_of(content.data):
        raise ValueError(f"the content given as {content.digest[:80]!r} has another SHA-256")


class ContentStore:
    """Stage contents for writing, and read them back verified."""

    def __init__(self, database: RowDatabase, quarantine: Quarantine) -> None:
        self._database = database
        self.quarantine = quarantine

    def stage(self, batch: WriteBatch, content: Content, at_ms: int, session_id: str = "") -> None:
        """Put a content's rows into the batch, unless it is stored and intact. Raise ValueError."""
        digest = content.digest
        try:
            record, readable = ROWS.record.get(batch, digest), True
        except RowDamaged:
            record, readable = None, False
        tombstone = ROWS.tombstone.get(batch, digest) if record is None else None
        if tombstone is not None and not tombstone.lifted:
            _check_digest(content)
        elif record is not None and self._is_intact(batch, digest):
            _check_digest(content)
            revived = msgspec.structs.replace(record, trashed=0, last_used=max(at_ms, record.last_used))
            if revived != record:
                ROWS.record.put(batch, revived, digest)
        elif record is not None:
            self._restore_bytes(batch, content, record, at_ms)
        elif readable and tombstone is None:
            record = new_record(content, self._stage_bytes(batch, content, at_ms), at_ms, session_id)
            ROWS.record.put(batch, record, digest)
            batch.totals += StoreTotals(1, record.size, record.stored_size, 0)
        else:
            self._stage_known(batch, content, at_ms, session_id, readable)

    def _restore_bytes(self, batch: WriteBatch, content: Content, record: EntryRecord, at_ms: int) -> None:
        """Stage the bytes of a content again whose record is intact and whose bytes are not."""
        stored_size, last_used = (
            self._stage_bytes(batch, content, record.created),
            max(at_ms, record.last_used),
        )
        restored = msgspec.structs.replace(record, stored_size=stored_size, trashed=0, last_used=last_used)
        ROWS.record.put(batch, restored, content.digest)
        batch.totals += StoreTotals(0, 0, stored_size - record.stored_size, 0)
        # Not before it is written: a reader would meanwhile find the damage and quarantine it once more.
        batch.durable_callbacks.append(lambda: self.quarantine.mark_healed(content.digest))

    def _stage_known(
        self, batch: WriteBatch, content: Content, at_ms: int, session_id: str, record_readable: bool
    ) -> None:
        """Stage a content that events may already name: it was redacted, or lost its record
        (not `record_readable`).
        """
        digest, created_ms = content.digest, self._created_ms(content.digest, at_ms)
        record = new_record(content, self._stage_bytes(batch, content, created_ms), created_ms, session_id)
        record = msgspec.structs.replace(record, last_used=max(at_ms, created_ms))
        ROWS.record.put(batch, self._with_reference_count(digest, record), digest)
        batch.delete(kinds.tombstone_key(digest))
        if record_readable:
            batch.totals += StoreTotals(1, record.size, record.stored_size, 0)
        batch.durable_callbacks.append(lambda: self.quarantine.mark_healed(digest))

    def read(self, view: RowView, digest: str) -> bytes:
        """Return the bytes of a digest. Raise DigestUnknown, ContentDamaged; never return other bytes."""
        if not is_digest(digest):
            raise missing_error(view, digest)
        why = text("Its bytes don't match its digest.")
        for get in (view.get, view.get_verified):
            try:
                data = self._load_unverified(get, digest)
            except RowDamaged as error:
                why = text("Its data is damaged ({detail}).", detail=str(error))
                continue
            if data is None:
                break
            if digest_of(data) == digest:
                return data
        else:
            raise store_errors.content_damaged(
                digest, why, self.quarantine.save(digest, self._raw_rows(view, digest))
            )
        if _has_row(view.get, kinds.record_key(digest)):
            raise store_errors.content_damaged(digest, text("Its bytes are missing."))
        raise missing_error(view, digest)

    def _stage_bytes(self, batch: WriteBatch, content: Content, created_ms: int) -> int:
        """Stage the bytes; return the stored size in bytes. Raise ValueError if their digest differs."""
        length, digest = len(content.data), content.digest
        _check_digest(content)
        rows = [_encode_row(part, created_ms, batch.is_compressed) for part in _split_parts(content.data)]
        if length > MAX_SINGLE_ROW_BYTES:
            for number, row in enumerate(rows):
                batch.unreferenced_rows[kinds.chunk_key(digest, number)] = row
            rows.append(_HEAD.pack(ROW_VERSION, _CHUNKED, length, created_ms) + _COUNT.pack(len(rows)))
        batch.put(kinds.content_key(digest), rows[-1])
        return sum(map(len, rows))

    def _load_unverified(self, get: RowGetter, digest: str) -> bytes | None:
        """Return the bytes, not yet verified; None if there is no row. Raise RowDamaged."""
        row = get(kinds.content_key(digest))
        if row is None:
            return None
        method, length, _ = _decode_head(row)
        if method != _CHUNKED:
            if length > MAX_SINGLE_ROW_BYTES:
                raise RowDamaged(f"its row claims {length} bytes")
            return self._unpack(row, method, length)
        data = b"".join(self._read_chunk(get, digest, number) for number in range(_chunk_count(row, length)))
        if len(data) != length:
            raise RowDamaged(f"its chunks have {len(data)} bytes, not {length}")
        return data

    def _read_chunk(self, get: RowGetter, digest: str, number: int) -> bytes:
        row = get(kinds.chunk_key(digest, number))
        if row is None:
            raise RowDamaged(f"its chunk {number} is missing")
        method, length, _ = _decode_head(row)
        if length > CHUNK_BYTES:
            raise RowDamaged(f"its chunk {number} claims {length} bytes")
        return self._unpack(row, method, length)

    def content_of(self, row: bytes) -> bytes:
        """Return the bytes in a content or chunk row that may be damaged, unverified. Raise RowDamaged."""
        method, length, _ = _decode_head(row)
        return b"" if method == _CHUNKED else self._unpack(row, method, length)

    def _unpack(self, row: bytes, method: int, length: int) -> bytes:
        payload = row[_HEAD.size :]
        return kinds.decompress(payload, length) if method == _ZSTD else payload

    def _is_intact(self, batch: WriteBatch, digest: str) -> bool:
        """Return True if the stored bytes exist and their blocks' checksums match; cheaper than a read."""
        key = kinds.content_key(digest)
        if batch.has_change(key):
            return True
        if self.quarantine.holds(digest):
            return False
        try:
            row = self._database.get_verified(key)
            if row is None:
                return False
            method, length, _ = _decode_head(row)
            return method != _CHUNKED or self._are_chunks_intact(digest, _chunk_count(row, length))
        except RowDamaged:
            return False

    def _are_chunks_intact(self, digest: str, count: int) -> bool:
        chunks = (kinds.chunk_key(digest, number) for number in range(count))
        return all(_has_row(self._database.get_verified, chunk) for chunk in chunks)

    def _created_ms(self, digest: str, at_ms: int) -> int:
        """Return when a content without a readable record was first stored, to find its index row again."""
        try:
            row = self._database.get_verified(kinds.content_key(digest))
            return at_ms if row is None else _decode_head(row)[2]
        except RowDamaged:
            return at_ms

    def _with_reference_count(self, digest: str, record: EntryRecord) -> EntryRecord:
        """Return a rebuilt record with the reference count that the rows show."""
        count = self._database.read(lambda view: view.count(kinds.references_of(digest)))
        return msgspec.structs.replace(record, references=count)

    def _raw_rows(self, view: RowView, digest: str) -> list[bytes]:
        """Return what can still be read of a damaged content."""
        rows = []
        try:
            head = view.get(kinds.content_key(digest))
            rows.append(head or b"")
            rows.extend(
                row for _, row in view.scan((kinds.chunk_key(digest, 0), kinds.chunk_key(digest, 2**32 - 1)))
            )
        except RowDamaged:
            rows = rows or [b""]
        return rows


def new_record(content: Content, stored_size: int, at_ms: int, session_id: str) -> EntryRecord:
    return EntryRecord(
        at_ms,
        at_ms,
        len(content.data),
        stored_size,
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        session=session_id,
    )


def missing_error(view: RowView, digest: str) -> DigestUnknown:
    """Return why a content is missing: it was never stored, or was redacted. Raise RowDamaged."""
    tombstone = ROWS.tombstone.get(view, digest) if is_digest(digest) else None
    if tombstone is not None:
        return store_errors.content_redacted(digest, tombstone.at, tombstone.successor)
    return store_errors.digest_unknown(digest, lambda prefix, limit: find_digests(view, prefix, limit))


def find_digests(view: RowView, prefix: str, limit: int) -> list[str]:
    """Return the digests that begin with `prefix`, sorted, at most `limit`. Raise ValueError, RowDamaged."""
    digests: list[str] = []
    for key, _ in view.scan(kinds.records_of(prefix)):
        if len(digests) >= limit:
            break
        digests.append(kinds.digest_in(key))
    return digests


def _split_parts(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of each row: all of them, or chunks."""
    if len(data) <= MAX_SINGLE_ROW_BYTES:
        yield data
        return
    for offset in range(0, len(data), CHUNK_BYTES):
        yield data[offset : offset + CHUNK_BYTES]


def _encode_row(part: bytes, created_ms: int, is_compressed: bool) -> bytes:
    packed = kinds.compress(part) if is_compressed else None
    method, payload = (_PLAIN, part) if packed is None else (_ZSTD, packed)
    return _HEAD.pack(ROW_VERSION, method, len(part), created_ms) + payload


def _decode_head(row: bytes) -> tuple[int, int, int]:
    """Return method, length and time of creation. Raise RowDamaged."""
    if len(row) < _HEAD.size:
        raise RowDamaged("its row is too short")
    version, method, length, created = _HEAD.unpack_from(row)
    if version != ROW_VERSION or method not in (_PLAIN, _ZSTD, _CHUNKED) or length > MAX_CONTENT_BYTES:
        raise RowDamaged(f"its row claims format {version}.{method} and {length} bytes")
    return method, length, created


def _chunk_count(row: bytes, length: int) -> int:
    """Return the number of chunks that a head names. Raise RowDamaged."""
    if len(row) != _HEAD.size + _COUNT.size:
        raise RowDamaged("its head has the wrong length")
    (count,) = _COUNT.unpack_from(row, _HEAD.size)
    if count != -(-length // CHUNK_BYTES):
        raise RowDamaged(f"its head names {count} chunks for {length} bytes")
    return int(count)


def _has_row(get: RowGetter, key: bytes) -> bool:
    return get(key) is not None


def row_created_ms(row: bytes) -> int:
    """Return when the content of a row was first stored, in ms since 1970. Raise RowDamaged."""
    return _decode_head(row)[2]


def rebuild_head(view: RowView, digest: str) -> tuple[bytes, int] | None:
    """Rebuild a large content's lost head from its chunks; return it and its size in bytes, or None."""
    parts, created = [], 0
    try:
        for _, row in view.scan(kinds.chunks_of(digest)):
            method, length, created = _decode_head(row)
            payload = row[_HEAD.size :]
            parts.append(kinds.decompress(payload, length) if method == _ZSTD else payload)
    except RowDamaged:
        return None
    data = b"".join(parts)
    if not parts or digest_of(data) != digest:
        return None
    return _HEAD.pack(ROW_VERSION, _CHUNKED, len(data), created) + _COUNT.pack(len(parts)), len(data)


def holds_content(key: bytes, row: bytes) -> bool:
    """Return True if a single row holds the bytes of the digest in its key. Raise RowDamaged."""
    method, length, _ = _decode_head(row)
    payload = row[_HEAD.size :]
    data = kinds.decompress(payload, length) if method == _ZSTD else payload
    return method != _CHUNKED and digest_of(data) == kinds.digest_in(key)


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
        self._access, self._run_query = access, run_query
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


_log = logging.getLogger(__name__)


class LogPart(msgspec.Struct, frozen=True):
    """The events of one session after `after` up to and with `upto`, as a part of a branch's log."""

    session_id: str
    after: int
    upto: int


def log_parts(source: RowSource, session_id: str) -> list[LogPart]:
    """Return the parts of a session's log, oldest first; the last is its own. Raise RowDamaged."""
    parts: list[LogPart] = []
    upto, passed = ROWS.last_seq.get(source, session_id) or 0, {session_id}
    while point := ROWS.branch.get(source, session_id):
        after = min(point.seq, upto)
        parts.append(LogPart(session_id, after, upto))
        session_id, upto = point.parent, after
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
    """Return a session's full log, with its parent's part. Raise RowDamaged, also if rows are missing."""
    *shared, own = log_parts(view, session_id)
    spans = [kinds.events_between(part.session_id, part.after, part.upto) for part in shared]
    spans.append(kinds.events_of(session_id))
    events = [recorded for span in spans for _, recorded in ROWS.event.scan(view, span)]
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
        session_id, seq = kinds.handover_session(key), kinds.seq_in(key)
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
    references = [
        ContentReference(kinds.session_in(key), kinds.seq_in(key))
        for key, _ in view.scan(kinds.references_of(digest))
    ]
    return sorted(references, key=lambda reference: (reference.session, reference.seq))


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
        if len(content.data) > MAX_CONTENT_BYTES:
            raise store_errors.content_too_large(content)


def stage_commit(batch: WriteBatch, contents: ContentStore, commit: Commit, at_ms: int) -> None:
    """Put everything of a commit, made at `at_ms` (ms since 1970), into the batch.

    Raise ValueError if the commit is wrong or the stored rows do not allow it, ContentTooLarge.
    """
    check_commit(commit)
    for content in commit.contents:
        contents.stage(batch, content, at_ms, commit.session_id)
    stage_events(batch, commit.session_id, commit.events)
    for digest in commit.recalls:
        _check_referable(batch, digest, "a recall")
        ROWS.record.change(batch, digest, lambda record: _with_recall(record, at_ms))
    if commit.summary is not None:
        stage_summary(batch, commit.summary)
    if commit.ends_partial_answer:
        ROWS.draft.change(batch, commit.session_id, without_partial_answer)


def stage_events(
    batch: WriteBatch, session_id: str, events: Sequence[RecordedEvent], missing: Container[str] = ()
) -> None:
    """Append events to a session's log. Raise ValueError if they leave a gap or name unknown contents.

    `missing` are contents that are known to be lost: the log may name them nevertheless.
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
        ROWS.event.put(batch, recorded, session_id, recorded.seq)
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
        batch,
        digest,
        lambda record: msgspec.structs.replace(record, references=record.references + 1, trashed=0),
    )


def remove_reference(batch: WriteBatch, session_id: str, seq: int, digest: str) -> None:
    kinds.delete_reference(batch, session_id, seq, digest)
    ROWS.record.change(
        batch,
        digest,
        lambda record: msgspec.structs.replace(record, references=max(0, record.references - 1)),
    )


def _check_referable(batch: WriteBatch, digest: str, referrer: str) -> None:
    """Raise ValueError unless a content is stored or was redacted: events may name it, its bytes gone."""
    if batch.get(kinds.record_key(digest)) is None:
        tombstone = ROWS.tombstone.get(batch, digest)
        if tombstone is None or tombstone.lifted:
            raise ValueError(f"{referrer} names the content {digest}, which is not stored")


def _with_recall(record: EntryRecord, at_ms: int) -> EntryRecord:
    return msgspec.structs.replace(record, recalls=record.recalls + 1, last_used=at_ms, trashed=0)
