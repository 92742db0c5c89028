"""Secure deletion: what was removed from the rows is removed from the files too.

LevelDB keeps old versions of rows until it happens to compact them, and a manual compaction skips the deepest
level. So every live row is copied into new files, and the old ones are deleted: what is not live is not
copied, nor are chunks of a write that was never completed.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.translatable_text import ByteSize, TextContext
from helix_desktop.store.core import keys
from helix_desktop.store.core.commit import PendingDeletion, WriteBatch
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.files.quarantine import Quarantine
from helix_desktop.store.files.store_files import StoreFiles, delete_database
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.rows import ROWS

text = TextContext("Store")

_SLICE_BYTES = 4 * 1024 * 1024  # bytes per synced write
_RESERVED_BYTES = 16 * 1024 * 1024  # free space that must remain, in bytes

_log = logging.getLogger(__name__)


def rewrite_all_files(database: Database, store_files: StoreFiles) -> None:
    """Rewrite all files of the LevelDB; on the writer's thread, readers continue meanwhile.

    An interruption leaves either the old files or the new ones complete; the note of the pending deletion
    stays until it is done. Raise StoreWriteFailed if there is no space, RowDamaged for a damaged row.
    """
    _check_free_space(store_files)
    shutil.rmtree(store_files.new_db, ignore_errors=True)
    new = Database(store_files.new_db, create=True)
    try:
        database.read(lambda view: _copy_rows(view, new))
    finally:
        new.close()
    database.replace_files(lambda: _swap_in_new_db(store_files))
    _delete_replaced_db(store_files)


def delete_copies(store_files: StoreFiles, damaged: Iterable[str], copies: Iterable[str]) -> None:
    """Delete damaged rows and copies of the store that contain redacted data. Raise OSError."""
    for name in damaged:
        Quarantine(store_files.quarantine).delete(name)
    for name in copies:
        shutil.rmtree(store_files.folder / name, ignore_errors=True)
    if (
        store_files.repair_notes.read_unreported() is None
    ):  # a report without its copy is not valid: its text is deleted
        store_files.repair_notes.mark_reported()


def finish_pending_deletion(database: Database, store_files: StoreFiles) -> None:
    """Complete at the opening of a store what a crash or a full disk prevented."""
    if store_files.old_db.exists():
        _delete_replaced_db(store_files)
    row = database.get(keys.PENDING_DELETION)
    if row is None:
        return
    try:
        pending = _read_pending_deletion(row)
        delete_copies(store_files, pending.damaged, pending.aside)
        delete_database(store_files.search_index)
        rewrite_all_files(database, store_files)
        batch = WriteBatch(database.get)
        batch.delete(keys.PENDING_DELETION)
        database.write(batch)
    except (StoreWriteFailed, RowDamaged, OSError) as error:
        _log.warning("Files that may hold what was forgotten could not be rewritten: %s", error)


def _read_pending_deletion(row: bytes) -> PendingDeletion:
    try:
        return ROWS.pending_deletion.decode(keys.PENDING_DELETION, row)
    except RowDamaged:  # or of a version that noted only the time: the files are rewritten in any case
        return PendingDeletion(0)


def _delete_replaced_db(store_files: StoreFiles) -> None:
    """Delete the database files that were replaced."""
    shutil.rmtree(store_files.old_db, ignore_errors=True)
    if store_files.old_db.exists():
        _log.warning("%s could not be deleted; it is tried again at the next start.", store_files.old_db.name)


def find_copies(store_files: StoreFiles) -> list[Path]:
    """Return copies of the LevelDB that were kept in the store's folder, and data salvaged from it."""
    own = {store_files.db, store_files.new_db, store_files.old_db, store_files.quarantine}
    folders = (path for path in store_files.folder.iterdir() if path.is_dir() and path not in own)
    return sorted(path for path in folders if any(_is_leveldb_file(file) for file in path.rglob("*")))


def _is_leveldb_file(path: Path) -> bool:
    return path.suffix in (".ldb", ".sst") or (path.suffix == ".log" and path.stem.isdigit())


def _copy_rows(view: ReadView, target: Database) -> None:
    batch, size = WriteBatch(target.get), 0
    for key, row in view.scan(keys.ALL_ROWS):
        if key[:1] == keys.CHUNKS[0] and not _has_content(view, key):
            continue
        batch.put(key, row)
        size += len(key) + len(row)
        if size >= _SLICE_BYTES:
            target.write(batch)
            batch, size = WriteBatch(target.get), 0
    target.write(batch)


def _has_content(view: ReadView, chunk_key: bytes) -> bool:
    """Return True if there are rows of the content that a chunk belongs to."""
    name = chunk_key[1 : 1 + keys.DIGEST_BYTES]
    return any(view.get(kind + name) is not None for kind in (keys.CONTENTS[0], keys.RECORDS[0]))


def _swap_in_new_db(store_files: StoreFiles) -> None:
    shutil.rmtree(store_files.old_db, ignore_errors=True)
    store_files.db.rename(store_files.old_db)
    store_files.adopt_new_db()


def _check_free_space(store_files: StoreFiles) -> None:
    needed = sum(path.stat().st_size for path in store_files.db.iterdir()) + _RESERVED_BYTES
    free = shutil.disk_usage(store_files.folder).free
    if free < needed:
        raise StoreWriteFailed(
            text("Removed text may still be in the workspace files."),
            text(
                "Rewriting them needs {needed} of disk space; {free} are free.",
                needed=ByteSize(needed),
                free=ByteSize(free),
            ),
            text("Free up disk space. They are rewritten when this workspace opens next."),
        )
