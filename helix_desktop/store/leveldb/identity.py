"""A store's identity, state and counters: rows that are read at every opening."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.domain.errors import StoreUnreadable
from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.core import keys, row_codec
from helix_desktop.store.core.commit import RowSource, WriteBatch
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.files.store_files import CleanState, StoreFormat
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.rows import ROWS


def read_sequence(source: RowSource) -> int:
    """Return the number of writes so far. Raise RowDamaged."""
    return ROWS.sequence.get(source) or 0


def read_totals(source: RowSource) -> StoreTotals:
    """Return counts and sizes of the store. Raise RowDamaged."""
    return ROWS.totals.get(source) or StoreTotals(0, 0, 0, 0)


class StoreCounters:
    """Put the counters into each batch that is written. Only the writer's thread uses this."""

    def __init__(self) -> None:
        # As they were last written; None: not yet read. Only this writer changes them.
        self._sequence: int | None = None
        self._totals: StoreTotals | None = None

    def stage(self, batch: WriteBatch) -> None:
        """Count this write, and add its changes to the totals. Raise RowDamaged.

        If a log file is lost later, the number of writes goes back, which shows the loss.
        """
        if self._sequence is None:
            self._sequence = read_sequence(batch)
        self._sequence += 1
        ROWS.sequence.put(batch, self._sequence)
        if any(batch.totals_delta):
            previous = self._totals or read_totals(batch)
            entries, size, stored_size, sessions = batch.totals_delta
            self._totals = StoreTotals(
                previous.entries + entries,
                previous.size + size,
                previous.stored_size + stored_size,
                previous.sessions + sessions,
            )
            ROWS.totals.put(batch, self._totals)

    def reset(self) -> None:
        """Read the counters again next time: what was last staged was not written."""
        self._sequence = self._totals = None


text = TextContext("Store")


def check_format(actual_format: StoreFormat, expected_format: StoreFormat) -> None:
    """Raise StoreUnreadable for another workspace's store, or an unknown schema."""
    if actual_format.schema != expected_format.schema:
        raise StoreUnreadable(
            text("The workspace data was written by another version of Helix Desktop."),
            text(
                "It has schema {actual}; this version reads schema {expected}.",
                actual=actual_format.schema,
                expected=expected_format.schema,
            ),
            text("Nothing was changed. Open it with the newest version."),
        )
    if actual_format.workspace_id != expected_format.workspace_id:
        raise StoreUnreadable(
            text("The data found here belongs to another workspace."),
            text(
                "It is from workspace {actual}, not {expected}.",
                actual=actual_format.workspace_id,
                expected=expected_format.workspace_id,
            ),
            text("Nothing was changed. Move each data folder back to where it was."),
        )


def identity_rows(store_format: StoreFormat) -> dict[bytes, bytes]:
    """Return the rows that identify a new store."""
    return {
        keys.SCHEMA: row_codec.encode(keys.SCHEMA, store_format.schema),
        keys.IDENTITY: row_codec.encode(keys.IDENTITY, store_format.workspace_id),
    }


def read_stored_format(database: Database) -> StoreFormat:
    """Return the format that the rows state. Raise RowDamaged."""
    schema, workspace = ROWS.schema.get(database), ROWS.identity.get(database)
    if schema is None or workspace is None:
        raise RowDamaged("they are missing")
    return StoreFormat(schema, workspace)


def read_format_from_db(db: Path) -> StoreFormat | None:
    """Return the format that the rows of a closed database state; None if they cannot be read."""
    try:
        handle = Database(db)
    except StoreUnreadable:
        return None
    try:
        return read_stored_format(handle)
    except (RowDamaged, StoreUnreadable):
        return None
    finally:
        handle.close()


def check_identity(database: Database, expected_format: StoreFormat) -> None:
    """Raise StoreUnreadable for a database of another store, RowDamaged."""
    check_format(read_stored_format(database), expected_format)


def read_clean_state(database: Database) -> CleanState:
    """Return the counters that the rows state. Raise RowDamaged."""
    totals = read_totals(database)
    return CleanState(read_sequence(database), totals.entries, totals.sessions)


def read_last_seqs(database: Database) -> dict[str, int]:
    """Return the seq of each session's last event. Raise RowDamaged."""

    def query(view: ReadView) -> dict[str, int]:
        # The value first: its checksum covers the key, which may no longer be text.
        last_seqs = ROWS.last_seq.scan(view, keys.LAST_EVENTS)
        return {keys.session_of(key, keys.LAST_EVENTS): seq for key, seq in last_seqs}

    return database.read(query)
