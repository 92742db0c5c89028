"""What a real history takes on disk beside what changed; its quota, and secrets in former versions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
import zstandard

from helix_desktop.domain.file_history.changes import CapturedChanges, FileHistoryCheck
from helix_desktop.domain.redaction import Redaction, RedactionRequest
from helix_desktop.file_history.maintenance import FileHistoryMaintenance
from helix_desktop.system.clock import wall_clock_ms
from tests.support.file_changes.rig import HistoryRig, database_file, open_rig
from tests.support.file_changes.tree import File, differing

_ROUNDS = 8
_PAGE = 4096  # bytes of SQLite


def storage_of(folder: Path) -> FileHistoryMaintenance:
    """Return what the history of a rig takes on disk."""
    return FileHistoryMaintenance(database_file(folder), wall_clock_ms)


async def change_sources(rig: HistoryRig) -> tuple[list[CapturedChanges], set[bytes], int]:
    contents = {entry.data for entry in rig.walk().values() if isinstance(entry, File)}
    captures = []
    changed = 0
    for number in range(1, _ROUNDS + 1):
        before = rig.walk()
        captured = await rig.run_command(f"for f in */[a-p]*.py; do echo '# round {number}' >> $f; done")
        assert captured is not None
        captures.append(captured)
        after = rig.walk()
        new = [entry.data for path in differing(before, after) if isinstance(entry := after[path], File)]
        contents.update(new)
        changed += sum(map(len, new))
    return captures, contents, changed


def copy_sources(folder: Path) -> None:
    """Copy some thirty sources of Python, whether they were compiled or not: ours grow."""
    sources = Path(xml.__file__).parent
    shutil.copytree(sources, folder, ignore=shutil.ignore_patterns("__pycache__"))


async def test_stored_are_the_distinct_contents_compressed(tmp_path: Path) -> None:
    """And little else: lists of changes, rows of paths, pages that are not full."""
    copy_sources(tmp_path / "work")
    async with open_rig(tmp_path) as rig:
        captures, contents, changed = await change_sources(rig)
        lists = {captured.list.encode() for captured in captures}
        contents |= lists
        paths = len(rig.walk())
    compressor = zstandard.ZstdCompressor(3)
    compressed = sum(min(len(compressor.compress(data)), len(data)) for data in contents)
    totals = await storage_of(tmp_path).totals()
    assert totals.contents == len(contents) - len(lists)
    assert totals.size == sum(map(len, contents))
    assert totals.stored_size <= compressed
    assert totals.stored_size - totals.tree_size < changed
    assert totals.disk_size <= 1.25 * compressed + paths * 300 + len(contents) * 200 + 40 * _PAGE
    assert (await storage_of(tmp_path).check()).is_sound


async def test_the_quota_costs_old_versions_never_the_present_ones(tmp_path: Path) -> None:
    """What was removed is named where it is to come back; the newest change comes back whole."""
    copy_sources(tmp_path / "work")
    async with open_rig(tmp_path) as rig:
        captures, _, _ = await change_sources(rig)
        storage = storage_of(tmp_path)
        totals = await storage.totals()
        quota = totals.tree_size + (totals.stored_size - totals.tree_size) // 3
        removed = await storage.clean_up((), quota)
        assert removed.over_quota > 0
        assert (await storage.totals()).stored_size <= quota
        oldest = await rig.plan(captures[:1])
        assert {file.problem for file in oldest.files if file.status == "blocked"} == {"content_removed"}
        present = rig.walk()
        newest = await rig.run_command("rm -r * && echo new > new.txt")
        assert newest is not None
        await rig.revert(await rig.plan([newest]))
        assert rig.walk() == present


_TAKE = """if True:
    import fcntl, sys
    SHARED_FIRST, SHARED_SIZE = 0x40000002, 510  # the bytes that each SQLite with the file open has locked
    with open(sys.argv[1], "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_SIZE, SHARED_FIRST)
        except OSError:
            print("in use")
        else:
            print("free")
"""


def who_has(database: Path) -> str:
    """Return what another process finds that tries to take a database for its own."""
    command = (sys.executable, "-c", _TAKE, str(database))
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize(
    "operation", ["totals", "captures", "plan", "clean_up", "preview", "redact", "notice", "check", "repair"]
)
@pytest.mark.skipif(sys.platform == "win32", reason="there a lock belongs to the handle")
async def test_an_open_history_stays_locked_whatever_opens_it_beside(tmp_path: Path, operation: str) -> None:
    (tmp_path / "work").mkdir()
    async with open_rig(tmp_path):
        storage = storage_of(tmp_path)
        secret = Redaction(RedactionRequest("a secret of many letters"), 1)
        operations: dict[str, Callable[[], Awaitable[object]]] = {
            "totals": storage.totals,
            "captures": storage.captures,
            "plan": partial(storage.plan, (), 0),
            "clean_up": partial(storage.clean_up, (), 0),
            "preview": partial(storage.preview, secret),
            "redact": partial(storage.redact, secret),
            "notice": storage.notice,
            "check": storage.check,
            "repair": partial(storage.repair, FileHistoryCheck()),
        }
        await operations[operation]()
        assert who_has(database_file(tmp_path)) == "in use"
    assert who_has(database_file(tmp_path)) == "free"
