"""Rebuild the records of contents and the logs of sessions from what can still be read.

A branch whose parent's log is cut before its point ends there too. Events after a gap are saved as lines of
JSON: a conversation with a gap would be a different one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from heapq import merge
from itertools import chain, groupby
from pathlib import Path
from urllib.parse import quote

import msgspec

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.events.conversation import AssistantSpoke, OutputHeld, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import SessionBranched, SessionStarted
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.store.commit import BranchPoint, point_in
from helix_desktop.domain.store.entries import SessionSummary, StoreTotals, is_no_use
from helix_desktop.domain.store.reports import LostContent, TruncatedSession
from helix_desktop.store.core import keys
from helix_desktop.store.core.commit import WriteBatch
from helix_desktop.store.leveldb.contents import ContentStore, rebuild_head, row_created_ms
from helix_desktop.store.leveldb.database import MAX_SLICE_BYTES, Database, ReadView
from helix_desktop.store.leveldb.event_log import read_branches
from helix_desktop.store.leveldb.rows import ROWS, EntryRecord, handover_mark, put_reference

_MAX_ROWS = 5000  # rows per synced write


class BulkWriter:
    """Collect rows and write them when they are many, and at `flush`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batch = WriteBatch(database.get)
        self._size = 0

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row with the next batch. Raise StoreWriteFailed."""
        self._batch.put(key, row)
        self._flush_if_full(len(key) + len(row))

    def delete(self, key: bytes) -> None:
        """Delete a row with the next batch. Raise StoreWriteFailed."""
        self._batch.delete(key)
        self._flush_if_full(len(key))

    def flush(self) -> None:
        """Write what was collected, durably. Raise StoreWriteFailed."""
        if self._batch.rows:
            self._database.write(self._batch)
        self._batch = WriteBatch(self._database.get)
        self._size = 0

    def _flush_if_full(self, size: int) -> None:
        self._size += size
        if self._size >= MAX_SLICE_BYTES or len(self._batch.rows) >= _MAX_ROWS:
            self.flush()


class ContentRebuilder:
    """Verify every content of a database whose logs are intact, and rebuild what is derived."""

    def __init__(
        self,
        bulk_writer: BulkWriter,
        contents: ContentStore,
        on_progress: Callable[[int], None],
    ) -> None:
        """`on_progress` is called with the bytes of contents, as stored, that have been processed."""
        self._bulk_writer = bulk_writer
        self._contents, self._on_progress = contents, on_progress
        self.lost: list[LostContent] = []
        self.entries = self.size = self.stored_size = 0

    def run(self, view: ReadView) -> None:
        """Rebuild every record. Raise StoreWriteFailed."""
        for digest in _all_digests(view):
            self._rebuild(view, digest)
            self._on_progress(self.stored_size)

    def totals(self, sessions: int) -> StoreTotals:
        """Return the counts and sizes of what was processed."""
        return StoreTotals(self.entries, self.size, self.stored_size, sessions)

    def _rebuild(self, view: ReadView, digest: str) -> None:
        record = ROWS.record.get(view, digest)
        tombstone = ROWS.tombstone.get(view, digest)
        if tombstone is not None and not (tombstone.lifted and record):
            self._drop(view, digest)  # removed at the user's request: it must not come back
            self._bulk_writer.delete(keys.record(digest))
            return
        size = self._verified_size(view, digest)
        references = [keys.session_and_seq(key) for key, _ in view.scan(keys.references_of(digest))]
        if size is None and record is None and not references:
            self._drop(view, digest)  # chunks of an interrupted write, or a row under a damaged key
            return
        if record is None:
            record = self._rebuild_record(view, digest, references, size or 0)
        record = msgspec.structs.replace(record, references=len(references))
        ROWS.record.put(self._bulk_writer, record, digest)
        self.entries += 1
        self.size += record.size
        self.stored_size += record.stored_size
        if size is None:
            self._drop(view, digest)
            details = (record.size, record.tool, record.target, record.first_line, record.references)
            self.lost.append(LostContent(digest, *details))

    def _verified_size(self, view: ReadView, digest: str) -> int | None:
        """Return the content's size in bytes; None if its bytes are lost."""
        with suppress(DigestUnknown, ContentDamaged):
            return len(self._contents.read(view, digest))
        rebuilt = rebuild_head(view, digest)
        if rebuilt is None:
            return None
        head, size = rebuilt
        self._bulk_writer.put(keys.content(digest), head)
        if self._contents.quarantine.holds(digest):
            self._contents.quarantine.mark_healed(digest)
        return size

    def _drop(self, view: ReadView, digest: str) -> None:
        self._bulk_writer.delete(keys.content(digest))
        for key, _ in view.scan(keys.chunks_of(digest)):
            self._bulk_writer.delete(key)

    def _rebuild_record(
        self, view: ReadView, digest: str, references: list[tuple[str, int]], size: int
    ) -> EntryRecord:
        """Return a lost record, rebuilt from the first event that names the content."""
        head = view.get(keys.content(digest))
        stored = [head] if head else []
        stored += [row for _, row in view.scan(keys.chunks_of(digest))]
        stored_size = sum(map(len, stored))
        for reference in references[:1]:
            recorded = ROWS.event.get(view, *reference)
            if recorded is not None:
                record = _record_from_event(recorded, digest, size, stored_size)
                return msgspec.structs.replace(record, session=reference[0])
        created = row_created_ms(stored[0])
        return EntryRecord(created, created, size, stored_size, 0, "", "", "", "output")


def _record_from_event(recorded: RecordedEvent, digest: str, size: int, stored_size: int) -> EntryRecord:
    bare = EntryRecord(recorded.at, recorded.at, size, stored_size, 0, "", "", "", "output")
    match recorded.event:
        case ToolAnswered() as output if output.digest == digest:
            return _with_answer(bare, output)
        case OutputHeld(answer=answer):
            return _with_answer(bare, answer)
        case AssistantSpoke(short=short):
            sizes = {
                name: size_of
                for call in short
                for name, size_of in zip(call.digests, call.sizes, strict=False)
            }
            return msgspec.structs.replace(bare, kind="argument", size=size or sizes.get(digest, 0))
        case HandoverMade() | FoldMade() | ObservationsMade():
            return msgspec.structs.replace(bare, kind="index")
    return bare


def _with_answer(record: EntryRecord, output: ToolAnswered) -> EntryRecord:
    return msgspec.structs.replace(
        record,
        size=record.size or output.size,
        tokens=output.tokens if output.whole and output.form == "full" else 0,
        tool=output.name,
        target=output.target,
        first_line=output.first_line,
    )


def _all_digests(view: ReadView) -> Iterator[str]:
    """Yield every digest that a row refers to, each once, in order."""
    spans = (keys.CONTENTS, keys.CHUNKS, keys.RECORDS, keys.REFERENCES)
    kinds = [(key[1 : 1 + keys.DIGEST_BYTES] for key, _ in view.scan(span)) for span in spans]
    return (digest.hex() for digest, _ in groupby(merge(*kinds)))


_MAX_NAME_CHARS = 100  # characters of a session's id in a file name


class LogRebuilder:
    """Rebuild the logs of a database that holds intact events, branches, summaries, and nothing derived."""

    def __init__(
        self, bulk_writer: BulkWriter, salvage_folder: Path, known_last_seqs: Mapping[str, int]
    ) -> None:
        """`known_last_seqs`: the seq that each session's log is known to have reached."""
        self._bulk_writer, self._salvage_folder = bulk_writer, salvage_folder
        self._known_last_seqs = dict(known_last_seqs)
        self._summaries: dict[str, SessionSummary] = {}
        self._branches: dict[str, BranchPoint] = {}
        self._last_seqs: dict[str, int] = {}  # of the logs that are rebuilt
        self.truncated: list[TruncatedSession] = []
        self.sessions = self.events = 0

    def run(self, view: ReadView) -> None:
        """Rebuild every log. Raise StoreWriteFailed, OSError."""
        self._summaries = {summary.id: summary for _, summary in ROWS.summary.scan(view, keys.SUMMARIES)}
        self._branches = read_branches(view)
        for session_id, rows in groupby(
            view.scan(keys.EVENTS), key=lambda row: keys.session_of_event(row[0])
        ):
            if session_id not in self._branches:
                self._rebuild_or_defer(session_id, (ROWS.event.decode(*row) for row in rows))
        for session_id in self._in_order_of_depth():
            self._rebuild(
                session_id, (recorded for _, recorded in ROWS.event.scan(view, keys.events_of(session_id)))
            )
        for session_id in sorted({*self._summaries, *self._known_last_seqs} - self._last_seqs.keys()):
            self._rebuild(session_id, ())

    def _rebuild_or_defer(self, session_id: str, log: Iterator[RecordedEvent]) -> None:
        """Rebuild a log, but that of a branch whose row is lost later: its first event tells its point."""
        first = next(log)
        point = point_in(first)
        if point is None:
            self._rebuild(session_id, chain((first,), log))
        else:
            self._branches[session_id] = point

    def _in_order_of_depth(self) -> Iterator[str]:
        """Yield every branch, each after its parent."""
        deferred = sorted(self._branches)
        while deferred:
            ready = [name for name in deferred if self._branches[name].parent not in deferred]
            deferred = [name for name in deferred if name not in ready]
            yield from ready or [deferred.pop()]

    def _shared_end(self, session_id: str) -> int:
        """Put the row of a branch as far as its parent's log still goes; return its last shared event."""
        point = self._branches.get(session_id)
        if point is None:
            return 0
        seq, parent = min(point.seq, self._last_seqs.get(point.parent, 0)), point.parent
        while parent in self._branches and seq <= self._branches[parent].seq:
            parent = self._branches[parent].parent
        self._branches[session_id] = BranchPoint(parent, seq)
        if seq:
            ROWS.branch.put(self._bulk_writer, self._branches[session_id], session_id)
        else:
            self._bulk_writer.delete(keys.branch(session_id))
        return seq

    def _rebuild(self, session_id: str, log: Iterable[RecordedEvent]) -> None:
        summary = self._summaries.get(session_id)
        count, last_kept = self._shared_end(session_id), None
        detached: list[RecordedEvent] = []
        rebuilt = SessionSummary(session_id, "", 0, 0)
        for recorded in log:
            if detached or recorded.seq != count + 1:
                detached.append(recorded)
                self._bulk_writer.delete(keys.event(session_id, recorded.seq))
                continue
            count, last_kept = recorded.seq, recorded
            if summary is None:
                rebuilt = _with_event(rebuilt, recorded)
            self._write_references(session_id, recorded)
            self.events += 1
        last = max([count, *(recorded.seq for recorded in detached), summary.events if summary else 0])
        last = max(last, self._known_last_seqs.pop(session_id, 0))
        self._last_seqs[session_id] = count
        if count:
            ROWS.last_seq.put(self._bulk_writer, count, session_id)
        if last_kept is not None:
            summary = summary or rebuilt
        if last > count:
            session_title = summary.title if summary else rebuilt.title
            self.truncated.append(
                TruncatedSession(
                    session_id, session_title, count, len(detached), last - count - len(detached)
                )
            )
            self._save_detached(session_id, detached)
        if summary is not None:
            self._write_summary(msgspec.structs.replace(summary, events=count) if last > count else summary)

    def _write_summary(self, summary: SessionSummary) -> None:
        ROWS.summary.put(self._bulk_writer, summary, summary.id)
        self.sessions += not summary.is_removed

    def _write_references(self, session_id: str, recorded: RecordedEvent) -> None:
        mark = handover_mark(session_id, recorded)
        if mark is not None:
            self._bulk_writer.put(mark)
        for digest in digests_in(recorded.event):
            put_reference(self._bulk_writer, session_id, recorded.seq, digest)

    def _save_detached(self, session_id: str, events: list[RecordedEvent]) -> None:
        if events:
            path = self._salvage_folder / f"session-{quote(session_id, safe='')[:_MAX_NAME_CHARS]}.jsonl"
            with path.open("ab") as file:
                file.writelines(msgspec.json.encode(recorded) + b"\n" for recorded in events)


def _with_event(summary: SessionSummary, recorded: RecordedEvent) -> SessionSummary:
    """Return a summary that was lost, with what one more event of its log says."""
    event = recorded.event
    place = summary.place.after(event)
    changes: dict[str, str | int] = {
        "created": summary.created or recorded.at,
        "updated": summary.updated if is_no_use(event) else recorded.at,
        "pinned": place.pinned,
        "archived": place.archived,
        "title": getattr(event, "title", summary.title),
        "events": recorded.seq,
    }
    if isinstance(event, SessionStarted):
        changes["parent"] = event.parent
    elif isinstance(event, SessionBranched):
        changes |= {"branch_of": event.parent, "branch_seq": event.seq, "branch_how": event.how}
    return msgspec.structs.replace(summary, **changes)
