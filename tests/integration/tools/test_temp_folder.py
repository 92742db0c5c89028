"""The temporary folder of a workspace: kept only while it is open."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from helix_desktop.tools.shell.scratch import ScratchDir, temporary_base
from tests.support.tool_rig import make_call, make_tools

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are for POSIX shells")


def is_private(folder: Path) -> bool:
    """Whether only its owner gets into a folder."""
    return folder.stat().st_mode & 0o077 == 0


async def test_commands_without_a_sandbox_share_it_too(tmp_path: Path) -> None:
    """It is private, and the workspace's own."""
    box = make_tools(tmp_path)
    assert (await box.run(make_call("run_command", command='echo kept > "$TMPDIR/passed"'))).ok
    result = await box.run(make_call("run_command", command='cat "$TMPDIR/passed" && echo "$TMPDIR"'))
    _, name, folder = result.content.decode().splitlines()
    assert (name, Path(folder).parent) == ("kept", temporary_base())
    assert is_private(Path(folder))


def test_it_is_removed_with_its_workspace(tmp_path: Path) -> None:
    scratch = ScratchDir(tmp_path / "base")
    folder = scratch.folder()
    (folder / "file").write_text("words")
    assert scratch.folder() == folder
    del scratch
    gc.collect()
    assert list((tmp_path / "base").iterdir()) == []


def test_folders_of_killed_processes_are_removed_and_those_in_use_kept(tmp_path: Path) -> None:
    base = tmp_path / "base"
    scratch = ScratchDir(base)
    used = scratch.folder()
    for name in ("left", "older"):
        (base / name).mkdir()
        (base / name / "file").write_text("words")
    (base / "left.lock").touch()
    new = ScratchDir(base).folder()
    assert {path for path in base.iterdir() if path.is_dir()} <= {used, new}
    assert scratch.folder() == used


def test_a_folder_that_another_user_could_have_created_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir(mode=0o777)
    (tmp_path / "base").chmod(0o777)
    folder = ScratchDir(tmp_path / "base").folder()
    assert not folder.is_relative_to(tmp_path)
    assert is_private(folder.parent)
