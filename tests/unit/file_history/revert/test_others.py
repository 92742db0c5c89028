"""Other programs that write while a revert runs: what they write is never lost."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from helix_desktop.domain.errors import RevertRefused
from tests.support.revert_rig import AtOperation, RevertRig, at_operation

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
    plan, refused = rig.plan(changes), []

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
