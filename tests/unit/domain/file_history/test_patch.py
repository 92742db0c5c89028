"""Patches: git takes them, forwards and back."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.file_history.diff import PatchFile, diff_states, patch_text

Place = tuple[bytes, int] | str | None
"""A file's content and mode, or where a link leads, or nothing."""

_CONTENTS = st.builds(
    lambda lines, end: b"\n".join(lines) + end,
    st.lists(st.sampled_from([b"a", b"b", b"", b"x\r", b"\xff", "ä".encode(), b"--- a", b"@@"]), max_size=12),
    st.sampled_from([b"", b"\n"]),
)
_FILES = st.tuples(_CONTENTS, st.sampled_from([0o644, 0o755]))
_PLACES: st.SearchStrategy[Place] = st.none() | _FILES | _FILES | st.sampled_from(["target", "../odd name"])
_NAMES = (
    "plain.txt",
    "two words",
    'quo"te',
    "back\\slash",
    "tab\there",
    "line\nfeed",
    "ümlaut",
    "in/a/folder",
)


def _state(place: Place) -> tuple[FileState | None, bytes | None]:
    if place is None:
        return None, None
    if isinstance(place, str):
        return FileState("link", target=place), None
    return FileState(digest=digest_of(place[0]), size=len(place[0]), mode=place[1]), place[0]


def _changed(path: str, before: Place, after: Place, moved_from: str = "") -> PatchFile:
    old, new = _state(before), _state(after)
    return PatchFile(FileChange(path, old[0], new[0], moved_from), diff_states(*old, *new))


def _put(folder: Path, places: dict[str, Place]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, place in places.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(place, str):
            path.symlink_to(place)
        elif place is not None:
            path.write_bytes(place[0])
            path.chmod(place[1])


def _look(folder: Path, names: tuple[str, ...]) -> dict[str, Place]:
    places: dict[str, Place] = {}
    for name in names:
        path = folder / name
        if path.is_symlink():
            places[name] = str(path.readlink())
        elif path.exists():
            places[name] = path.read_bytes(), 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
        else:
            places[name] = None
    return places


def _apply(folder: Path, patch: str, *options: str) -> None:
    env = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options],
        cwd=folder,
        env=env,
        input=patch.encode(errors="surrogateescape"),
        check=True,
        capture_output=True,
        timeout=60,
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge here")
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(_PLACES, _PLACES), min_size=len(_NAMES), max_size=len(_NAMES)))
def test_git_applies_a_patch_forwards_and_back(tmp_path: Path, pairs: list[tuple[Place, Place]]) -> None:
    before = {name: pair[0] for name, pair in zip(_NAMES, pairs, strict=True)}
    after = {name: pair[1] for name, pair in zip(_NAMES, pairs, strict=True)}
    patch = patch_text(
        [_changed(name, before[name], after[name]) for name in _NAMES if before[name] != after[name]]
    )
    _put(tmp_path / "tree", before)
    if not patch:
        assert before == after
        return
    _apply(tmp_path / "tree", patch)
    assert _look(tmp_path / "tree", _NAMES) == after
    _apply(tmp_path / "tree", patch, "-R")
    assert _look(tmp_path / "tree", _NAMES) == before


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge here")
def test_a_move_is_a_rename_once_and_a_copy_after_that(tmp_path: Path) -> None:
    file: Place = (b"a\nb\n", 0o644)
    changes = [
        _changed("old name", file, None),
        _changed("new\tname", None, (b"a\nb\n", 0o755), "old name"),
        _changed("second", None, file, "old name"),
        _changed("alone", None, file, "not in this patch"),
    ]
    patch = patch_text(changes)
    assert patch.count("rename from old name\n") == 1
    assert "deleted" not in patch
    names = tuple(change.change.path for change in changes)
    _put(tmp_path / "tree", {"old name": file})
    _apply(tmp_path / "tree", patch)
    assert _look(tmp_path / "tree", names) == {
        "old name": None,
        "new\tname": (b"a\nb\n", 0o755),
        "second": file,
        "alone": file,
    }


def test_what_is_no_text_is_only_named() -> None:
    old, new = (b"\0a", 0o644), (b"\0b", 0o644)
    assert patch_text([_changed("x", old, new)]) == ("diff --git a/x b/x\nBinary files a/x and b/x differ\n")
    folder = FileChange("dir", None, FileState("folder", mode=0o755))
    assert not patch_text([PatchFile(folder, diff_states(None, None, folder.after, None))])
