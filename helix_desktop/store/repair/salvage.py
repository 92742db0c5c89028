"""What a damaged database's files still hold: visible damage, row versions, contents and logs from them.

A branch whose parent's log is cut before its point ends there too. Events after a gap are saved as lines of
JSON: a conversation with a gap would be a different one.

LevelDB's own repair is not used: it reads logs without their checksums, puts all tables on one level, where
an old row can hide a newer one, and drops a block with one flipped bit and a table that is cut. In front of
the same rebuilding it lost 426 contents in 100 damaged stores, this 225.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from itertools import chain, dropwhile, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreUnreadable
from helix_desktop.domain.events.conversation import AssistantSpoke, OutputHeld, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import SessionBranched, SessionStarted
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store import (
    NO_TOTALS,
    BranchPoint,
    EntryRecord,
    SessionSummary,
    StoreTotals,
    is_no_use,
    point_in,
)
from helix_desktop.domain.store_reports import LostContent, TruncatedSession
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store import kinds
from helix_desktop.store.commits import read_branches
from helix_desktop.store.contents import ContentStore, holds_content, rebuild_head, row_created_ms
from helix_desktop.store.database import MAX_SLICE_BYTES, Database, ReadView, store_unreadable
from helix_desktop.store.files import CleanState, Quarantine, StoreFormat
from helix_desktop.store.kinds import ROWS, RowDamaged, RowKind, RowSink, RowUnknown
from helix_desktop.store.repair.leveldb_files import (
    LevelDbManifest,
    TableBlock,
    find_gap,
    has_index,
    read_batch,
    read_current,
    read_log,
    read_newest,
    read_table,
)
from helix_desktop.store.threads import WriteBatch
from helix_desktop.system.files import read_regular

text = TextContext("Store")

_MAX_ROWS = 5000  # rows per synced write


class BulkWriter(RowSink):
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
        self, bulk_writer: BulkWriter, contents: ContentStore, on_progress: Callable[[int], None]
    ) -> None:
        """`on_progress` is called with the bytes of contents, as stored, that have been processed."""
        self._bulk_writer = bulk_writer
        self._contents = contents
        self._on_progress = on_progress
        self.lost: list[LostContent] = []
        self.entries = self.size = self.stored_size = 0

    def run(self, view: ReadView) -> None:
        """Rebuild every record. Raise StoreWriteFailed."""
        for digest in _all_digests(view):
            self._rebuild(view, digest)
            self._on_progress(self.stored_size)

    def totals(self, sessions: int) -> StoreTotals:
        return StoreTotals(self.entries, self.size, self.stored_size, sessions)

    def _rebuild(self, view: ReadView, digest: str) -> None:
        record = ROWS.record.get(view, digest)
        tombstone = ROWS.tombstone.get(view, digest)
        if tombstone is not None and not (tombstone.lifted and record):
            self._drop(view, digest)  # removed at the user's request: it must not come back
            self._bulk_writer.delete(kinds.record_key(digest))
            return
        size = self._verified_size(view, digest)
        references = [kinds.session_and_seq(key) for key, _ in view.scan(kinds.references_of(digest))]
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
        self._bulk_writer.put(kinds.content_key(digest), head)
        if self._contents.quarantine.holds(digest):
            self._contents.quarantine.mark_healed(digest)
        return size

    def _drop(self, view: ReadView, digest: str) -> None:
        self._bulk_writer.delete(kinds.content_key(digest))
        for key, _ in view.scan(kinds.chunks_of(digest)):
            self._bulk_writer.delete(key)

    def _rebuild_record(
        self, view: ReadView, digest: str, references: list[tuple[str, int]], size: int
    ) -> EntryRecord:
        """Return a lost record, rebuilt from the first event that names the content."""
        head = view.get(kinds.content_key(digest))
        stored = [head] if head else []
        stored += [row for _, row in view.scan(kinds.chunks_of(digest))]
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
    spans = (kinds.CONTENTS, kinds.CHUNKS, kinds.RECORDS, kinds.REFERENCES)
    found = [(key[1 : 1 + kinds.DIGEST_BYTES] for key, _ in view.scan(span)) for span in spans]
    return (digest.hex() for digest, _ in groupby(merge(*found)))


_MAX_NAME_CHARS = 100  # characters of a session's id in a file name


class LogRebuilder:
    """Rebuild the logs of a database that holds intact events, branches, summaries, and nothing derived."""

    def __init__(
        self, bulk_writer: BulkWriter, salvage_folder: Path, known_last_seqs: Mapping[str, int]
    ) -> None:
        """`known_last_seqs`: the seq that each session's log is known to have reached."""
        self._bulk_writer = bulk_writer
        self._salvage_folder = salvage_folder
        self._known_last_seqs = dict(known_last_seqs)
        self._summaries: dict[str, SessionSummary] = {}
        self._branches: dict[str, BranchPoint] = {}
        self._last_seqs: dict[str, int] = {}  # of the logs that are rebuilt
        self.truncated: list[TruncatedSession] = []
        self.sessions = self.events = 0

    def run(self, view: ReadView) -> None:
        """Rebuild every log. Raise StoreWriteFailed, OSError."""
        self._summaries = {summary.id: summary for _, summary in ROWS.summary.scan(view, kinds.SUMMARIES)}
        self._branches = read_branches(view)
        for session_id, rows in groupby(
            view.scan(kinds.EVENTS), key=lambda row: kinds.session_of_event(row[0])
        ):
            if session_id not in self._branches:
                self._rebuild_or_defer(session_id, (ROWS.event.decode(*row) for row in rows))
        for session_id in self._in_order_of_depth():
            self._rebuild(
                session_id,
                (recorded for _, recorded in ROWS.event.scan(view, kinds.rows_of(session_id, b"e"))),
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
        seq = min(point.seq, self._last_seqs.get(point.parent, 0))
        parent = point.parent
        while parent in self._branches and seq <= self._branches[parent].seq:
            parent = self._branches[parent].parent
        self._branches[session_id] = BranchPoint(parent, seq)
        if seq:
            ROWS.branch.put(self._bulk_writer, self._branches[session_id], session_id)
        else:
            self._bulk_writer.delete(kinds.branch_key(session_id))
        return seq

    def _rebuild(self, session_id: str, log: Iterable[RecordedEvent]) -> None:
        summary = self._summaries.get(session_id)
        count = self._shared_end(session_id)
        last_kept = None
        detached: list[RecordedEvent] = []
        rebuilt = SessionSummary(session_id, "", 0, 0)
        for recorded in log:
            if detached or recorded.seq != count + 1:
                detached.append(recorded)
                self._bulk_writer.delete(kinds.event_key(session_id, recorded.seq))
                continue
            count = recorded.seq
            last_kept = recorded
            if summary is None:
                rebuilt = _with_event(rebuilt, recorded)
            mark = kinds.handover_mark(session_id, recorded)
            if mark is not None:
                self._bulk_writer.put(mark)
            for digest in digests_in(recorded.event):
                kinds.put_reference(self._bulk_writer, session_id, recorded.seq, digest)
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
            if last > count:
                summary = msgspec.structs.replace(summary, events=count)
            ROWS.summary.put(self._bulk_writer, summary, session_id)
            self.sessions += not summary.is_removed

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


_STEPS_PER_STAGE = 1_000  # of one stage


class StagedProgress:
    """Report combined progress of a job whose stages take about the same time; only when it increases."""

    def __init__(self, on_progress: OnProgress, stage_count: int) -> None:
        self._on_progress = on_progress
        self._total_steps = stage_count * _STEPS_PER_STAGE
        self._reported = 0

    def report(self, stage: int, done: int, size: int) -> None:
        """Report `done` of `size` in a stage, counted from 0."""
        done_steps = stage * _STEPS_PER_STAGE + min(_STEPS_PER_STAGE, done * _STEPS_PER_STAGE // max(1, size))
        if done_steps > self._reported:
            self._reported = done_steps
            self._on_progress(done_steps, self._total_steps)


class RowVersion(NamedTuple):
    """A row as it was once written; `age` is smaller for newer ones, `is_intact` verifies its checksum."""

    key: bytes
    age: int
    row: bytes | None
    is_intact: Callable[[], bool]


def read_versions(
    db: Path, on_unreadable: Callable[[str, OSError], None]
) -> Iterator[tuple[bytes, list[RowVersion]]]:
    """Yield each key in order with its versions, best first: those with a valid checksum, then newer ones.

    A deletion has no row; an untrusted one is left out. `on_unreadable` is called for files that the disk
    cannot read.
    """
    tables = [path for pattern in ("*.ldb", "*.sst") for path in sorted(db.glob(pattern))]
    sources = [_reporting_errors(path, _table_versions, on_unreadable) for path in tables]
    sources += [_reporting_errors(path, _log_versions, on_unreadable) for path in sorted(db.glob("*.log"))]
    for key, versions in groupby(merge(*sources, key=itemgetter(0, 1)), key=itemgetter(0)):
        yield key, _best_first(list(versions))


def _best_first(versions: list[RowVersion]) -> list[RowVersion]:
    if len(versions) == 1 and versions[0].row is not None:
        return versions  # only one version: its checksum need not be verified
    ranked = sorted(versions, key=lambda version: (not version.is_intact(), version.age))
    return [version for version in ranked if version.row is not None or version.is_intact()]


def _reporting_errors(
    path: Path, read: Callable[[Path], Iterator[RowVersion]], on_unreadable: Callable[[str, OSError], None]
) -> Iterator[RowVersion]:
    try:
        yield from read(path)
    except OSError as error:
        on_unreadable(path.name, error)


def _table_versions(path: Path) -> Iterator[RowVersion]:
    versions = (version for block in read_table(path) for version in _block_versions(block))
    yield from versions if has_index(path) else sorted(versions, key=itemgetter(0, 1))


def _block_versions(block: TableBlock) -> Iterator[RowVersion]:
    return (RowVersion(key, -number, row, lambda: block.is_intact) for key, row, number in block.changes)


def _log_versions(path: Path) -> Iterator[RowVersion]:
    versions: list[RowVersion] = []
    for record in read_log(read_regular(path)):
        is_intact = partial(bool, record.is_intact)
        versions += [
            RowVersion(key, -number, row, is_intact) for key, row, number in read_batch(record.payload)
        ]
    yield from sorted(versions, key=itemgetter(0, 1))


_KINDS: Mapping[bytes, RowKind[..., Any]] = {
    b"d": ROWS.draft,
    b"e": ROWS.event,
    b"f": ROWS.tombstone,
    b"m": ROWS.record,
    b"p": ROWS.branch,
    b"s": ROWS.summary,
}
_SINGLE_ROWS: Mapping[bytes, RowKind[[], Any]] = {
    kind.key(): kind for kind in (ROWS.schema, ROWS.identity, ROWS.sequence, ROWS.totals)
}
_DERIVED_KINDS = (b"R", b"h", b"k", b"r", b"t")
_KEY_LENGTHS = {b"b": 1 + kinds.DIGEST_BYTES, b"c": 5 + kinds.DIGEST_BYTES}


@dataclass(slots=True)
class SalvageResult:
    problems: list[str] = field(default_factory=list)
    lost_rows: int = 0
    lost_writes: int = 0
    lost_entries: int = 0
    last_seqs: dict[str, int] = field(default_factory=dict)
    singletons: dict[bytes, object] = field(default_factory=dict)
    totals: StoreTotals = NO_TOTALS
    events: int = 0
    lost_contents: list[LostContent] = field(default_factory=list)
    truncated_sessions: list[TruncatedSession] = field(default_factory=list)


class Salvage:
    """One salvage, from the files in `db` into an empty database."""

    def __init__(
        self, db: Path, target: Database, quarantine: Path, salvage_folder: Path, progress: StagedProgress
    ) -> None:
        """Save damaged contents in the folder `quarantine`, events after a gap in `salvage_folder`.

        Report the first two stages of `progress`.
        """
        self._progress = progress
        self._quarantine = Quarantine(quarantine)
        self._db = db
        self._target = target
        self._salvage_folder = salvage_folder
        self._bulk_writer = BulkWriter(target)
        self._has_rows = False
        self._removed_sessions: set[str] = set()
        self.result = SalvageResult()

    def run(self, store_format: StoreFormat, clean_state: CleanState | None) -> SalvageResult:
        """Copy what is intact and rebuild the rest.

        Raise StoreUnreadable if it is another store's, RowUnknown if another version wrote a part of it.
        """
        size = sum(path.stat().st_size for path in self._db.glob("*"))
        done = 0
        for key, versions in read_versions(self._db, self._add_unreadable_file):
            self._salvage_row(key, versions)
            done += sum(len(key) + len(version.row or b"") for version in versions)
            self._progress.report(0, done, size)
        self._check_identity(store_format)
        self._bulk_writer.flush()
        known_ends = clean_state.ends.items() if clean_state else ()
        ends = {session_id: seq for session_id, seq in known_ends if session_id not in self._removed_sessions}
        for session_id, seq in self.result.last_seqs.items():
            ends[session_id] = max(seq, ends.get(session_id, 0))
        logs = LogRebuilder(self._bulk_writer, self._salvage_folder, ends)
        self._target.read(logs.run)
        self._bulk_writer.flush()
        contents = ContentStore(self._target, self._quarantine)
        rebuilder = ContentRebuilder(
            self._bulk_writer, contents, lambda stored: self._progress.report(1, stored, size)
        )
        self._target.read(rebuilder.run)
        result = self.result
        result.totals = rebuilder.totals(logs.sessions)
        result.events = logs.events
        result.lost_contents = rebuilder.lost
        result.truncated_sessions = logs.truncated
        self._finish(store_format, clean_state)
        return result

    def _add_unreadable_file(self, name: str, error: OSError) -> None:
        self.result.problems.append(
            text("{file} can't be read ({reason})", file=name, reason=error.strerror or str(error))
        )

    def _salvage_row(self, key: bytes, versions: list[RowVersion]) -> None:
        kind = key[:1]
        if kind in _DERIVED_KINDS or not versions:
            return
        if kind in _KEY_LENGTHS:
            # Verified by its SHA-256 once everything is copied.
            self._write_version(versions[0]) if len(key) == _KEY_LENGTHS[kind] else self._count_lost_row()
        elif key in _SINGLE_ROWS:
            intact = self._first_intact(versions, _SINGLE_ROWS[key])
            if intact is not None:
                self.result.singletons[key] = intact[1]
        elif key.startswith(kinds.LAST_EVENTS[0]):
            self._salvage_last_seq(key[len(kinds.LAST_EVENTS[0]) :].decode(errors="replace"), versions)
        elif kind in _KINDS:
            intact = self._first_intact(versions, _KINDS[kind])
            if intact is not None:
                self._write_version(intact[0])
        elif versions[0].is_intact():
            self._write_version(versions[0])  # a kind of row of a newer version of the program
        else:
            self._count_lost_row()

    def _salvage_last_seq(self, session_id: str, versions: list[RowVersion]) -> None:
        if versions[0].row is None:
            self._removed_sessions.add(session_id)
        intact = self._first_intact(versions, ROWS.last_seq)
        if intact is not None:
            self.result.last_seqs[session_id] = intact[1]

    def _count_lost_row(self) -> None:
        self.result.lost_rows += 1

    def _write_version(self, version: RowVersion) -> None:
        if version.row is not None:
            self._has_rows = True
            self._bulk_writer.put(version.key, version.row)

    def _first_intact(
        self, versions: list[RowVersion], kind: RowKind[..., Any]
    ) -> tuple[RowVersion, Any] | None:
        """Return the best intact version and its value; None if the row was deleted or is lost.

        Raise RowUnknown: another version's row is not lost.
        """
        for version in versions:
            if version.row is None:
                return None
            try:
                return version, kind.decode(version.key, version.row)
            except RowUnknown:
                raise
            except RowDamaged:
                continue
        self._count_lost_row()
        return None

    def _check_identity(self, store_format: StoreFormat) -> None:
        """Raise StoreUnreadable if nothing is left, or if it belongs to another workspace or version."""
        singletons = self.result.singletons
        workspace = singletons.get(kinds.IDENTITY_KEY)
        schema = singletons.get(kinds.SCHEMA_KEY)
        if workspace not in (None, store_format.workspace_id) or schema not in (None, store_format.schema):
            raise StoreUnreadable(
                text("The data found here is damaged, and from another workspace or version."),
                text(
                    "It is from workspace {workspace}, schema {schema}.", workspace=workspace, schema=schema
                ),
                text("Nothing was changed. Move each data folder back to where it was."),
            )
        if not (singletons or self.result.last_seqs or self._has_rows):
            raise store_unreadable(
                text("Its files are damaged or missing, and nothing in them can be read."),
                text(
                    "Replace {folder} with a backup. Or move it away, reopen the workspace, "
                    "and import an exported file.",
                    folder=self._db.parent,
                ),
            )

    def _finish(self, store_format: StoreFormat, clean_state: CleanState | None) -> None:
        stored = self.result.singletons.get(kinds.SEQUENCE_KEY)
        sequence = stored if isinstance(stored, int) else 0
        clean_sequence = clean_state.sequence if clean_state else 0
        self.result.lost_writes = max(0, clean_sequence - sequence) if sequence else 0
        expected = (
            clean_state
            if self.result.lost_writes
            else self.result.singletons.get(kinds.TOTALS_KEY) or clean_state
        )
        if isinstance(expected, StoreTotals | CleanState):
            self.result.lost_entries = max(0, expected.entries - self.result.totals.entries)
        ROWS.schema.put(self._bulk_writer, store_format.schema)
        ROWS.identity.put(self._bulk_writer, store_format.workspace_id)
        ROWS.sequence.put(self._bulk_writer, max(sequence, clean_sequence) + 1)
        ROWS.totals.put(self._bulk_writer, self.result.totals)
        self._bulk_writer.flush()


def is_intact(key: bytes, row: bytes | None) -> bool:
    """Return True if a row is what was written, judged by its own checksum or SHA-256."""
    kind = (
        _SINGLE_ROWS.get(key)
        or _KINDS.get(key[:1])
        or (ROWS.last_seq if key.startswith(kinds.LAST_EVENTS[0]) else None)
    )
    if row is None:
        return False
    try:
        if kind is not None:
            kind.decode(key, row)
            return True
        return key[:1] == b"b" and holds_content(key, row)
    except RowUnknown:
        return True
    except RowDamaged:
        return False


class PreflightReport(NamedTuple):
    """The problems, each as a sentence without its full stop; empty for a database that looks intact.

    `has_unknown_losses`: a file, or a part of one, is gone and its content is not known.
    """

    problems: list[str]
    has_unknown_losses: bool = False


def inspect_files(db: Path, clean_state: CleanState | None) -> PreflightReport:
    """Return the problems that are visible from outside.

    LevelDB itself misses a lost log, and a range of zeros in one; it takes a truncated table for a failing
    disk. The manifest names the current log and the size of each table, `clean_state` names every file, and
    the changes in a log are numbered.
    """
    problems: list[str] = []
    if not (db / "CURRENT").is_file():
        problems.append(text("CURRENT, the file that names all others, is missing"))
    listed = read_current(db) or read_newest(db)
    missing = listed.missing_files(db) if listed is not None else []
    short = listed.truncated_tables(db) if listed is not None else []
    missing += [path.name for path in db.iterdir() if not (path.is_file() or path.is_dir())]  # pipes, say
    problems += [*(text("{file} is missing", file=name) for name in missing), *short]
    counted = (
        clean_state is not None and bool(clean_state.files) and read_current_name(db) == clean_state.current
    )
    if counted and clean_state is not None:
        problems += [
            _truncation_text(db / name, size)
            for name, size in clean_state.files.items()
            if _size(db / name) < size
        ]
    gaps = _log_gaps(db, listed) if listed is not None and not problems else []
    unknown = bool(gaps) or (bool(missing or short) and not counted)
    return PreflightReport(list(dict.fromkeys([*problems, *gaps])), unknown)


def _log_gaps(db: Path, manifest: LevelDbManifest) -> list[str]:
    """Return the logs that LevelDB would read and that lack changes before or between those they have."""
    last_sequence = manifest.last_sequence
    problems: list[str] = []
    for path in sorted(db.glob("*.log")):
        if path.stem.isdigit() and int(path.stem) >= manifest.log_number:
            missing, last_sequence = find_gap(path.read_bytes(), last_sequence)
            if missing:
                problems.append(
                    text.plural(
                        missing, "{file} is missing %n change", "{file} is missing %n changes", file=path.name
                    )
                )
    return problems


def read_current_name(db: Path) -> str:
    try:
        return read_regular(db / "CURRENT").decode("ascii", "replace")
    except OSError:
        return ""


def file_sizes(db: Path) -> dict[str, int]:
    suffixes = {".log", ".ldb", ".sst"}
    return {
        path.name: path.stat().st_size
        for path in db.iterdir()
        if path.suffix in suffixes or path.name.startswith("MANIFEST-")
    }


def find_torn_log(db: Path) -> Path | None:
    """Return the log of which only the end is damaged, with nothing readable in or after it; else None.

    That is what a power cut leaves of a write that was never acknowledged.
    """
    listed = read_current(db)
    if listed is None or not listed.is_intact or listed.missing_files(db) or listed.truncated_tables(db):
        return None
    *before, last = sorted(db.glob("*.log"))
    if any(not record.is_intact for path in before for record in read_log(path.read_bytes())):
        return None
    damaged_on = dropwhile(lambda record: record.is_intact, read_log(last.read_bytes()))
    rows = (row for record in damaged_on for row in read_batch(record.payload))
    return None if any(is_intact(key, row) for key, row, _ in rows) else last


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _truncation_text(path: Path, size: int) -> str:
    actual = _size(path)
    if actual < 0:
        return text("{file} is missing", file=path.name)
    return text("{file} has {actual} of {size} bytes", file=path.name, actual=actual, size=size)
