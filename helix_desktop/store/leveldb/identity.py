"""A store's identity and state: rows that are read at every opening."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.domain.errors import StoreUnreadable
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.core import keys, row_codec
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.files.store_files import CleanState, StoreFormat
from helix_desktop.store.leveldb.counters import read_sequence, read_totals
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.rows import ROWS

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
