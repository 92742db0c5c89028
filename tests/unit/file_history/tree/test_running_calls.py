"""Which call a change is of: the one that ran, all that ran, or none; whatever process they ran in."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path

import pytest

from helix_desktop.domain.errors import RevertRefused, StoreUnreadable
from helix_desktop.domain.file_history.changes import CallMark
from tests.support.file_history_rig import kinds, opened_history
from tests.support.workspace_away import HOW_AWAY, HowAway, away


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the workspace's folder, with two files."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w/a").write_text("a, as it was")
    (tmp_path / "w/b").write_text("b, as it was")
    return tmp_path / "w"


def test_changes_found_while_several_calls_run_are_of_all_of_them(root: Path) -> None:
    with (
        opened_history(root.parent) as first,
        opened_history(root.parent) as second,
    ):  # two processes, as far as they know
        first.begin_call(CallMark("s1", "call", "make"))
        (root / "a").write_text("by make, alone so far")
        second.begin_call(CallMark("s2", "call", "sh"))
        (root / "b").write_text("by either")
        by_make = first.end_call("s1", "call")
        (root / "a").write_text("by sh")
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


def test_a_tool_that_names_its_files_is_captured_by_these_alone(root: Path) -> None:
    (root / ".gitignore").write_text("out\n")
    (root / "out").mkdir()
    (root / "out/x").write_text("x")
    with opened_history(root.parent) as history:
        history.scan("s")
        history.begin_call(CallMark("s", "edit", "edit a", paths=("a", "new/deep/file", "out/x")))
        (root / "a").write_text("edited")
        (root / "b").write_text("by somebody else")
        (root / "new/deep").mkdir(parents=True)
        (root / "new/deep/file").write_text("made")
        (root / "out/x").write_text("of an ignored folder, but named")
        captured = history.end_call("s", "edit")
        assert captured is not None
        assert captured.capture.source == "tool"
        assert kinds(captured) == {
            "a": "changed",
            "new": "created",
            "new/deep": "created",
            "new/deep/file": "created",
            "out/x": "changed",
        }
        assert all(change.is_covered for change in captured.list.changes)
        assert kinds(history.scan("s")) == {"b": "changed"}


def test_a_tool_s_path_through_a_link_is_found_where_it_leads(root: Path) -> None:
    (root / "d").mkdir()
    (root / "link").symlink_to("d")
    with opened_history(root.parent) as history:
        history.begin_call(CallMark("s", "c", paths=("link/x",)))
        (root / "link/x").write_text("x")
        assert kinds(history.end_call("s", "c")) == {"d/x": "created"}


def test_a_call_that_only_touches_changes_nothing_but_a_mode_is_a_change(root: Path) -> None:
    with opened_history(root.parent) as history:
        history.begin_call(CallMark("s", "c"))
        os.utime(root / "a")
        (root / "b").write_text((root / "b").read_text())
        (root / "made").write_text("and gone again")
        history.begin_call(CallMark("s", "other"))  # sees it
        history.end_call("s", "other")
        (root / "made").unlink()
        assert history.end_call("s", "c") is None
        history.begin_call(CallMark("s", "c"))
        (root / "a").chmod(0o755)
        assert kinds(history.end_call("s", "c")) == {"a": "mode"}


def test_a_call_that_could_not_be_ended_is_ended_later(root: Path) -> None:
    with opened_history(root.parent) as history:
        history.begin_call(CallMark("s", "c", "sh"))
        (root / "a").write_text("by sh")
        root.rename(root.with_name("away"))
        with pytest.raises(StoreUnreadable):
            history.end_call("s", "c")
        root.with_name("away").rename(root)
        assert history.scan("s") is None
        (captured,) = history.unrecorded("s")
        assert (captured.capture.call_id, kinds(captured)) == ("c", {"a": "changed"})


def test_moved_files_say_where_they_were(root: Path) -> None:
    (root / "__init__.py").touch()
    (root / "other").write_text("a, as it was")
    with opened_history(root.parent) as history:
        history.begin_call(CallMark("s", "c"))
        (root / "new").mkdir()
        (root / "a").rename(root / "new/a")
        (root / "other").rename(root / "new/renamed")
        (root / "__init__.py").rename(root / "new/__init__.py")
        (root / "empty").touch()
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
def test_a_call_whose_process_was_killed_ends_with_it_and_its_changes_are_kept(root: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_run_and_be_killed, args=(root.parent,))
    process.start()
    process.join()
    with opened_history(root.parent) as history:
        (captured,) = history.unrecorded("s")
        assert (captured.capture.call_id, captured.capture.source) == ("c", "command")
        assert kinds(captured) == {"a": "changed"}
        (root / "b").write_text("later, by the user")
        outside = history.scan("s")
        assert outside is not None
        assert outside.capture.source == "outside"


@pytest.mark.parametrize("how", HOW_AWAY)
def test_while_the_folder_is_away_no_file_is_gone(root: Path, how: HowAway) -> None:
    with opened_history(root.parent) as history:
        with away(root, how):
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
        (root / "a").write_text("by make")
        with away(root, how), pytest.raises(StoreUnreadable):
            history.end_call("s", "call")
        assert history.scan("s") is None
        (captured,) = history.unrecorded("s")
        assert (captured.capture.source, kinds(captured)) == ("command", {"a": "changed"})
