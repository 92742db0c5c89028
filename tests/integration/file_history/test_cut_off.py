"""kill -9 at every step between a call and its event, and a full disk: nothing is lost, nothing twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.file_history.changes import CallMark
from tests.support.file_changes import kill_process
from tests.support.file_changes.rig import SESSION, open_rig
from tests.support.file_changes.tree import make_tree, wrong_changes
from tests.support.small_disk import fill_disk, mount_small_disk

STEPS = os.environ.get("HELIX_KILL_STEPS", "5:320:27")
"""The steps at which a process is killed; all of them: HELIX_KILL_STEPS=1:400:1 (a minute)."""

_TEXT = "".join(f"{number * 7919}\n" for number in range(10_000))  # bytes: below the limit of the rig


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_every_capture_stands_in_the_log_once_and_whole(tmp_path: Path) -> None:
    """Each process checks what the one killed before it left, then is killed a step later."""
    line = [sys.executable, kill_process.__file__, str(tmp_path), "1", STEPS]
    run = subprocess.run(line, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("killed in") > 5


@pytest.fixture
def data_disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own for the history's data; the workspace is on another."""
    (tmp_path / "data").mkdir()
    with mount_small_disk(tmp_path / "data", "3m"):
        yield tmp_path / "data"


async def test_a_full_disk_at_a_capture_loses_nothing(data_disk: Path, tmp_path: Path) -> None:
    """The call is not captured, which is said; once there is room, what it did is found and comes back."""
    (tmp_path / "work").mkdir()
    make_tree(tmp_path / "work", {"a.txt": "former\n", "b.txt": "former\n"})
    async with open_rig(tmp_path) as rig:
        before = rig.walk()
        await rig.history.begin_call(CallMark(SESSION, "c", "make"))
        fill_disk(data_disk / "ballast")
        make_tree(rig.root, {"a.txt": _TEXT, "new.txt": "new\n"})
        (rig.root / "b.txt").unlink()
        with pytest.raises(StoreWriteFailed, match="disk is full") as caught:
            await rig.history.end_call(SESSION, "c")
        assert "Free some disk space" in caught.value.fix
        with pytest.raises(StoreWriteFailed, match="disk is full"):
            await rig.history.begin_call(CallMark(SESSION, "d", "make"))
        (data_disk / "ballast").unlink()
        await rig.history.end_call(SESSION, "c")
        captures = await rig.record()
        assert [captured.capture.call_id for captured in captures] == ["c"]
        assert wrong_changes(captures[0].list.changes, before, rig.walk(), ()) == []
        await rig.revert(await rig.plan(captures))
        assert rig.walk() == before
