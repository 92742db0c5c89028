"""Reverts of every kind of change: all former states back, and back again, with nothing left over."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helix_desktop.system import folders
from tests.support.revert_rig import RevertRig, change_everything

BEFORE: dict[str, str | bytes] = {
    "a.txt": "one\ntwo\nthree\n",
    "bin": bytes(range(256)),
    "empty": "",
    "src/app.py": "print(1)\n",
    "src/deep/er/x.txt": "x",
    "src/deep/y.txt": "y",
    "run.sh": "#!/bin/sh\n",
}


def _edit(root: Path) -> None:
    (root / "a.txt").write_text("one\n2\nthree\n")
    (root / "bin").write_bytes(b"\0\1")
    (root / "empty").write_text("no more")


def _create(root: Path) -> None:
    (root / "new/folder").mkdir(parents=True)
    (root / "new/folder/file").write_text("new")
    (root / "new/empty").mkdir()
    (root / "src/z").write_text("z")


def _delete(root: Path) -> None:
    shutil.rmtree(root / "src")
    (root / "a.txt").unlink()
    (root / "hollow").rmdir()


def _rename(root: Path) -> None:
    (root / "src").rename(root / "lib")
    (root / "a.txt").rename(root / "b.txt")
    (root / "bin").replace(root / "empty")


def _modes(root: Path) -> None:
    (root / "run.sh").chmod(0o755)
    (root / "a.txt").chmod(0o400)
    (root / "hollow").chmod(0o500)
    (root / "src").chmod(0o700)


def _links(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("src/app.py")
    (root / "dangling").symlink_to("nowhere")
    (root / "run.sh").unlink()
    (root / "run.sh").symlink_to("/bin/sh")


def _folder_becomes_link(root: Path) -> None:
    (root / "src").rename(root / "moved")
    (root / "src").symlink_to("moved")


def _kinds(root: Path) -> None:
    (root / "a.txt").unlink()
    (root / "a.txt").mkdir()
    (root / "a.txt/inside").write_text("in what was a file")
    shutil.rmtree(root / "src/deep")
    (root / "src/deep").write_text("a file now")


def _case(root: Path) -> None:
    (root / "a.txt").rename(root / "A.txt")
    (root / "src").rename(root / "SRC")


def _read_only_folder(root: Path) -> None:
    (root / "sealed").mkdir()
    (root / "sealed/file").write_text("sealed")
    (root / "sealed").chmod(0o500)


def _many(root: Path) -> None:
    for number in range(20):
        (root / f"many{number}").write_text(str(number))
        (root / f"src/{number}").mkdir(0o700)


CHANGES = [
    _edit, _create, _delete, _rename, _modes, _links, _folder_becomes_link, _kinds, _case, _read_only_folder,
    _many,
]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions are other ones there")
@pytest.mark.parametrize("change", CHANGES)
def test_a_revert_brings_everything_back_and_can_be_reverted(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    rig = RevertRig(tmp_path)
    rig.write(BEFORE)
    (rig.root / "hollow").mkdir()
    (rig.root / "link").symlink_to("a.txt")
    (rig.root / "run.sh").chmod(0o644)
    before = rig.states()
    with rig.call() as changes:
        change(rig.root)
    after = rig.states()

    captured = rig.revert(changes)
    assert rig.states() == before
    assert captured is not None
    assert captured.capture.source == "revert"
    assert captured.capture.reverts == ("capture",)
    assert rig.database.captures.unrecorded("session") == [captured.capture]

    rig.revert(captured.list.changes)
    assert rig.states() == after
    assert rig.database.journal.all() == []
    assert rig.leftovers() == []


@pytest.mark.skipif(sys.platform == "win32", reason="that is the only way there")
def test_a_system_that_knows_paths_only_and_exchanges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "BY_DESCRIPTOR", False)
    rig = RevertRig(tmp_path)
    changes, before, after = change_everything(rig)
    captured = rig.revert(changes)
    assert rig.states() == before
    assert captured is not None
    rig.revert(captured.list.changes)
    assert rig.states() == after
