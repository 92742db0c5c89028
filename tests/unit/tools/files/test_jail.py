"""No path leaves the workspace, and no special file is opened, by either jail."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.names import normalized_name
from helix_desktop.tools.files.jail import FileStamp, Jail, parts_of, startup_files
from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.files.jail_windows import WindowsJail
from tests.support.tables import for_each

Make = Callable[..., Jail]


@pytest.fixture(params=[PosixJail, WindowsJail], ids=["descriptors", "paths"])
def make(request: pytest.FixtureRequest) -> Make:
    kind: Make = request.param
    return kind


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a secret next to it."""
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "work-evil").mkdir()
    (tmp_path / "work-evil" / "x").write_text("outside")
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.py").write_text("print(1)\n")
    return root


def read(jail: Jail, path: str) -> bytes:
    with jail.open_file(path) as opened:
        return opened.file.read()


def assert_refused(jail: Jail, *paths: str) -> None:
    """Whatever is done with any of the paths."""
    for path in paths:
        with pytest.raises(ToolError):
            read(jail, path)
        with pytest.raises(ToolError):
            jail.write(path, b"x", None)
        with pytest.raises(ToolError):
            jail.list_entries(path)
        with pytest.raises(ToolError), jail.hold_folder(path):
            pass


def stamp_of(path: Path) -> FileStamp:
    return FileStamp.of(path.stat())


def test_a_file_is_read_by_relative_and_by_absolute_path(make: Make, root: Path) -> None:
    jail = make(root)
    for path in ("src/main.py", "./src//main.py", str(root / "src" / "main.py")):
        assert read(jail, path) == b"print(1)\n"


def test_links_to_the_workspace_lead_into_it(make: Make, root: Path, tmp_path: Path) -> None:
    """The user wrote the path by which they opened it, and it was refused as one outside."""
    (tmp_path / "linked").symlink_to(root)
    (tmp_path / "twice").symlink_to("linked")
    (tmp_path / "around").symlink_to(tmp_path)
    for way in ("linked", "twice", "around/linked", "around/work"):
        for jail in (make(root), make(tmp_path / "linked")):
            assert read(jail, str(tmp_path / way / "src" / "main.py")) == b"print(1)\n"
            jail.write(str(tmp_path / way / "new.txt"), b"x", None)
            (root / "new.txt").unlink()
    (tmp_path / "inner").symlink_to(root / "src")
    (tmp_path / "evil").symlink_to(tmp_path / "work-evil")
    outside = ("linked/../secret.txt", "evil/x", "around/secret.txt", "inner/../../secret.txt", "linkedx/a")
    assert_refused(make(root), *(str(tmp_path / path) for path in outside))


def test_paths_that_leave_or_are_invalid_are_refused(make: Make, root: Path) -> None:
    assert_refused(
        make(root),
        *("../secret.txt", "src/../../secret.txt", "src/..", "/etc/passwd", "/proc/self/environ"),
        *("//etc/passwd", "src/main.py\0.txt", "\ud800.txt", "bad\udcff.txt", "x" * 5000),
    )


def test_a_sibling_with_the_same_prefix_is_outside(make: Make, root: Path) -> None:
    with pytest.raises(ToolError, match="outside the workspace"):
        read(make(root), f"{root}-evil/x")


@pytest.mark.parametrize(
    "target", ["../secret.txt", "{}/secret.txt", "/proc/self/cwd", "src/../../secret.txt"]
)
def test_a_link_that_leaves_is_refused(make: Make, root: Path, target: str) -> None:
    (root / "link").symlink_to(target.format(root.parent))
    assert_refused(make(root), "link", "link/x")
    assert (root.parent / "secret.txt").read_text() == "outside"


def test_a_folder_link_that_leaves_is_refused(make: Make, root: Path) -> None:
    (root / "out").symlink_to(root.parent)
    assert_refused(make(root), "out/secret.txt", "out/new.txt", "out")
    assert not (root.parent / "new.txt").exists()


def test_a_link_that_stays_is_followed(make: Make, root: Path) -> None:
    (root / "a").symlink_to("src/main.py")
    (root / "b").symlink_to(root / "src")
    (root / "src" / "c").symlink_to("../a")
    for path in ("a", "b/main.py", "src/c", "b/c"):
        assert read(make(root), path) == b"print(1)\n"
    rel = make(root).write("a", b"new\n", stamp_of(root / "src" / "main.py"))
    assert (rel, (root / "a").is_symlink()) == ("src/main.py", True)
    assert (root / "src" / "main.py").read_bytes() == b"new\n"


def test_links_in_a_circle_end(make: Make, root: Path) -> None:
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x")
    with pytest.raises(ToolError):
        read(make(root), "x")


def test_a_workspace_reached_through_a_link_works(make: Make, root: Path) -> None:
    other = root.parent / "alias"
    other.symlink_to(root)
    assert read(make(other), str(other / "src" / "main.py")) == b"print(1)\n"


def test_a_link_in_the_place_of_an_open_workspace_is_not_followed(make: Make, root: Path) -> None:
    jail = make(root)
    root.rename(root.with_name("moved"))
    os.symlink(root.with_name("work-evil"), root)
    assert_refused(jail, "x", "new")
    assert not (root.with_name("work-evil") / "new").exists()


def test_a_hard_link_may_be_read_but_not_written(make: Make, root: Path) -> None:
    os.link(root.parent / "secret.txt", root / "hard.txt")
    with pytest.raises(ToolError, match="hard links"):
        make(root).write("hard.txt", b"x", stamp_of(root / "hard.txt"))
    assert (root.parent / "secret.txt").read_text() == "outside"


def test_pipes_and_sockets_are_refused_at_once(
    make: Make, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        for name in ("pipe", "sock"):
            with pytest.raises(ToolError, match="not a regular file"):
                read(make(root), name)
            with pytest.raises(ToolError, match="not a regular file"):
                make(root).write(name, b"x", None)


@pytest.mark.parametrize(
    "path",
    [
        *(".git", ".git/config", ".git/hooks/pre-commit", "sub/.git/hooks/x"),
        *(".GIT/config", ".git./config", ".g\u200dit/config"),
    ],
)
def test_git_internals_are_never_written(make: Make, root: Path, path: str) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    with pytest.raises(ToolError):
        make(root).write(path, b"#!/bin/sh\n", None)
    assert list((root / ".git" / "hooks").iterdir()) == []


def test_git_internals_are_not_written_through_a_link(make: Make, root: Path) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / "innocent").symlink_to(".git/hooks")
    with pytest.raises(ToolError, match=r"\.git"):
        make(root).write("innocent/pre-commit", b"x", None)


def test_the_program_s_own_data_is_neither_read_nor_written_nor_created(make: Make, root: Path) -> None:
    data = root / "app-data"
    data.mkdir()
    (data / "key").write_text("k")
    (root / "alias").symlink_to("app-data")
    jail = make(root, (data,))
    inside = ("app-data", "app-data/new/deep.txt")
    assert_refused(jail, "app-data/key", "alias/key", str(data / "key"), "APP-DATA/key", *inside)
    assert sorted(item.name for item in data.iterdir()) == ["key"]


def test_startup_files_are_read_but_not_written(make: Make, root: Path) -> None:
    (root / ".bashrc").write_text("alias x=y\n")
    jail = make(root, (), (root / ".bashrc", root / ".config" / "fish"))
    assert read(jail, ".bashrc") == b"alias x=y\n"
    for path in (".bashrc", ".config/fish/config.fish"):
        with pytest.raises(ToolError, match="unasked"):
            jail.write(path, b"evil", None)


def test_a_write_creates_folders_keeps_the_mode_and_leaves_no_temporary_files(make: Make, root: Path) -> None:
    jail = make(root)
    assert jail.write("new/deep/file.txt", b"one", None) == "new/deep/file.txt"
    script = root / "run.sh"
    script.write_text("old")
    script.chmod(0o755)
    jail.write("run.sh", b"new", stamp_of(script))
    assert script.read_bytes() == b"new"
    assert [item.name for item in (root / "new" / "deep").iterdir()] == ["file.txt"]
    if isinstance(jail, PosixJail):
        assert script.stat().st_mode & 0o777 == 0o755


def test_a_file_changed_meanwhile_is_not_overwritten(make: Make, root: Path) -> None:
    jail = make(root)
    path = root / "src" / "main.py"
    stamp = stamp_of(path)
    path.write_text("the user's newer work")
    for expected_stamp in (stamp, None):
        with pytest.raises(ToolError, match="changed"):
            jail.write("src/main.py", b"x", expected_stamp)
    assert path.read_text() == "the user's newer work"
    assert [item.name for item in (root / "src").iterdir()] == ["main.py"]


def test_a_path_swapped_for_a_link_shows_nothing_from_outside(root: Path) -> None:
    """A thread swaps a folder for a link as fast as it can; no read by descriptors yields the file outside.

    The jail by paths only makes that unlikely, as it says; it is for systems without descriptors.
    """
    (root / "swap").mkdir()
    (root / "swap" / "secret.txt").write_text("inside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(root / "swap", root / "aside")
            os.symlink(root.parent, root / "swap")
            os.unlink(root / "swap")
            os.rename(root / "aside", root / "swap")

    thread = threading.Thread(target=swap)
    thread.start()
    contents: set[bytes] = set()
    try:
        jail = PosixJail(root)
        for _ in range(2_000):
            try:
                contents.add(read(jail, "swap/secret.txt"))
            except ToolError:
                contents.add(b"refused")
    finally:
        stop.set()
        thread.join()
    assert b"outside" not in contents


def test_a_listing_shows_links_and_kinds_without_following(make: Make, root: Path) -> None:
    (root / "out").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    rel, items = make(root).list_entries(".")
    assert rel == ""
    kinds = {"src": "folder", "out": "link", "pipe": "other"}
    assert {item.name: item.kind for item in items} == kinds


@for_each(
    "path",
    [
        *("a:b", "C:/x", "NUL", "aux.txt", "com1.log"),
        *("dir./x", "x ", "\\\\server\\share", "..\\x"),
    ],
)
def test_special_windows_names_are_refused(path: str) -> None:
    with pytest.raises(ToolError):
        parts_of(path, (Path("/work"),), windows=True)


def test_windows_separators_are_understood() -> None:
    assert parts_of("src\\a.py", (), windows=True) == ("src", "a.py")


@pytest.mark.parametrize(
    "name", [".GIT", ".git.", ".git ", ".git::$INDEX_ALLOCATION", ".g\u200bit", "\uff0egit"]
)
def test_look_alikes_of_git_are_treated_as_git(name: str) -> None:
    assert normalized_name(name) == ".git"


@given(st.text(max_size=40))
def test_no_text_gives_empty_or_parent_parts(text: str) -> None:
    try:
        parts = parts_of(text, (Path("/work"),), windows=False)
    except ToolError:
        return
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)


def test_a_link_to_an_undecodable_name_stays_in_the_workspace(make: Make, root: Path) -> None:
    odd = root / os.fsdecode(b"odd\xff.txt")
    odd.write_text("content")
    (root / "link.txt").symlink_to(odd.name)
    jail = make(root)
    assert read(jail, "link.txt") == b"content"
    assert jail.resolve_writable("link.txt").startswith("odd")
    outside = root.parent / os.fsdecode(b"odd\xff.txt")
    outside.write_text("secret")
    (root / "out.txt").symlink_to(outside)
    assert_refused(jail, "out.txt")
    with pytest.raises(ToolError):
        jail.resolve_writable("out.txt")


@pytest.mark.parametrize(
    "path", [".local/bin/ls", ".BASH_ALIASES", ".config/pip/pip.conf", ".vim/plugin/x.vim"]
)
def test_a_home_folder_as_workspace_protects_startup_files(make: Make, root: Path, path: str) -> None:
    jail = make(root, (), startup_files(root))
    with pytest.raises(ToolError, match="obeys that file unasked"):
        jail.resolve_writable(path)
