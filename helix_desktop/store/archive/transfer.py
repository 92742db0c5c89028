"""Export and import of an open store, as its owner does them for itself and for guests."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.context.archive import Exported, Imported, Progress, silent
from helix_desktop.store.archive.merging import Free, merge_archive
from helix_desktop.store.archive.writing import write_archive
from helix_desktop.store.leveldb import LevelStore


async def export_store(
    store: LevelStore, path: str, name: str, at: int, progress: Progress = silent
) -> Exported:
    """Write a store, as it is at this moment, to a file: verified, and only then under its name.

    It may be read and written meanwhile. `at` is in milliseconds since 1970. Raises ArchiveNotWritten,
    StoreUnreadable, StoreClosed; then no file is left, and an older one of that name stays.
    """
    return await store.backstage.survey(lambda survey: write_archive(survey, Path(path), name, at, progress))


async def import_store(
    store: LevelStore, path: str, free: Free = lambda _: True, progress: Progress = silent
) -> Imported:
    """Merge a file into a store; `free` says which logs may be written now. Raises as `merge_archive`."""
    return await merge_archive(store, Path(path), free, progress)
