"""Export and import of an open store, as its owner does them for itself and for clients."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.store.archive_report import ExportResult, ImportResult
from helix_desktop.store.archive.importer import IsWritable, merge_archive
from helix_desktop.store.archive.scope import SessionScope, WorkspaceScope
from helix_desktop.store.archive.writer import write_archive
from helix_desktop.store.leveldb_store import LevelDbStore


async def export_store(
    store: LevelDbStore, path: str, name: str, at_ms: int, on_progress: OnProgress = no_progress
) -> ExportResult:
    """Write a store, as it is at this moment, to a file: under its name only after it was verified.

    The store may be read and written meanwhile. `at_ms` is in ms since 1970. Raise ArchiveWriteFailed,
    StoreUnreadable, StoreClosed; then no file is left, and an older one of that name stays.
    """
    return await store.bulk_access.read_snapshot(
        lambda snapshot: write_archive(
            snapshot, WorkspaceScope(snapshot.view), Path(path), name, at_ms, on_progress
        )
    )


async def export_session(
    store: LevelDbStore,
    path: str,
    name: str,
    at_ms: int,
    session_id: str,
    on_progress: OnProgress = no_progress,
) -> ExportResult:
    """Write one session with its subagents and contents to a file, as `export_store` writes a store."""
    return await store.bulk_access.read_snapshot(
        lambda snapshot: write_archive(
            snapshot, SessionScope(snapshot, session_id), Path(path), name, at_ms, on_progress
        )
    )


async def import_store(
    store: LevelDbStore,
    path: str,
    is_writable: IsWritable = lambda _: True,
    on_progress: OnProgress = no_progress,
) -> ImportResult:
    """Merge a file into a store; `is_writable` is asked for each log. Raise as `merge_archive` does."""
    return await merge_archive(store, Path(path), is_writable, on_progress)
