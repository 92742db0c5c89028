"""What is covered: by ignore files, names, sizes and the user's choice; what is not is named."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreUnreadable
from helix_desktop.domain.file_history.changes import CallMark, FileCoverageSettings
from helix_desktop.domain.retention import DAY_MS
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.history import OpenedHistory
from helix_desktop.file_history.maintenance import clean_up
from helix_desktop.file_history.tree import scan
from helix_desktop.system.clock import wall_clock_ms
from tests.support.file_history_rig import changes_by_path, kinds, opened_history
from tests.support.revert_rig import run_as_user

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


def test_other_rules_change_what_is_covered_and_no_file(root: Path) -> None:
    make(root, "docs/a", "docs/b", "gen/c")
    make(root, ".gitignore", content="gen\n")
    with opened_history(root.parent) as history:
        history.begin_call(MARK)
        make(root, ".gitignore", content="docs\n")
        (root / "docs/b").unlink()
        assert kinds(history.end_call("s", "c")) == {".gitignore": "changed", "docs/b": "deleted"}
        assert places(history) == {"docs": "ignored", "gen/c": "pending"}


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


def test_the_quota_stops_the_copy_and_says_so(root: Path) -> None:
    (root / "a").write_bytes(os.urandom(5000))
    (root / "b").write_bytes(os.urandom(5000))
    with opened_history(root.parent, FileCoverageSettings(quota=7000)) as history:
        assert set(places(history).values()) == {"quota"}
        (root / "c").write_bytes(os.urandom(5000))
        (change,) = changes_by_path(history.scan("s")).values()
        assert change.after is not None
        assert not change.after.stored


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


def test_a_workspace_whose_folder_is_gone_has_no_deleted_files(root: Path) -> None:
    make(root, "a")
    with opened_history(root.parent) as history:
        root.rename(root.with_name("away"))
        with pytest.raises(StoreUnreadable, match="can't be looked at"):
            history.scan("s")
        assert history.coverage().error
        root.with_name("away").rename(root)
        assert history.scan("s") is None
        assert not history.coverage().error


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
