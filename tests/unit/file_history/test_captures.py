"""What is covered and captured, of which call: the true difference of two snapshots."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import RevertRefused, StoreUnreadable
from helix_desktop.domain.file_history.changes import CallMark, FileCoverageSettings
from helix_desktop.domain.retention import DAY_MS
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.history import OpenedHistory
from helix_desktop.file_history.maintenance import clean_up
from helix_desktop.file_history.tree import scan
from helix_desktop.system import folders
from helix_desktop.system.clock import wall_clock_ms
from tests.support.file_changes.tree import walk_tree, wrong_changes
from tests.support.file_history_rig import changes_by_path, kinds, opened_history
from tests.support.revert_rig import run_as_user
from tests.support.workspace_away import HOW_AWAY, HowAway, away

MARK = CallMark("s", "c")


def make(root: Path, *files: str, content: str = "x") -> None:
    """Write files, in folders that are made."""
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def places(history: OpenedHistory) -> dict[str, str]:
    """Return what is not covered, by path."""
    return {place.path: place.reason for place in history.coverage().places}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


@pytest.mark.skipif(sys.platform != "linux", reason="has other rules for names")
def test_what_has_no_name_and_no_content_is_named(root: Path) -> None:
    os.mkfifo(root / "pipe")
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT))
    os.symlink(b"\xfe", os.fsencode(root) + b"/link")
    with opened_history(root.parent) as history:
        assert places(history) == {"pipe": "special", "\\udcff": "name", "link": "name"}
        (root / "link").unlink()
        (root / "link").symlink_to("text")
        assert kinds(history.scan("s")) == {"link": "created"}


def test_each_place_that_is_not_covered_is_named_with_its_reason(root: Path) -> None:
    make(root, ".gitignore", content="*.log\nout/\n!keep.log\n")
    make(root, "sub/.gitignore", content="local.*\n!out/\n")
    make(root, ".agentignore", content="private\n")
    make(root, ".git/info/exclude", content="mine\n")
    make(root, ".git/config", "a.log", "keep.log", "out/x", "sub/local.txt", "sub/out/y")
    make(root, "private/z", "mine")
    make(root, "node_modules/m/i.js", "src/app.py", ".env", ".env.example", "env/pyvenv.cfg", "env/bin/p")
    make(root, "big", content="x" * 2000)
    (root / "cache").mkdir()
    make(root, "cache/.gitignore", content="*\n")
    with opened_history(root.parent, FileCoverageSettings(max_file=1000)) as history:
        assert places(history) == {
            ".git": "git",
            "cache": "ignored",
            "env": "ignored",
            "node_modules": "ignored",
            "out": "ignored",
            "private": "ignored",
            ".env": "secret",
            "a.log": "ignored",
            "big": "too_large",
            "mine": "ignored",
            "sub/local.txt": "ignored",
        }
        coverage = history.coverage()
        assert (coverage.files, coverage.uncovered, coverage.is_complete) == (7, 11, True)


def test_what_is_not_stored_is_captured_by_its_hash_or_its_size(root: Path) -> None:
    make(root, ".gitignore", content="*.log\n")
    make(root, "a.log", ".env")
    make(root, "big", content="x" * 2000)
    with opened_history(root.parent, FileCoverageSettings(max_file=1000)) as history:
        history.begin_call(MARK)
        make(root, "a.log", ".env", content="changed")
        make(root, "big", content="y" * 2000)
        captured = changes_by_path(history.end_call("s", "c"))
        assert {path: change.is_covered for path, change in captured.items()} == dict.fromkeys(
            ("a.log", ".env", "big"), False
        )
        assert all(
            bool(state and state.digest) == (path != "big")
            for path, change in captured.items()
            for state in (change.before, change.after)
        )


def test_a_built_folder_that_a_command_makes_is_named_and_not_walked(root: Path) -> None:
    with opened_history(root.parent) as history:
        history.begin_call(MARK)
        make(root, "node_modules/m/index.js", "venv/pyvenv.cfg", "target/CACHEDIR.TAG", "made.txt")
        assert kinds(history.end_call("s", "c")) == {"made.txt": "created"}
        assert places(history) == dict.fromkeys(("node_modules", "target", "venv"), "ignored")


def test_a_folder_that_is_covered_stays_so_whatever_is_put_into_it(root: Path) -> None:
    make(root, "src/app.py")
    with opened_history(root.parent) as history:
        history.begin_call(MARK)
        make(root, "src/CACHEDIR.TAG", content="Signature")
        (root / "src/app.py").unlink()
        assert kinds(history.end_call("s", "c")) == {"src/CACHEDIR.TAG": "created", "src/app.py": "deleted"}


def test_an_included_place_is_covered_from_then_on_and_was_changed_by_nobody(root: Path) -> None:
    make(root, ".gitignore", content="out\n")
    make(root, "out/deep/wanted.txt", "out/other.txt")
    with opened_history(root.parent) as history:
        assert places(history) == {"out": "ignored"}
        history.use_settings(FileCoverageSettings(("out/deep",)))
        history.start()
        while history.copy_batch() is not None:
            pass
        assert places(history) == {"out/other.txt": "ignored"}
        assert history.scan("s") is None
        make(root, "out/deep/wanted.txt", content="changed")
        (change,) = changes_by_path(history.scan("s")).values()
        assert change.is_covered
        history.use_settings(FileCoverageSettings())
        history.start()
        make(root, "out/deep/wanted.txt", content="changed again")
        assert kinds(history.scan("s")) == {"out/deep/wanted.txt": "changed"}  # the last that is seen of it
        make(root, "out/deep/wanted.txt", content="unseen")
        assert history.scan("s") is None
        assert places(history) == {"out": "ignored"}


def test_what_is_changed_before_it_was_copied_says_that_its_former_content_is_unknown(root: Path) -> None:
    make(root, "early", "late", "same")
    with opened_history(root.parent, copies=False) as history:
        assert places(history) == dict.fromkeys(("early", "late", "same"), "pending")
        make(root, "early", content="changed")
        (root / "late").unlink()
        captured = changes_by_path(history.scan("s"))
        assert sorted(captured) == ["early", "late"]
        assert not any(change.before and change.before.stored for change in captured.values())
        assert not history.coverage().is_complete
        history.begin_call(MARK)
        assert history.coverage().is_complete  # what can be copied at once is, before a call


def test_what_changed_before_it_was_copied_is_left_to_the_next_scan(root: Path) -> None:
    make(root, "early", "late", "same")
    with opened_history(root.parent, copies=False) as history:
        make(root, "early", content="changed")
        (root / "late").unlink()
        assert history.copy_batch() is None
        other = FileHistoryDatabase(root.parent / "data/h.db", wall_clock_ms)
        assert [other.contents.has(digest_of(content)) for content in (b"x", b"changed")] == [True, False]
        other.close()
        captured = changes_by_path(history.scan("s"))
        assert sorted(captured) == ["early", "late"]
        assert not any(change.before and change.before.digest for change in captured.values())


def test_with_too_many_files_tools_are_captured_that_name_theirs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, "a", "b", "c")
    monkeypatch.setattr(scan, "MAX_PATHS", 2)
    with pytest.raises(StoreUnreadable, match="commands"), opened_history(root.parent):
        pass
    with opened_history(root.parent, copies=False, starts=False) as history:
        for _ in range(2):
            with pytest.raises(StoreUnreadable):
                history.begin_call(MARK)
        assert "commands" in history.coverage().error
        history.begin_call(CallMark("s", "edit", paths=("a", "d/new")))
        make(root, "a", "d/new", content="changed")
        captured = history.end_call("s", "edit")
        assert captured is not None
        assert kinds(captured) == {"a": "changed", "d/new": "created"}
        history.revert("s", history.plan_revert(captured.list.changes, ()), {})
        assert (root / "a").read_text() == "x"


def test_once_there_are_fewer_files_all_are_covered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, "a", "big/1", "big/2")
    monkeypatch.setattr(scan, "MAX_PATHS", 2)
    with opened_history(root.parent, copies=False, starts=False) as history:
        with pytest.raises(StoreUnreadable):
            history.start()
        make(root, ".gitignore", content="big/")
        history.scan("s")
        assert history.copy_batch() is None
        coverage = history.coverage()
        assert (coverage.error, coverage.files, coverage.is_complete) == ("", 2, True)


def test_the_quota_stops_the_copy_until_a_clean_up_has_made_room(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "is_fresh", lambda *_: False)  # else the next scan reads it anyway
    (root / "a").write_bytes(os.urandom(5000))
    with opened_history(root.parent, FileCoverageSettings(quota=7000)) as history:
        (root / "a").write_bytes(os.urandom(5000))
        history.scan("s")
        assert history.copy_batch() is None
        assert places(history) == {"a": "quota"}
        other = FileHistoryDatabase(root.parent / "data/h.db", wall_clock_ms)  # as the clean-up opens it
        clean_up(other, [capture.id for capture in other.captures.all()], 0, wall_clock_ms() + DAY_MS)
        other.close()
        history.scan("s")
        assert places(history) == {"a": "pending"}
        assert history.copy_batch() is None
        assert places(history) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
def test_what_cannot_be_read_is_named_and_nothing_in_it_counts_as_deleted() -> None:
    def work() -> None:
        root = folder / "w"
        make(root, "a/in", "b", "a/gone")
        with opened_history(folder) as history:
            (root / "a").chmod(0)
            (root / "b").chmod(0)
            assert kinds(history.scan("s")) == {"a": "mode", "b": "mode"}
            assert places(history) == {"a": "unreadable"}
            (root / "a").chmod(0o700)
            make(root, "a/made", content="other")
            (root / "a/gone").unlink()
            assert kinds(history.scan("s")) == {"a": "mode", "a/made": "created", "a/gone": "deleted"}
            make(root, "c")
            (root / "c").chmod(0)
            assert kinds(history.scan("s")) == {"c": "created"}
            assert places(history) == {"c": "unreadable"}

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o777)
        run_as_user(folder, work)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
def test_files_that_could_not_be_read_when_they_were_to_be_copied_are_copied_later() -> None:
    def work() -> None:
        make(folder / "w", "a/in", "b")
        with opened_history(folder, copies=False) as history:
            history.scan("s")
            (folder / "w/a").chmod(0)
            assert history.copy_batch() is None
            assert "a/in" in places(history)
            history.scan("s")
            (folder / "w/a").chmod(0o700)
            history.scan("s")
            assert history.copy_batch() is None
            assert places(history) == {}

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o777)
        run_as_user(folder, work)


def test_times_that_no_clock_has_are_stored_as_far_as_they_can_be(root: Path) -> None:
    make(root, "old", "far")
    make(root, "large", content="x" * 2000)
    for name, seconds in (("old", -(2**31)), ("far", 2**34 - 1), ("large", 2**34 - 1)):
        os.utime(root / name, (seconds, seconds))
    with opened_history(root.parent, FileCoverageSettings(max_file=1000)) as history:
        assert history.scan("s") is None
        make(root, "far", content="now")
        assert kinds(history.scan("s")) == {"far": "changed"}


def test_a_folder_of_a_checkout_obeys_the_ignore_files_above_it(tmp_path: Path) -> None:
    make(tmp_path, ".gitignore", content="lost\n")
    make(tmp_path, "top/.git/HEAD")
    make(tmp_path, "top/.gitignore", content="dist\n/packages/w/only\n*.log\n")
    make(tmp_path, "top/packages/.gitignore", content="!keep.log\n")
    root = tmp_path / "top/packages/w"
    make(root, "dist/x", "only/y", "a.log", "keep.log", "lost", "deep/dist/z")
    with opened_history(root.parent) as history:
        assert places(history) == dict.fromkeys(("a.log", "deep/dist", "dist", "only"), "ignored")
        make(tmp_path, "top/.gitignore", content="*.log\n")
        assert history.scan("s") is None
        assert places(history) == dict.fromkeys(("deep/dist/z", "dist/x", "only/y"), "pending") | {
            "a.log": "ignored"
        }


def test_of_files_that_a_tool_changes_only_those_are_uncovered_whose_content_cannot_be_stored(
    root: Path,
) -> None:
    make(root, ".gitignore", content="*.log\n/out\n")
    make(root, "a.log", "out/b", "out/.env", ".env", "a.py", "large", content="x" * 9)
    make(root, "empty.key", content="")
    settings = FileCoverageSettings(max_file=20)
    (root / "large").write_text("x" * 21)
    with opened_history(root.parent, settings) as history:
        names = ("a.log", "out/b", "out/.env", ".env", "a.py", "large", "empty.key", "new")
        found = {place.path: place.reason for place in history.uncovered_files(names)}
        assert found == {".env": "secret", "out/.env": "secret", "large": "too_large"}


@pytest.fixture
def two_files(tmp_path: Path) -> Path:
    """Return the workspace's folder, with two files."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w/a").write_text("a, as it was")
    (tmp_path / "w/b").write_text("b, as it was")
    return tmp_path / "w"


def test_changes_found_while_several_calls_run_are_of_all_of_them(two_files: Path) -> None:
    with (
        opened_history(two_files.parent) as first,
        opened_history(two_files.parent) as second,
    ):  # two processes, as far as they know
        first.begin_call(CallMark("s1", "call", "make"))
        (two_files / "a").write_text("by make, alone so far")
        second.begin_call(CallMark("s2", "call", "sh"))
        (two_files / "b").write_text("by either")
        by_make = first.end_call("s1", "call")
        (two_files / "a").write_text("by sh")
        by_sh = second.end_call("s2", "call")
        assert by_make is not None
        assert by_sh is not None
        assert (by_make.capture.others, by_sh.capture.others) == (("sh",), ("make",))
        for captured in (by_make, by_sh):
            assert [(change.path, change.shared) for change in captured.list.changes] == [
                ("a", False),
                ("b", True),
            ]
        assert first.scan("s1") is None
        assert [first.unrecorded(session_id) for session_id in ("s1", "s2")] == [(by_make,), (by_sh,)]


def test_a_tool_that_names_its_files_is_captured_by_these_alone(two_files: Path) -> None:
    with opened_history(two_files.parent) as history:
        history.begin_call(CallMark("s", "edit", paths=("a", "new/file")))
        (two_files / "a").write_text("edited")
        (two_files / "b").write_text("by somebody else")
        (two_files / "new").mkdir()
        (two_files / "new/file").write_text("made")
        captured = history.end_call("s", "edit")
        assert captured is not None
        assert captured.capture.source == "tool"
        assert kinds(captured) == {"a": "changed", "new": "created", "new/file": "created"}
        assert kinds(history.scan("s")) == {"b": "changed"}


def test_a_tool_s_path_through_a_link_is_found_where_it_leads(two_files: Path) -> None:
    (two_files / "d").mkdir()
    (two_files / "link").symlink_to("d")
    with opened_history(two_files.parent) as history:
        history.begin_call(CallMark("s", "c", paths=("link/x",)))
        (two_files / "link/x").write_text("x")
        assert kinds(history.end_call("s", "c")) == {"d/x": "created"}


def test_moved_files_say_where_they_were(two_files: Path) -> None:
    (two_files / "__init__.py").touch()
    (two_files / "other").write_text("a, as it was")
    with opened_history(two_files.parent) as history:
        history.begin_call(CallMark("s", "c"))
        (two_files / "new").mkdir()
        (two_files / "a").rename(two_files / "new/a")
        (two_files / "other").rename(two_files / "new/renamed")
        (two_files / "__init__.py").rename(two_files / "new/__init__.py")
        (two_files / "empty").touch()
        captured = history.end_call("s", "c")
        assert captured is not None
        assert {change.path: change.moved_from for change in captured.list.changes if change.after} == {
            "new": "",
            "new/a": "a",
            "new/renamed": "other",
            "new/__init__.py": "__init__.py",
            "empty": "",
        }


def _run_and_be_killed(folder: Path) -> None:
    with opened_history(folder) as history:
        history.begin_call(CallMark("s", "c", "sh"))
        (folder / "w/a").write_text("half")
        os.kill(os.getpid(), 9)


@pytest.mark.skipif(sys.platform == "win32", reason="has no fork")
def test_a_call_whose_process_was_killed_ends_with_it_and_its_changes_are_kept(two_files: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_run_and_be_killed, args=(two_files.parent,))
    process.start()
    process.join()
    with opened_history(two_files.parent) as history:
        (captured,) = history.unrecorded("s")
        assert (captured.capture.call_id, captured.capture.source) == ("c", "command")
        assert kinds(captured) == {"a": "changed"}
        (two_files / "b").write_text("later, by the user")
        outside = history.scan("s")
        assert outside is not None
        assert outside.capture.source == "outside"


@pytest.mark.parametrize("how", HOW_AWAY)
def test_while_the_folder_is_away_no_file_is_gone(two_files: Path, how: HowAway) -> None:
    with opened_history(two_files.parent) as history:
        with away(two_files, how):
            for look in (
                lambda: history.scan("s"),
                lambda: history.begin_call(CallMark("s", "any", "make")),
                lambda: history.begin_call(CallMark("s", "a", "write_file", ("a",))),
                lambda: history.current_states(["a"]),
                lambda: history.plan_revert((), ()),
            ):
                with pytest.raises((StoreUnreadable, RevertRefused)):
                    look()
        assert history.scan("s") is None
        assert history.current_states(["a"])["a"] is not None
        history.begin_call(CallMark("s", "call", "make"))
        (two_files / "a").write_text("by make")
        with away(two_files, how), pytest.raises(StoreUnreadable):
            history.end_call("s", "call")
        assert history.scan("s") is None
        (captured,) = history.unrecorded("s")
        assert (captured.capture.source, kinds(captured)) == ("command", {"a": "changed"})


NAMES = ("a", "b", "c.txt", "ä")
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
Edit = tuple[str, str, str]


def apply(root: Path, edit: Edit) -> None:
    """Make a change, if there is something that it can be made to."""
    kind = edit[0]
    path = root / edit[1]
    other = root / edit[2]
    with suppress(OSError):
        _EDITS[kind](path, other)


def _write(path: Path, other: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(other.name)


def _overwrite(path: Path, other: Path) -> None:
    """Write as many other bytes, and put the time back."""
    found = path.stat()
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def _swap(path: Path, other: Path) -> None:
    """Have a link in the place of what it leads to."""
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


_EDITS: dict[str, Callable[[Path, Path], object]] = {
    "write": _write,
    "append": lambda path, _: path.write_bytes(path.read_bytes() + b"more"),
    "overwrite": _overwrite,
    "delete": lambda path, _: shutil.rmtree(path) if path.is_dir() else path.unlink(),
    "folder": lambda path, _: path.mkdir(parents=True),
    "rename": lambda path, other: path.rename(other),
    "link": lambda path, other: path.symlink_to(other.name),
    "mode": lambda path, _: path.chmod(path.stat().st_mode ^ 0o055),
    "touch": lambda path, _: path.write_bytes(path.read_bytes()),
    "swap": _swap,
}
edits = st.tuples(st.sampled_from(sorted(_EDITS)), paths, paths)


@given(
    first=st.lists(edits, max_size=8),
    outside=st.lists(edits, max_size=3),
    during=st.lists(edits, max_size=6),
    restarts=st.booleans(),
    by_descriptor=st.booleans(),
)
def test_a_capture_is_the_true_difference(
    first: Sequence[Edit],
    outside: Sequence[Edit],
    during: Sequence[Edit],
    restarts: bool,
    by_descriptor: bool,
) -> None:
    """Also where folders are opened by their paths, as on Windows."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(folders, "BY_DESCRIPTOR", by_descriptor and folders.BY_DESCRIPTOR)
        root = Path(folder, "w")
        root.mkdir()
        history = stack.enter_context(opened_history(Path(folder)))
        for edit in first:
            apply(root, edit)
        history.scan("s")
        before = walk_tree(root)
        for edit in outside:
            apply(root, edit)
        between = walk_tree(root)
        if restarts:
            stack.close()
            history = stack.enter_context(opened_history(Path(folder)))
        outside_changes = changes_by_path(history.begin_call(CallMark("s", "c")))
        assert wrong_changes(outside_changes.values(), before, between, ()) == []
        for edit in during:
            apply(root, edit)
        after = walk_tree(root)
        captured = changes_by_path(history.end_call("s", "c"))
        assert wrong_changes(captured.values(), between, after, ()) == []
        assert history.scan("s") is None
        assert history.coverage().is_complete
        for change in captured.values():
            for state in (change.before, change.after):
                if state is not None and state.kind == "file":
                    assert len(history.content(state.digest)) == state.size
