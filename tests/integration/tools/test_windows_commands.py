"""Commands on Windows: cmd.exe in UTF-8, and nothing that a command starts outlives it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from helix_desktop.domain.tools import STOPPED
from helix_desktop.tools.process import ProcessResult, ProcessSpec, run_process
from helix_desktop.tools.tool import clean_environment

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="of Windows")

WRITES = """\
import pathlib, sys, time
for number in range(600):
    pathlib.Path(sys.argv[1]).write_text(str(number))
    time.sleep(0.1)
"""


def launch(command: str, folder: Path) -> ProcessSpec:
    return ProcessSpec(command, str(folder), clean_environment(os.environ), is_guarded=True)


async def ran(command: str, folder: Path, seconds: float = 60) -> ProcessResult:
    return await run_process(launch(command, folder), seconds)


async def test_output_is_utf8_whatever_the_consoles_code_page(tmp_path: Path) -> None:
    done = await ran("echo Grüße 名前", tmp_path)
    assert done.output.decode().strip() == "Grüße 名前"
    assert done.exit_code == 0


async def test_exit_codes_and_the_folder_arrive(tmp_path: Path) -> None:
    done = await ran("cd && exit 7", tmp_path)
    assert done.output.decode().strip() == str(tmp_path)
    assert done.exit_code == 7


async def test_background_processes_are_named_and_killed(tmp_path: Path) -> None:
    (tmp_path / "writes.py").write_text(WRITES)
    started = time.monotonic()
    done = await ran(f'start /b "" "{sys.executable}" writes.py beat >nul', tmp_path)
    assert time.monotonic() - started < 30
    assert any("python" in name.lower() for name in done.orphan_names)
    assert not await is_writing(tmp_path / "beat")


async def test_stopping_kills_the_process_tree_and_keeps_its_output(tmp_path: Path) -> None:
    (tmp_path / "writes.py").write_text(WRITES)
    command = f'echo begun & cmd /c ""{sys.executable}" writes.py beat"'
    task = asyncio.ensure_future(ran(command, tmp_path))  # noqa: TID251 - the test stops it itself
    await asyncio.to_thread(wait_for, tmp_path / "beat")
    task.cancel(STOPPED)
    done = await task
    assert done.ending == "stopped"
    assert b"begun" in done.output
    assert not await is_writing(tmp_path / "beat")


async def test_a_time_limit_kills_the_process_tree(tmp_path: Path) -> None:
    (tmp_path / "writes.py").write_text(WRITES)
    done = await ran(f'cmd /c ""{sys.executable}" writes.py beat"', tmp_path, seconds=3)
    assert done.ending == "late"
    assert not await is_writing(tmp_path / "beat")


async def is_writing(path: Path) -> bool:
    """Whether the program that writes into a file still runs."""
    before = await asyncio.to_thread(decode_output, path)
    await asyncio.sleep(1)
    return await asyncio.to_thread(decode_output, path) != before


def decode_output(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.05)
