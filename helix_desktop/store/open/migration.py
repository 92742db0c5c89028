"""Brings a store of an older schema to the newest: copied forward row by row into a new database.

The old one stands aside until the store was closed well once. Cut off anywhere, the next opening begins again
or takes up what was whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping

from helix_desktop.domain.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowDamaged
from helix_desktop.store.files.quarantine import Quarantine
from helix_desktop.store.files.store_files import StoreFiles, StoreFormat
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.database import Database, store_unreadable
from helix_desktop.store.leveldb.identity import identity_rows, read_stored_format
from helix_desktop.store.repair.bulk_writer import BulkWriter
from helix_desktop.store.repair.integrity_check import IntegrityChecker

Row = tuple[bytes, bytes]
MigrationStep = Callable[[Codec, Iterable[Row]], Iterator[Row]]
"""Makes the rows of one schema into those of the next; the schema's own number is written for it."""

MIGRATION_STEPS: Mapping[int, MigrationStep] = {}
"""The step that leads on from each older schema."""

Repair = Callable[[StoreFormat], None]
"""Opens and closes a store of an older format, which mends it if it is damaged. Raises StoreUnreadable."""


def needs_migration(
    current_format: StoreFormat, target_format: StoreFormat, steps: Mapping[int, MigrationStep]
) -> bool:
    """Whether a store has an older schema from which steps lead to the wanted one."""
    between = range(current_format.schema, target_format.schema)
    return (
        current_format.workspace == target_format.workspace
        and bool(between)
        and all(one in steps for one in between)
    )


def migrate(
    store_files: StoreFiles,
    current_format: StoreFormat,
    target_format: StoreFormat,
    steps: Mapping[int, MigrationStep],
    repair: Repair,
) -> None:
    """Bring a store to the wanted schema, and mend it first if it is damaged.

    Raises StoreUnreadable; then nothing of the old one was changed, or a copy of it was kept.
    """
    codec = Codec()
    try:
        if not _is_swapped_in(store_files, codec, target_format):
            repair(current_format)
            try:
                _copy_migrated(store_files, codec, current_format, target_format, steps)
            except RowDamaged as error:
                store_files.repair_notes.mark_suspect(
                    f"{error}"
                )  # no opening has seen it, but mending looks at every row
                repair(current_format)
                _copy_migrated(store_files, codec, current_format, target_format, steps)
            shutil.rmtree(store_files.before_migration, ignore_errors=True)
            store_files.swap_in_repair_db(store_files.before_migration)
        store_files.write_format(target_format)
    except (OSError, RowDamaged, StoreWriteFailed) as error:
        raise StoreUnreadable(
            f"The workspace's store could not be brought from schema {current_format.schema} "
            f"to {target_format.schema}.",
            f"{error}",
            "Nothing of it was changed. Free room on the disk, or open it with the version that wrote it.",
        ) from error


def _is_swapped_in(store_files: StoreFiles, codec: Codec, target_format: StoreFormat) -> bool:
    """Whether a migration was cut off after its database was in place."""
    if not store_files.db.exists():
        store_files.adopt_new_db()
    try:
        handle = Database(store_files.db)
    except StoreDamaged:
        return False
    try:
        return read_stored_format(handle, codec) == target_format
    except (RowDamaged, StoreUnreadable):  # mending says what is wrong with it
        return False
    finally:
        handle.close()


def _copy_migrated(
    store_files: StoreFiles,
    codec: Codec,
    current_format: StoreFormat,
    target_format: StoreFormat,
    steps: Mapping[int, MigrationStep],
) -> None:
    shutil.rmtree(store_files.repair_db, ignore_errors=True)
    source = Database(store_files.db)
    try:
        target = Database(store_files.repair_db, create=True)
        try:
            filler = BulkWriter(target)

            def fill(rows: Iterable[Row]) -> None:
                for schema in range(current_format.schema, target_format.schema):
                    rows = steps[schema](codec, rows)
                for key, row in rows:
                    filler.put(key, row)

            source.read(lambda view: fill(view.scan(keys.ALL_ROWS)))
            for key, row in identity_rows(target_format).items():
                filler.put(key, row)
            filler.flush()
            _check_copy(target, codec, store_files)
        finally:
            target.close()
    finally:
        source.close()


def _check_copy(database: Database, codec: Codec, store_files: StoreFiles) -> None:
    """Raises StoreUnreadable when what was copied does not fit together."""
    checker = IntegrityChecker(codec, ContentStore(database, codec, Quarantine(store_files.quarantine)))
    while database.read(checker.check_next_slice):
        pass
    if checker.result.problems:
        raise store_unreadable(f"What was copied does not fit together: {checker.result.problems[0]}")
