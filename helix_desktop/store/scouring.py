"""Makes sure that what was removed is gone from the files too.

LevelDB keeps old versions of rows until it happens to compact them, and its compaction by hand leaves alone
what lies deepest. So every live row is copied into new files, and the old ones are deleted: what is not live
is not copied, nor are chunks that a write left which never came to its end.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import StoreWriteFailed
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec, RowDamaged, Shape
from helix_desktop.store.handle import Handle, View
from helix_desktop.store.layout import Layout
from helix_desktop.store.quarantine import Quarantine
from helix_desktop.store.search_db import remove

_SLICE = 4 * 1024 * 1024  # bytes per synced write
_SPARE = 16 * 1024 * 1024  # room that must be left, in bytes

_log = logging.getLogger(__name__)


class Due(msgspec.Struct, array_like=True, frozen=True):
    """What a written forgetting still has to remove: damaged rows and copies of the store, by name."""

    at: int
    damaged: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


_DUE = Shape(Due)


def scour(handle: Handle, layout: Layout) -> None:
    """Rewrite all files of the LevelDB; on the writer's thread, readers go on meanwhile.

    Cut off at any moment it leaves the old files whole, or the new ones; the note that it is due stays until
    it is done. Raises StoreWriteFailed when there is no room, RowDamaged for a damaged row.
    """
    _check_room(layout)
    shutil.rmtree(layout.new_db, ignore_errors=True)
    new = Handle(layout.new_db, create=True)
    try:
        handle.read(lambda view: _copy(view, new))
    finally:
        new.close()
    handle.exchange(lambda: _swap(layout))
    remove_former(layout)


def clear_aside(layout: Layout, damaged: Iterable[str], aside: Iterable[str]) -> None:
    """Delete damaged rows and copies of the store that hold what is forgotten. Raises OSError."""
    for name in damaged:
        Quarantine(layout.quarantine).delete(name)
    for name in aside:
        shutil.rmtree(layout.folder / name, ignore_errors=True)
    if layout.notes.read_untold() is None:  # a report without its copy counts for nothing: its words go
        layout.notes.told()


def finish_scouring(handle: Handle, layout: Layout, codec: Codec) -> None:
    """Do what a crash or a full disk kept from being done, at the opening of a store."""
    if layout.old_db.exists():
        remove_former(layout)
    row = handle.get(keys.SCOUR)
    if row is None:
        return
    try:
        due = _due(codec, row)
        clear_aside(layout, due.damaged, due.aside)
        remove(layout.search)
        scour(handle, layout)
        batch = Batch(handle.get)
        batch.delete(keys.SCOUR)
        handle.write(batch)
    except (StoreWriteFailed, RowDamaged, OSError) as error:
        _log.warning("Files that may hold what was forgotten could not be rewritten: %s", error)


def _due(codec: Codec, row: bytes) -> Due:
    try:
        return codec.unseal(keys.SCOUR, row, _DUE)
    except RowDamaged:  # or of a version that noted the time alone: the files are rewritten all the same
        return Due(0)


def remove_former(layout: Layout) -> None:
    """Delete the files that were replaced."""
    shutil.rmtree(layout.old_db, ignore_errors=True)
    if layout.old_db.exists():
        _log.warning("%s could not be deleted; it is tried again at the next start.", layout.old_db.name)


def copies_aside(layout: Layout) -> list[Path]:
    """Copies of the LevelDB that were kept in the store's folder, and what was saved out of it."""
    own = {layout.db, layout.new_db, layout.old_db, layout.quarantine}
    folders = (one for one in layout.folder.iterdir() if one.is_dir() and one not in own)
    return sorted(one for one in folders if any(_is_of_leveldb(part) for part in one.rglob("*")))


def _is_of_leveldb(path: Path) -> bool:
    return path.suffix in (".ldb", ".sst") or (path.suffix == ".log" and path.stem.isdigit())


def _copy(view: View, new: Handle) -> None:
    batch, size = Batch(new.get), 0
    for key, row in view.scan(keys.EVERYTHING):
        if key[:1] == keys.CHUNKS[0] and not _named(view, key):
            continue
        batch.put(key, row)
        size += len(key) + len(row)
        if size >= _SLICE:
            new.write(batch)
            batch, size = Batch(new.get), 0
    new.write(batch)


def _named(view: View, chunk: bytes) -> bool:
    """Whether anything is known of the content that a chunk belongs to."""
    name = chunk[1 : 1 + keys.DIGEST_BYTES]
    return any(view.get(kind + name) is not None for kind in (keys.CONTENTS[0], keys.RECORDS[0]))


def _swap(layout: Layout) -> None:
    shutil.rmtree(layout.old_db, ignore_errors=True)
    layout.db.rename(layout.old_db)
    layout.adopt_new_db()


def _check_room(layout: Layout) -> None:
    needed = sum(one.stat().st_size for one in layout.db.iterdir()) + _SPARE
    free = shutil.disk_usage(layout.folder).free
    if free < needed:
        raise StoreWriteFailed(
            "What was removed may still be in the store's files.",
            f"They must be written anew, for which the disk has {size_text(free)} left; "
            f"{size_text(needed)} are needed.",
            "Free some room on the disk; it is done at the next start of this workspace.",
        )
