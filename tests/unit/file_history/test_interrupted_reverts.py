"""A revert that is cut off, or that other programs write into, at any point: nothing is lost or half done."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from helix_desktop.domain.errors import RevertRefused, StoreWriteFailed
from helix_desktop.domain.file_history.changes import CapturedChanges, FileChange
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.revert.folders import JournalEntry
from helix_desktop.file_history.revert.reverts import Reverts
from tests.support.file_history_rig import opened_history
from tests.support.revert_rig import (
    NOW_MS,
    AtOperation,
    RevertRig,
    RowTree,
    States,
    at_operation,
    change_everything,
    run_in_child,
)
from tests.support.small_disk import fill_disk, mount_small_disk
from tests.support.workspace_away import HOW_AWAY, HowAway, away


class Prepared:
    """A workspace with changes that are to be reverted; `copy` makes fresh ones of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copies = 0
        (folder / "original").mkdir()
        rig = RevertRig(folder / "original")
        self.changes, self.before, self.after = change_everything(rig)
        rig.database.close()

    def copy(self) -> Path:
        return self.copy_of(self._folder / "original")

    def copy_of(self, folder: Path) -> Path:
        self._copies += 1
        return Path(shutil.copytree(folder, self._folder / str(self._copies), symlinks=True))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    if sys.platform == "win32":
        pytest.skip("forks, and has permissions")
    return Prepared(tmp_path_factory.mktemp("revert"))


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die(work: Callable[[], object]) -> bool:
    """Do something in a process that is killed meanwhile; return False if it was not."""
    status = run_in_child(work)
    assert status in (0, -signal.SIGKILL)
    return status != 0


def assert_whole(rig: RevertRig, prepared: Prepared) -> States:
    states = rig.states()
    captures = rig.database.captures.unrecorded("session")
    assert states == (prepared.before if captures else prepared.after)
    assert len(captures) <= 1
    assert captures or rig.database.tree.load() == {}  # nothing was left to anybody else
    assert rig.database.journal.all() == []
    return states


def revert(folder: Path, changes: list[FileChange], on_operation: Callable[[str], None]) -> None:
    RevertRig(folder, on_operation).revert(changes)


def try_revert(rig: RevertRig, changes: list[FileChange]) -> tuple[CapturedChanges | None, str]:
    try:
        return rig.revert(changes), ""
    except (RevertRefused, StoreWriteFailed) as error:
        return None, str(error)


def recover(folder: Path, on_operation: Callable[[str], None]) -> None:
    RevertRig(folder, on_operation).reverts.recover()


def test_killed_at_any_step(prepared: Prepared) -> None:
    outcomes: list[bool] = []
    while die(partial(revert, folder := prepared.copy(), prepared.changes, AtOperation(len(outcomes), kill))):
        rig = RevertRig(folder)
        rig.reverts.recover()
        outcomes.append(assert_whole(rig, prepared) == prepared.before)
        rig.database.close()
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {True, False}


def test_a_revert_after_a_killed_one_repairs_it_first(prepared: Prepared) -> None:
    folder = prepared.copy()
    assert die(partial(revert, folder, prepared.changes, at_operation("commit", kill)))
    rig = RevertRig(folder)
    assert rig.revert(prepared.changes) is not None
    assert assert_whole(rig, prepared) == prepared.before


@pytest.mark.parametrize("how", HOW_AWAY)
def test_a_killed_one_waits_for_its_folder(prepared: Prepared, how: HowAway) -> None:
    """What is staged in the folder is not gone while the folder is away."""
    folder = prepared.copy()
    assert die(partial(revert, folder, prepared.changes, at_operation("commit", kill)))
    rig = RevertRig(folder)
    with away(rig.root, how), pytest.raises(RevertRefused):
        rig.reverts.recover()
    rig.reverts.recover()
    assert assert_whole(rig, prepared) == prepared.after


@pytest.mark.parametrize("died_at", ["mode", "clean"])
def test_killed_in_the_repair_too(prepared: Prepared, died_at: str) -> None:
    died = prepared.copy()
    assert die(partial(revert, died, prepared.changes, at_operation(died_at, kill)))
    number = 0
    while die(partial(recover, folder := prepared.copy_of(died), AtOperation(number, kill))):
        rig = RevertRig(folder)
        rig.reverts.recover()
        assert_whole(rig, prepared)
        rig.database.close()
        number += 5
    assert number


def test_refused_at_any_step(prepared: Prepared) -> None:
    def refuse() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for number in itertools.count():
        rig = RevertRig(prepared.copy(), refusal := AtOperation(number, refuse))
        captured, why = try_revert(rig, prepared.changes)
        if not refusal.name:
            break
        if not refusal.name.startswith(("clean", "journal end")):
            assert captured is None
            assert "None of them was changed. The disk is full." in why
            assert rig.states() == prepared.after
        rig.reverts.recover()  # of leftovers that could not be removed
        assert_whole(rig, prepared)
        rig.database.close()


@pytest.mark.parametrize("full", ["workspace", "history"])
def test_a_disk_that_is_full_from_a_step_on(prepared: Prepared, tmp_path: Path, full: str) -> None:
    with mount_small_disk(tmp_path, "2m"):
        refused = 0
        for number in range(0, 40, 4):
            folder = prepared.copy()
            moved = folder / ("workspace" if full == "workspace" else "history")
            place = Path(shutil.move(moved, tmp_path / str(number)))
            moved.symlink_to(place)
            rig = RevertRig(folder, AtOperation(number, partial(fill_disk, tmp_path / "ballast")))
            captured, _ = try_revert(rig, prepared.changes)
            refused += captured is None
            (tmp_path / "ballast").unlink(missing_ok=True)
            rig.reverts.recover()
            assert_whole(rig, prepared)
            rig.database.close()
            shutil.rmtree(place)
        assert refused > 1


def test_refused_from_any_step_on(prepared: Prepared) -> None:
    """A disk that fails lets nothing be taken back either: that is left to the next start, and said."""
    for number in range(0, 40, 5):
        rig = RevertRig(prepared.copy())

        def refuse(name: str, rig: RevertRig = rig, number: int = number) -> None:
            if len(rig.operations) > number:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        rig.on_operation = refuse
        try_revert(rig, prepared.changes)
        rig.on_operation = lambda _: None
        rig.reverts.recover()
        assert_whole(rig, prepared)
        rig.database.close()


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_revert_of_a_killed_process_is_no_change_of_the_user(tmp_path: Path) -> None:
    """Another process that has the workspace open repairs it before it looks for changes."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w/a").write_text("1")
    with opened_history(tmp_path) as history:
        (tmp_path / "w/a").write_text("2")
        captured = history.scan("session")
        assert captured is not None

        def revert_and_die() -> None:
            database = FileHistoryDatabase(tmp_path / "data/h.db", lambda: NOW_MS)
            on_operation = at_operation("commit", kill)
            reverts = Reverts(tmp_path / "w", database, RowTree(database), lambda: NOW_MS, on_operation)
            reverts.apply("session", reverts.plan(captured.list.changes), {})

        assert die(revert_and_die)
        assert (tmp_path / "w/a").read_text() == "1"
        assert history.scan("session") is None
        assert os.listdir(tmp_path / "w") == ["a"]
        assert (tmp_path / "w/a").read_text() == "2"


def test_a_power_cut_may_lose_any_of_the_renames(prepared: Prepared) -> None:
    """What was not synced may have reached the disk or not, in any order."""
    chance = random.Random(7)
    for _ in range(6):
        folder = prepared.copy()
        assert die(partial(revert, folder, prepared.changes, at_operation("commit", kill)))
        rig = RevertRig(folder)
        lose_some(rig, chance)
        rig.reverts.recover()
        assert assert_whole(rig, prepared) == prepared.after


def lose_some(rig: RevertRig, chance: random.Random) -> None:
    [(_, _, data)] = rig.database.journal.all()
    entry = JournalEntry.decode(data)
    staging = rig.root / entry.folder
    for number, operation in reversed(list(enumerate(entry.operations))):
        path = rig.root / operation.path
        staged = staging / str(number)
        if chance.random() < 0.5 or not path.parent.exists():
            continue
        match operation.kind:
            case "place":
                path.rename(staged)
            case "swap":
                path.rename(staging / "between")
                staged.rename(path)
                (staging / "between").rename(staged)
            case "folder" if not os.listdir(path):
                path.rmdir()
            case "aside":
                (staging / f"{number}.former").rename(path)


EDIT = "what another program wrote meanwhile"


def _write(path: Path) -> None:
    path.write_text(EDIT)


def _append(path: Path) -> None:
    with path.open("a") as file:
        file.write(EDIT)


def _replace(path: Path) -> None:
    path.with_name("theirs").write_text(EDIT)
    path.with_name("theirs").replace(path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("changed", _write),
        ("changed", _append),
        ("changed", _replace),
        ("created", _write),
        ("deleted", _write),
    ],
)
def test_what_another_program_writes_at_any_step_stays(
    tmp_path: Path, name: str, write: Callable[[Path], None]
) -> None:
    outcomes = set[tuple[str, ...]]()
    for number in itertools.count():
        (folder := tmp_path / str(number)).mkdir()
        rig = RevertRig(folder)
        rig.write({"changed": "before", "deleted": "before"})
        with rig.call() as changes:
            rig.write({"changed": "after", "created": "after"})
            (rig.root / "deleted").unlink()
        plan = rig.plan(changes)
        rig.on_operation = AtOperation(number, partial(write, rig.root / name))
        refused: tuple[str, ...] = ()
        try:
            rig.reverts.apply("session", plan, {})
        except RevertRefused as error:
            refused = error.paths
        outcomes.add(refused)
        if not rig.on_operation.name:
            break
        assert EDIT in (rig.root / name).read_text()
        others = {"changed", "created", "deleted"} - {name}
        states = {other: (rig.root / other).exists() and (rig.root / other).read_text() for other in others}
        former = {"changed": "before", "created": False, "deleted": "before"}
        later = {"changed": "after", "created": "after", "deleted": False}
        assert states in ({key: former[key] for key in others}, {key: later[key] for key in others})
        assert rig.leftovers() == []
        assert rig.database.journal.all() == []
        rig.database.close()
    assert outcomes == {(), (name,)}


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be renamed there")
def test_a_program_that_holds_the_file_open_is_noticed(tmp_path: Path) -> None:
    rig = RevertRig(tmp_path)
    rig.write({"log": "one\n"})
    with rig.call() as changes:
        rig.write({"log": "two\n"})
    with (rig.root / "log").open("a") as log:
        rig.on_operation = at_operation("check", lambda: print("three", file=log, flush=True))
        with pytest.raises(RevertRefused):
            rig.revert(changes)
        print("four", file=log)
    assert (rig.root / "log").read_text() == "two\nthree\nfour\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is gone may be a swap half made there")
def test_a_user_who_goes_on_after_a_kill_loses_nothing(tmp_path: Path) -> None:
    """What stood there before the revert stays in the history, as the state that they changed."""
    rig = RevertRig(tmp_path)
    rig.write({"a": "1", "b": "1", "c": "1", "d": "1", "e": "1"})
    with rig.call() as changes:
        rig.write({"a": "2", "b": "2", "c": "2"})
        (rig.root / "d").unlink()
        (rig.root / "e").unlink()
    states = rig.states()
    plan = rig.plan(changes)

    class Killed(BaseException):
        """Ends the revert; the repair is prevented as well, as by a kill."""

    def end(name: str) -> None:
        if name == "commit" or name.startswith("back"):
            raise Killed

    rig.on_operation = end
    with pytest.raises(Killed):
        rig.reverts.apply("session", plan, {})
    rig.on_operation = lambda _: None
    assert (rig.root / "a").read_text() == "1"
    (rig.root / "a").write_text("theirs")
    (rig.root / "b").unlink()
    (rig.root / "d").write_text("theirs")
    rig.reverts.recover()
    files = {name: (rig.root / name).read_text() for name in os.listdir(rig.root)}
    assert files == {"a": "theirs", "c": "2", "d": "theirs"}
    rows = rig.database.tree.load()
    assert {path: row.state for path, row in rows.items()} == {"a": states["a"], "b": states["b"]}
    assert all(row.is_fresh for row in rows.values())
    assert rig.database.contents.get(states["a"].digest) == b"2"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("leads_to", ["outside", "workspace/elsewhere"])
def test_a_parent_that_becomes_a_link_is_not_entered(tmp_path: Path, leads_to: str) -> None:
    rig = RevertRig(tmp_path)
    rig.write({"folder/file": "before", "elsewhere/other": ""})
    (tmp_path / "outside").mkdir()
    with rig.call() as changes:
        rig.write({"folder/file": "after"})
    plan = rig.plan(changes)

    def swap() -> None:
        (rig.root / "folder").rename(tmp_path / "gone")
        (tmp_path / leads_to / "file").write_text("after")
        (rig.root / "folder").symlink_to(tmp_path / leads_to)

    rig.on_operation = at_operation("journal swapping", swap)
    with pytest.raises(RevertRefused):
        rig.reverts.apply("session", plan, {})
    assert (tmp_path / leads_to / "file").read_text() == "after"
    [file] = rig.plan(changes).files
    assert (file.status, file.problem) == ("blocked", "outside")


def test_a_command_that_begins_meanwhile_stops_it(tmp_path: Path) -> None:
    rig = RevertRig(tmp_path)
    rig.write({"a": "1"})
    with rig.call() as changes:
        rig.write({"a": "2"})
    rig.on_operation = at_operation("journal swapping", lambda: rig.tree.busy.add("a"))
    with pytest.raises(RevertRefused, match="A command is running that may change a"):
        rig.revert(changes)
    assert (rig.root / "a").read_text() == "2"
    assert rig.leftovers() == []


def test_two_reverts_at_once_are_refused(tmp_path: Path) -> None:
    rig = RevertRig(tmp_path)
    rig.write({"a": "1"})
    with rig.call() as changes:
        rig.write({"a": "2"})
    plan = rig.plan(changes)
    refused = []

    def revert_too() -> None:
        other = RevertRig(tmp_path)
        other.reverts.recover()
        with pytest.raises(RevertRefused, match="Another Helix Desktop") as error:
            other.reverts.apply("session", plan, {})
        refused.append(error)

    rig.on_operation = AtOperation(1, revert_too)
    rig.reverts.apply("session", plan, {})
    assert len(refused) == 1
    assert (rig.root / "a").read_text() == "1"
