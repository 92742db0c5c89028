"""The file history of a folder `w`, its data beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from helix_desktop.domain.file_history.changes import CapturedChanges, FileChange, FileCoverageSettings
from helix_desktop.file_history.history import OpenedHistory, WorkspaceFileHistory
from helix_desktop.system.clock import ClockMs, wall_clock_ms

DEFAULTS = FileCoverageSettings()


@asynccontextmanager
async def open_history(
    tmp_path: Path, settings: FileCoverageSettings = DEFAULTS, clock: ClockMs = wall_clock_ms
) -> AsyncIterator[WorkspaceFileHistory]:
    """Yield the history of the folder `w`, with the first copy done."""
    (tmp_path / "w").mkdir(exist_ok=True)
    history = WorkspaceFileHistory(tmp_path / "w", tmp_path / "data" / "h.db", lambda: settings, clock)
    try:
        await start_and_copy(history)
        yield history
    finally:
        await history.close()


async def start_and_copy(history: WorkspaceFileHistory) -> None:
    """Start a history, and wait until its first copy is done."""
    done = asyncio.Event()
    unsubscribe = history.listen(lambda: done.set() if history.coverage.is_complete else None)
    await history.start()
    async with asyncio.timeout(300):
        if not history.coverage.is_complete:
            await done.wait()
    unsubscribe()


def kinds(captured: CapturedChanges | None) -> dict[str, str]:
    """Return what a capture says happened, by path."""
    return {} if captured is None else {change.path: change.kind for change in captured.list.changes}


@contextmanager
def opened_history(
    folder: Path, settings: FileCoverageSettings = DEFAULTS, copies: bool = True, starts: bool = True
) -> Iterator[OpenedHistory]:
    """Yield the history of the folder `w`, started, its first copy done."""
    history = OpenedHistory(folder / "w", folder / "data/h.db", settings, wall_clock_ms, ())
    try:
        if starts:
            history.start()
        while starts and copies and history.copy_batch() is not None:
            pass
        yield history
    finally:
        history.close()


def changes_by_path(captured: CapturedChanges | None) -> dict[str, FileChange]:
    """Return a capture's changes by path, without where moved files were."""
    changes = () if captured is None else captured.list.changes
    return {change.path: FileChange(change.path, change.before, change.after) for change in changes}
