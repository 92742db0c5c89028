"""Migration of a store from an older schema to the newest: copied row by row into a new database.

The old one is kept until the store was once closed cleanly. After an interruption at any point, the next
opening starts again or continues with what was complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping

from helix_desktop.domain.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.core.store_errors import write_failure_reason
from helix_desktop.store.files.quarantine import Quarantine
from helix_desktop.store.files.store_files import StoreFiles, StoreFormat
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.database import Database, store_unreadable
from helix_desktop.store.leveldb.identity import identity_rows, read_stored_format
from helix_desktop.store.repair.bulk_writer import BulkWriter
from helix_desktop.store.repair.integrity_check import IntegrityChecker

text = TextContext("Store")

Row = tuple[bytes, bytes]
MigrationStep = Callable[[Iterable[Row]], Iterator[Row]]
"""Convert the rows of one schema into those of the next; the schema's own number is written for it."""

MIGRATION_STEPS: Mapping[int, MigrationStep] = {}
"""The step from each older schema to the next."""

Repair = Callable[[StoreFormat], None]
"""Open and close a store of an older format, which repairs it if it is damaged. Raise StoreUnreadable."""


def needs_migration(
    current_format: StoreFormat, target_format: StoreFormat, steps: Mapping[int, MigrationStep]
) -> bool:
    """Return True if a store has an older schema and steps lead to the target."""
    schemas = range(current_format.schema, target_format.schema)
    return (
        current_format.workspace_id == target_format.workspace_id
        and bool(schemas)
        and all(schema in steps for schema in schemas)
    )


def migrate(
    store_files: StoreFiles,
    current_format: StoreFormat,
    target_format: StoreFormat,
    steps: Mapping[int, MigrationStep],
    repair: Repair,
) -> None:
    """Bring a store to the target schema; repair it first if it is damaged.

    Raise StoreUnreadable; then nothing of the old store was changed, or a copy of it was kept.
    """
    try:
        if not _is_swapped_in(store_files, target_format):
            repair(current_format)
            try:
                _copy_migrated(store_files, current_format, target_format, steps)
            except RowDamaged as error:
                store_files.repair_notes.mark_suspect(
                    f"{error}"
                )  # no opening has met it, but a repair reads every row
                repair(current_format)
                _copy_migrated(store_files, current_format, target_format, steps)
            shutil.rmtree(store_files.before_migration, ignore_errors=True)
            store_files.swap_in_repair_db(store_files.before_migration)
        store_files.write_format(target_format)
    except (OSError, RowDamaged, StoreWriteFailed) as error:
        raise StoreUnreadable(
            text(
                "The workspace data couldn't be upgraded from schema {old} to {new}.",
                old=current_format.schema,
                new=target_format.schema,
            ),
            write_failure_reason(error),
            text("Nothing was changed. Free up disk space, or open it with the version that wrote it."),
        ) from error


def _is_swapped_in(store_files: StoreFiles, target_format: StoreFormat) -> bool:
    """Return True if a migration was interrupted after its database was in place."""
    if not store_files.db.exists():
        store_files.adopt_new_db()
    try:
        handle = Database(store_files.db)
    except StoreDamaged:
        return False
    try:
        return read_stored_format(handle) == target_format
    except (RowDamaged, StoreUnreadable):  # the repair reports what is wrong with it
        return False
    finally:
        handle.close()


def _copy_migrated(
    store_files: StoreFiles,
    current_format: StoreFormat,
    target_format: StoreFormat,
    steps: Mapping[int, MigrationStep],
) -> None:
    shutil.rmtree(store_files.repair_db, ignore_errors=True)
    source = Database(store_files.db)
    try:
        target = Database(store_files.repair_db, create=True)
        try:
            writer = BulkWriter(target)

            def fill(rows: Iterable[Row]) -> None:
                for schema in range(current_format.schema, target_format.schema):
                    rows = steps[schema](rows)
                for key, row in rows:
                    writer.put(key, row)

            source.read(lambda view: fill(view.scan(keys.ALL_ROWS)))
            for key, row in identity_rows(target_format).items():
                writer.put(key, row)
            writer.flush()
            _check_copy(target, store_files)
        finally:
            target.close()
    finally:
        source.close()


def _check_copy(database: Database, store_files: StoreFiles) -> None:
    """Raise StoreUnreadable if the copy is inconsistent."""
    checker = IntegrityChecker(ContentStore(database, Quarantine(store_files.quarantine)))
    while database.read(checker.check_next_slice):
        pass
    if checker.result.problems:
        raise store_unreadable(
            text("The copied data is inconsistent: {problem}.", problem=checker.result.problems[0])
        )
