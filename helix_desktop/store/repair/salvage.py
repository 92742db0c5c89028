"""What a damaged database's files still hold: visible damage, every version of a row, a new database of them.

LevelDB's own repair is not used: it reads logs without their checksums, puts all tables on one level, where
an old row can hide a newer one, and drops a block with one flipped bit. Here each row is checked by its own
checksum, and derived rows are rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import dropwhile, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from helix_desktop.domain.errors import StoreUnreadable
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.domain.store.reports import LostContent, TruncatedSession
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.files.quarantine import Quarantine
from helix_desktop.store.files.store_files import CleanState, StoreFormat
from helix_desktop.store.leveldb.contents import ContentStore, holds_content
from helix_desktop.store.leveldb.database import Database, store_unreadable
from helix_desktop.store.leveldb.rows import ROWS, RowKind
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
from helix_desktop.store.repair.rebuild import BulkWriter, ContentRebuilder, LogRebuilder
from helix_desktop.system.files import read_regular

_STEPS_PER_STAGE = 1_000  # of one stage


class StagedProgress:
    """Report combined progress of a job whose stages take about the same time; only when it increases."""

    def __init__(self, on_progress: OnProgress, stage_count: int) -> None:
        self._on_progress, self._total_steps = on_progress, stage_count * _STEPS_PER_STAGE
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
    def is_intact() -> bool:
        return block.is_intact

    return (RowVersion(key, -number, row, is_intact) for key, row, number in block.changes)


def _log_versions(path: Path) -> Iterator[RowVersion]:
    versions: list[RowVersion] = []
    for record in read_log(read_regular(path)):
        is_intact = _always_intact if record.is_intact else _never_intact
        versions += [
            RowVersion(key, -number, row, is_intact) for key, row, number in read_batch(record.payload)
        ]
    yield from sorted(versions, key=itemgetter(0, 1))


def _always_intact() -> bool:
    return True


def _never_intact() -> bool:
    return False


text = TextContext("Store")

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
_KEY_LENGTHS = {b"b": 1 + keys.DIGEST_BYTES, b"c": 5 + keys.DIGEST_BYTES}


@dataclass(slots=True)
class SalvageResult:
    """What was found in the files, and what is left of it in the new database."""

    problems: list[str] = field(default_factory=list)
    lost_rows: int = 0
    lost_writes: int = 0
    lost_entries: int = 0
    last_seqs: dict[str, int] = field(default_factory=dict)
    singletons: dict[bytes, object] = field(default_factory=dict)
    totals: StoreTotals = field(default_factory=lambda: StoreTotals(0, 0, 0, 0))
    events: int = 0
    lost_contents: list[LostContent] = field(default_factory=list)
    truncated_sessions: list[TruncatedSession] = field(default_factory=list)


class Salvage:
    """One salvage, from the files in `db` into an empty database."""

    def __init__(
        self,
        db: Path,
        target: Database,
        quarantine: Path,
        salvage_folder: Path,
        progress: StagedProgress,
    ) -> None:
        """Save damaged contents in the folder `quarantine`, events after a gap in `salvage_folder`.

        Report the first two stages of `progress`.
        """
        self._progress = progress
        self._quarantine = Quarantine(quarantine)
        self._db, self._target, self._salvage_folder = db, target, salvage_folder
        self._bulk_writer = BulkWriter(target)
        self._has_rows = False
        self._removed_sessions: set[str] = set()
        self.result = SalvageResult()

    def run(self, store_format: StoreFormat, clean_state: CleanState | None) -> SalvageResult:
        """Copy what is intact and rebuild the rest. Raise StoreUnreadable if it is another store's."""
        size, done = sum(path.stat().st_size for path in self._db.glob("*")), 0
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
        result.totals, result.events = rebuilder.totals(logs.sessions), logs.events
        result.lost_contents, result.truncated_sessions = rebuilder.lost, logs.truncated
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
        elif key.startswith(keys.LAST_EVENTS[0]):
            self._salvage_last_seq(key[len(keys.LAST_EVENTS[0]) :].decode(errors="replace"), versions)
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
        """Return the best intact version and its value; None if the row was deleted or is lost."""
        for version in versions:
            if version.row is None:
                return None
            try:
                return version, kind.decode(version.key, version.row)
            except RowDamaged:
                continue
        self._count_lost_row()
        return None

    def _check_identity(self, store_format: StoreFormat) -> None:
        """Raise StoreUnreadable if nothing is left, or if it belongs to another workspace or version."""
        singletons = self.result.singletons
        workspace, schema = singletons.get(keys.IDENTITY), singletons.get(keys.SCHEMA)
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
        stored = self.result.singletons.get(keys.SEQUENCE)
        sequence = stored if isinstance(stored, int) else 0
        clean_sequence = clean_state.sequence if clean_state else 0
        self.result.lost_writes = max(0, clean_sequence - sequence) if sequence else 0
        expected = (
            clean_state if self.result.lost_writes else self.result.singletons.get(keys.TOTALS) or clean_state
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
        or (ROWS.last_seq if key.startswith(keys.LAST_EVENTS[0]) else None)
    )
    if row is None:
        return False
    try:
        if kind is not None:
            kind.decode(key, row)
            return True
        return key[:1] == b"b" and holds_content(key, row)
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
    """Return the content of CURRENT."""
    try:
        return read_regular(db / "CURRENT").decode("ascii", "replace")
    except OSError:
        return ""


def file_sizes(db: Path) -> dict[str, int]:
    """Return the size in bytes of each file with data of the database."""
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
