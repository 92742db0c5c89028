"""Windows: what can be tested on any system, and there that nothing which a command starts outlives it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tools import STOPPED
from helix_desktop.system.files import replace_file
from helix_desktop.tools.process import ProcessResult, ProcessSpec, normalize_path, run_process
from helix_desktop.tools.shell.run_command import cd_command, refuse_multiline
from helix_desktop.tools.tool import clean_environment, description_of, parse_description

TOOLS = resources_dir() / "prompts" / "tools"


def test_several_lines_are_refused_where_cmd_would_run_only_the_first() -> None:
    with pytest.raises(ToolError, match="several lines"):
        refuse_multiline("dir\ndel x", windows=True)
    refuse_multiline("dir && del x\n", windows=True)
    refuse_multiline("ls\nrm x", windows=False)


def test_a_folder_is_quoted_for_the_system_s_shell() -> None:
    assert cd_command("my src", windows=True) == 'cd /d "my src"'
    assert cd_command("my src", windows=False) == "cd 'my src'"


def test_files_are_named_with_slashes_relative_to_the_searched_folder() -> None:
    assert normalize_path(".\\src\\a.py", windows=True) == "src/a.py"
    assert normalize_path("./src/a.py", windows=False) == "src/a.py"
    assert normalize_path("./odd\\name.py", windows=False) == "odd\\name.py"


def test_the_model_is_told_which_shell_runs_its_commands() -> None:
    description, arguments = parse_description(description_of("run_command", TOOLS, windows=True))
    elsewhere, same = parse_description(description_of("run_command", TOOLS, windows=False))
    assert "cmd.exe" in description
    assert "cmd.exe" not in elsewhere
    assert arguments.keys() == same.keys()
    assert description_of("read_file", TOOLS, windows=True) == description_of(
        "read_file", TOOLS, windows=False
    )


class FileHolder:
    """Another program that holds a file open for a while."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.pauses: list[float] = []

    def move(self, source: Path, target: Path) -> None:
        """Fail while the file is open, then succeed."""
        if self.refusals:
            self.refusals -= 1
            raise PermissionError(13, "in use")
        source.replace(target)

    def replace(self, folder: Path, windows: bool) -> None:
        """Put a new file in the place of an old one."""
        (folder / "new").write_text("new")
        (folder / "old").write_text("old")
        replace_file(folder / "new", folder / "old", windows, self.move, self.pauses.append)


def test_a_file_held_open_is_replaced_after_it_is_released(tmp_path: Path) -> None:
    holder = FileHolder(refusals=3)
    holder.replace(tmp_path, windows=True)
    assert (tmp_path / "old").read_text() == "new"
    assert len(holder.pauses) == 3


def test_a_file_that_stays_open_is_reported_after_a_second(tmp_path: Path) -> None:
    holder = FileHolder(refusals=1_000)
    with pytest.raises(PermissionError):
        holder.replace(tmp_path, windows=True)
    assert 0.5 < sum(holder.pauses) < 2
    assert (tmp_path / "old").read_text() == "old"


def test_on_other_systems_a_refusal_is_reported_at_once(tmp_path: Path) -> None:
    holder = FileHolder(refusals=1)
    with pytest.raises(PermissionError):
        holder.replace(tmp_path, windows=False)
    assert holder.pauses == []


of_windows = pytest.mark.skipif(sys.platform != "win32", reason="of Windows")

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


@of_windows
async def test_output_is_utf8_whatever_the_consoles_code_page(tmp_path: Path) -> None:
    done = await ran("echo Grüße 名前", tmp_path)
    assert done.output.decode().strip() == "Grüße 名前"
    assert done.exit_code == 0


@of_windows
async def test_exit_codes_and_the_folder_arrive(tmp_path: Path) -> None:
    done = await ran("cd && exit 7", tmp_path)
    assert done.output.decode().strip() == str(tmp_path)
    assert done.exit_code == 7


@of_windows
async def test_background_processes_are_named_and_killed(tmp_path: Path) -> None:
    (tmp_path / "writes.py").write_text(WRITES)
    started = time.monotonic()
    done = await ran(f'start /b "" "{sys.executable}" writes.py beat >nul', tmp_path)
    assert time.monotonic() - started < 30
    assert any("python" in name.lower() for name in done.orphan_names)
    assert not await is_writing(tmp_path / "beat")


@of_windows
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


@of_windows
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
