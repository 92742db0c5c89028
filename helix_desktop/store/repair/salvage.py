"""Build a new database of everything that can still be read in the files of a damaged one.

LevelDB's own repair is not used: it reads logs without their checksums, puts all tables on one level, where
an old row can hide a newer one, and drops a block with one flipped bit. Here each row is checked by its own
checksum, and derived rows are rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix_desktop.domain.errors import StoreUnreadable
from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.domain.store.repair_report import LostContent, TruncatedSession
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.files.quarantine import Quarantine
from helix_desktop.store.files.store_files import CleanState, StoreFormat
from helix_desktop.store.leveldb.contents import ContentStore, holds_content
from helix_desktop.store.leveldb.database import Database, store_unreadable
from helix_desktop.store.leveldb.rows import ROWS, RowKind
from helix_desktop.store.repair.bulk_writer import BulkWriter
from helix_desktop.store.repair.progress import StagedProgress
from helix_desktop.store.repair.rebuild_contents import ContentRebuilder
from helix_desktop.store.repair.rebuild_event_logs import LogRebuilder
from helix_desktop.store.repair.row_versions import RowVersion, read_versions

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
