"""Opening and closing of a store's files: owner lock, creation, identity, clean state."""

from __future__ import annotations

import logging
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from helix_desktop.domain.errors import DataDirUnavailable, StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.store.repair_report import RepairReport
from helix_desktop.domain.translatable_text import TextContext, system_reason, verbatim
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.files.owner_lock import OwnerLock
from helix_desktop.store.files.store_files import CURRENT_SCHEMA, StoreFiles, StoreFormat
from helix_desktop.store.leveldb.database import Database, create_db, store_unreadable
from helix_desktop.store.leveldb.identity import (
    check_format,
    identity_rows,
    read_clean_state,
    read_format_from_db,
    read_last_seqs,
)
from helix_desktop.store.open.migration import (
    MIGRATION_STEPS,
    MigrationStep,
    Repair,
    migrate,
    needs_migration,
)
from helix_desktop.store.open.repair_ladder import RepairLadder
from helix_desktop.store.repair.preflight import file_sizes, read_current_name
from helix_desktop.system.clock import ClockMs, wall_clock_ms

text = TextContext("Store")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """A store's open files, and the repair report if the user has not seen it yet."""

    store_files: StoreFiles
    lock: OwnerLock
    database: Database
    report: RepairReport | None

    def close(self) -> None:
        """Write the store's state, then close everything; call when there are no more readers."""
        try:
            if (missing := self.database.missing_files()) is not None:
                raise missing
            state, ends = read_clean_state(self.database), read_last_seqs(self.database)
            self.database.close()
            db = self.store_files.db
            files, current = file_sizes(db), read_current_name(db)
            clean_state = msgspec.structs.replace(state, ends=ends, files=files, current=current)
            self.store_files.write_clean(clean_state)
            shutil.rmtree(self.store_files.before_migration, ignore_errors=True)
        except RowDamaged as error:
            self.mark_suspect(error)
        except (OSError, StoreUnreadable, StoreWriteFailed) as error:
            # Everything acknowledged is durable already; only the note of a clean end is missing.
            _log.warning("The store was closed without a note of its state: %s", error)
        finally:
            self.database.close()
            self.lock.release()

    def mark_suspect(self, error: RowDamaged) -> StoreDamaged:
        """Have the store repaired at its next opening; return the error to show until then."""
        why = str(error)[:1].upper() + str(error)[1:]
        try:
            self.store_files.repair_notes.mark_suspect(why)
        except OSError as refused:
            _log.warning("It could not be noted that the store is damaged: %s", refused)
        return StoreDamaged(
            text("Part of the workspace data is damaged."),
            verbatim(f"{why}."),
            text("Close and reopen the workspace to repair it. The damaged files are kept."),
        )


def open_files(
    folder: Path,
    workspace_id: str,
    clock: ClockMs = wall_clock_ms,
    steps: Mapping[int, MigrationStep] = MIGRATION_STEPS,
    on_progress: OnProgress = no_progress,
) -> OpenFiles:
    """Open the store of the workspace with this UUID; create it if nothing is there.

    A store of an older schema is migrated to the current one by `steps`, a damaged one is repaired as far as
    possible; `on_progress` reports the progress of that.
    Raise StoreLocked, StoreUnreadable, DataDirUnavailable; ValueError if `workspace_id` is not a UUID.
    """
    store_format = StoreFormat(CURRENT_SCHEMA, str(uuid.UUID(workspace_id)))
    layout = StoreFiles(folder)
    layout.create_folders()
    lock = OwnerLock.acquire(layout.owner_lock)
    try:

        def open_repaired(expected_format: StoreFormat) -> Database:
            return RepairLadder(layout, expected_format, clock, on_progress).open_database()

        _create_or_migrate(
            layout, store_format, steps, lambda current_format: open_repaired(current_format).close()
        )
        handle = open_repaired(store_format)
        return OpenFiles(layout, lock, handle, layout.repair_notes.read_unreported())
    except BaseException:
        lock.release()
        raise


def _read_or_restore_format(store_files: StoreFiles) -> StoreFormat | None:
    """Return the store's format; a lost or damaged `format` is rewritten from the rows that state it."""
    try:
        store_format = store_files.read_format()
    except StoreUnreadable:
        store_format = read_format_from_db(store_files.db)
        if store_format is None:
            raise
    else:
        if store_format is not None or not store_files.db.exists():
            return store_format
        store_format = read_format_from_db(store_files.db)
    if store_format is not None:
        _log.warning("The store's file `format` was lost or damaged, and was written again.")
        store_files.write_format(store_format)
    return store_format


def _create_or_migrate(
    store_files: StoreFiles, store_format: StoreFormat, steps: Mapping[int, MigrationStep], repair: Repair
) -> None:
    """Create what is missing. Each step can be interrupted and is then continued, or done again."""
    try:
        current_format = _read_or_restore_format(store_files)
        if current_format is None:
            if store_files.db.exists() and any(store_files.db.iterdir()):
                raise store_unreadable(
                    text("Its format file is missing, and the data next to it must not be overwritten.")
                )
            shutil.rmtree(store_files.new_db, ignore_errors=True)
            create_db(store_files.new_db, identity_rows(store_format))
            store_files.write_format(store_format)
        elif needs_migration(current_format, store_format, steps):
            migrate(store_files, current_format, store_format, steps, repair)
        else:
            check_format(current_format, store_format)
        if store_files.new_db.exists() and not store_files.db.exists():
            store_files.adopt_new_db()
    except OSError as error:
        raise DataDirUnavailable(
            text("The workspace data can't be written: {folder}.", folder=store_files.folder),
            system_reason(error),
            text("Make the folder writable, or free up disk space."),
        ) from error
