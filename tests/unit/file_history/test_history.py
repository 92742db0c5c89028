"""A workspace's file history: what calls changed is captured, comes back, and waits for nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from filelock import FileLock

from helix_desktop.domain.file_history.changes import CallMark, FileCoverageSettings
from helix_desktop.file_history.history import WorkspaceFileHistory
from helix_desktop.system.clock import wall_clock_ms
from tests.support.file_history_rig import kinds, open_history, start_and_copy


async def test_the_event_loop_is_free_while_the_history_waits(tmp_path: Path) -> None:
    async with open_history(tmp_path) as history, asyncio.TaskGroup() as group:
        (tmp_path / "w/new").write_text("x")
        other = sqlite3.connect(tmp_path / "data/h.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        looking = group.create_task(history.scan("s"))
        await asyncio.sleep(0.05)
        assert not looking.done()
        other.execute("ROLLBACK")  # had the loop been blocked, nobody would have come here
        other.close()
        assert kinds(await looking) == {"new": "created"}


class _SavedHistory:
    """A history of files with saved settings; it can be opened again, as after a restart."""

    def __init__(self, folder: Path, files: int) -> None:
        self.root = folder / "w"
        self._file = folder / "data" / "h.db"
        self.root.mkdir()
        for number in range(files):
            (self.root / f"{number:03}").write_text(f"{number}")
        self._settings = FileCoverageSettings()

    def open(self) -> WorkspaceFileHistory:
        return WorkspaceFileHistory(
            self.root, self._file, lambda: self._settings, wall_clock_ms, save_settings=self._save
        )

    def _save(self, settings: FileCoverageSettings) -> None:
        self._settings = settings


async def test_a_paused_copy_waits_for_the_user_also_after_a_restart(tmp_path: Path) -> None:
    life = _SavedHistory(tmp_path, 300)
    history = life.open()
    await history.start()
    await history.pause(True)
    left = history.coverage.pending
    assert 0 < left == history.coverage.uncovered
    await history.close()
    history = life.open()
    await history.start()
    for _ in range(3):
        await history.scan("s")
    assert (history.coverage.pending, history.coverage.is_paused) == (left, True)
    await history.pause(False)
    await start_and_copy(history)
    assert (history.coverage.files, history.coverage.pending) == (300, 0)
    await history.close()


async def test_what_a_call_needs_is_copied_though_the_copy_is_paused(tmp_path: Path) -> None:
    life = _SavedHistory(tmp_path, 3)
    history = life.open()
    await history.pause(True)
    await history.start()
    assert [place.path for place in history.coverage.places] == ["000", "001", "002"]
    await history.begin_call(CallMark("s", "c", "sh"))
    assert history.coverage.is_complete
    (life.root / "001").write_text("changed")
    captured = await history.end_call("s", "c")
    assert captured is not None
    (change,) = captured.list.changes
    assert change.before is not None
    assert await history.content(change.before.digest) == b"1"
    await history.close()


async def test_a_copy_is_complete_once_the_files_were_looked_at_and_leaves_its_lock(tmp_path: Path) -> None:
    """A session that is opened meanwhile asks what was captured and not recorded."""
    life = _SavedHistory(tmp_path, 3)
    history = life.open()
    await history.unrecorded("s")
    assert not history.coverage.is_complete
    await start_and_copy(history)
    with FileLock(tmp_path / "data/file-history-copy.lock", timeout=0):  # who sees that, may take it at once
        assert history.coverage.is_complete
    await history.close()


async def test_a_resumed_copy_waits_for_no_process_that_ended_meanwhile(tmp_path: Path) -> None:
    life = _SavedHistory(tmp_path, 3)
    other = FileLock(tmp_path / "data/file-history-copy.lock")
    history = life.open()
    await history.pause(True)
    with other:
        await history.pause(False)
        await history.start()
        await history.scan("s")
        assert history.coverage.pending == 3
    await history.pause(True)
    other.acquire(timeout=0)
    other.release()
    await history.pause(False)
    await start_and_copy(history)
    await history.close()


async def test_a_place_that_the_user_includes_is_copied(tmp_path: Path) -> None:
    life = _SavedHistory(tmp_path, 3)
    (life.root / ".gitignore").write_text("001\n")
    history = life.open()
    await start_and_copy(history)
    with FileLock(tmp_path / "data/file-history-copy.lock", timeout=0):  # another process copies
        await history.include("001", True)
        assert (history.coverage.pending, history.coverage.is_complete) == (1, False)
        await history.pause(True)
    await history.pause(False)
    await start_and_copy(history)
    assert (history.coverage.files, history.coverage.uncovered) == (4, 0)
    await history.close()


async def test_the_copy_ends_though_a_file_that_it_was_to_copy_is_gone(tmp_path: Path) -> None:
    life = _SavedHistory(tmp_path, 1)
    history = life.open()
    await history.pause(True)
    await history.start()
    (life.root / "000").unlink()
    await history.pause(False)
    await start_and_copy(history)
    assert history.coverage.is_complete
    await history.close()
