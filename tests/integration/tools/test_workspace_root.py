"""What tools do when the workspace's folder is gone, or another drive's is in its place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from tests.support.tool_rig import make_call, make_tools
from tests.support.workspace_away import away

CALLS = (
    make_call("read_file", path="a.py"),
    make_call("list_directory", path="."),
    make_call("write_file", path="new.py", content="x = 1\n"),
    make_call("run_command", command="ls"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text("one\n")
    return root


async def test_each_tool_says_that_the_folder_is_missing(root: Path) -> None:
    """They told the model to list the folder above, which no path reaches."""
    box = make_tools(root)
    moved = shutil.move(root, root.with_name("moved"))
    for call in CALLS:
        with pytest.raises(ToolError, match="workspace's folder is missing"):
            await box.run(call)
    assert "work" not in os.listdir(root.parent)
    shutil.move(moved, root)
    assert b"one" in (await box.run(CALLS[0])).content


async def test_a_folder_made_anew_is_the_workspace(root: Path) -> None:
    """As by a clone into the same place."""
    box = make_tools(root)
    shutil.rmtree(root)
    os.mkdir(root)
    await box.run(CALLS[2])
    assert os.listdir(root) == ["new.py"]


async def test_nothing_is_written_to_another_drive_in_its_place(root: Path) -> None:
    """As into an empty mount point: the file was hidden once the drive was back."""
    box = make_tools(root)
    with away(root, "behind another drive") as other:
        for call in CALLS:
            with pytest.raises(ToolError, match=r"on another drive|a link to another place"):
                await box.run(call)
        assert os.listdir(other) == []
