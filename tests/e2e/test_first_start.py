"""The first start leaves nothing outside its data directory; the program may lie where nothing is written."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.support.read_only_program import ReadOnlyProgram
from tests.support.window.window_rig import until

_LONGEST_S = 60.0
_MOMENT_S = 2.0


def owners(home: Path) -> list[int]:
    """Return the processes that have a workspace open; a lock is empty for a moment."""
    locks = home.glob("data/workspaces/*/store/owner.lock")
    return [int(pid) for lock in locks for pid in lock.read_text().split()]


@pytest.mark.slow
@pytest.mark.timeout(1_200)
async def test_a_first_start_from_a_read_only_place_creates_only_its_data_directory(tmp_path: Path) -> None:
    program = ReadOnlyProgram.copy_into(tmp_path)
    home = program.home
    window = await asyncio.create_subprocess_exec(
        *program.command("--demo"),
        cwd=tmp_path,
        env={**program.environ, "QT_QPA_PLATFORM": "offscreen", "HELIX_DATA_DIR": str(home / "data")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await until(lambda: owners(home), "the window opens the sample")
    await asyncio.sleep(_MOMENT_S)  # the screens are filled, and whatever else a start may write is written
    os.kill(
        owners(home)[0], signal.SIGTERM
    )  # the program itself: bubblewrap would only pass on that it was killed
    async with asyncio.timeout(_LONGEST_S):
        output = await window.communicate()
    assert (window.returncode, output) == (0, (b"", b""))
    assert program.home_entries() == {"data"}
    program.assert_untouched()
    assert sorted(os.listdir(tmp_path)) == ["home", "program", "scratch"]
