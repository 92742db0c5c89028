"""What is at a path of a workspace comes back as it was, and a link on the way is never followed."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from helix_desktop.tools.shell.saved_changes import Content, held_parent, read_content, write_content

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands have no such guard there")

NOT_FOLLOWED = r"Not a directory|symbolic links"  # of Linux, of macOS


@pytest.mark.parametrize(
    "content",
    [
        Content("file", b"#!/bin/sh\n", 0o755),
        Content("file", b"key", 0o400),
        Content("file", b"", 0o666),  # wider than what the umask leaves
        Content("link", b"../elsewhere"),
        Content("special", mode=stat.S_IFIFO),
        Content(),
    ],
    ids=["script", "key", "wide", "link", "pipe", "nothing"],
)
@pytest.mark.parametrize("was_there", [False, True])
def test_a_content_is_written_with_its_kind_and_permissions(
    tmp_path: Path, content: Content, was_there: bool
) -> None:
    if was_there:
        (tmp_path / "hook").write_text("planted")
    with held_parent(tmp_path, "hook") as (parent, name):
        write_content(parent, name, content)
    assert read_content(str(tmp_path / "hook")) == content
    assert [path.name for path in tmp_path.iterdir()] == (["hook"] if content.form else [])


@pytest.mark.parametrize("path", ["link/hook", "inside/link/hook"])
@pytest.mark.parametrize("create", [False, True])
def test_no_folder_is_reached_or_made_through_a_link(tmp_path: Path, path: str, create: bool) -> None:
    root = tmp_path / "work"
    outside = tmp_path / "outside"
    (root / "inside").mkdir(parents=True)
    outside.mkdir()
    os.symlink(outside, root / path.removesuffix("/hook"))
    with (
        pytest.raises(OSError, match=NOT_FOLLOWED),
        held_parent(root, path, create=create),
    ):
        pytest.fail("a link was followed")
    assert list(outside.iterdir()) == []


def test_a_link_in_the_place_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "outside", tmp_path / "work")
    with (
        pytest.raises(OSError, match=NOT_FOLLOWED),
        held_parent(tmp_path / "work", "hook"),
    ):
        pytest.fail("a link was followed")
