"""Plans: what is taken back by itself, merged, left to the user, or named as impossible."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helix_desktop.domain.errors import RevertRefused
from helix_desktop.domain.file_history.changes import FileChange, FileState, PlannedFile
from tests.support.revert_rig import LIMIT, RevertRig

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions and links")

LINES = "".join(f"line {number}\n" for number in range(10))


@pytest.fixture
def rig(tmp_path: Path) -> RevertRig:
    return RevertRig(tmp_path)


def text_of(rig: RevertRig, state: FileState | None) -> str:
    assert state is not None
    return rig.database.contents.get(state.digest).decode()


def change(rig: RevertRig, **files: str) -> list[FileChange]:
    with rig.call() as changes:
        rig.write(files)
    return changes


def test_several_changes_of_a_path_are_taken_back_as_a_whole(rig: RevertRig) -> None:
    rig.write({"a": "1"})
    changes = [*change(rig, a="2", new="n"), *change(rig, a="3", new="m"), *change(rig, a="4")]
    planned = rig.planned(changes)
    assert {path: file.status for path, file in planned.items()} == {"a": "ready", "new": "ready"}
    assert planned["new"].former is None
    assert text_of(rig, planned["a"].former) == "1"
    assert rig.planned(changes[:2])["a"].status == "conflict"


def test_what_is_back_already_needs_nothing(rig: RevertRig) -> None:
    rig.write({"a": "1"})
    changes = change(rig, a="2", b="new")
    rig.write({"a": "1"})
    (rig.root / "b").unlink()
    assert {file.status for file in rig.plan(changes).files} == {"same"}
    assert rig.revert(changes) is None


def test_what_the_user_took_back_among_other_edits_stays(rig: RevertRig) -> None:
    rig.write({"a": LINES})
    changes = change(rig, a=LINES.replace("line 2", "the agent's"))
    rig.write({"a": LINES.replace("line 8", "the user's")})
    assert rig.planned(changes)["a"].status == "same"
    assert rig.revert(changes) is None
    assert rig.revert(changes, {"a": "former"}) is None


def test_a_later_change_in_other_lines_is_merged_by_choice(rig: RevertRig) -> None:
    rig.write({"a": LINES})
    changes = change(rig, a=LINES.replace("line 2", "the agent's"))
    users = LINES.replace("line 8", "the user's")
    rig.write({"a": users.replace("line 2", "the agent's")})
    [file] = rig.plan(changes).files
    assert file.status == "merge"
    assert text_of(rig, file.merged) == users
    assert rig.revert(changes) is None  # without a choice nothing happens
    rig.revert(changes, {"a": "merged"})
    assert (rig.root / "a").read_text() == users


def test_taking_back_an_earlier_change_keeps_a_later_one_of_the_agent(rig: RevertRig) -> None:
    """Of three changes the first and the last are taken back; the one between them stays."""
    rig.write({"a": LINES})
    texts = [LINES.replace("line 1", "first")]
    texts.append(texts[0].replace("line 5", "second"))
    texts.append(texts[1].replace("line 8", "third"))
    first, _second, third = (change(rig, a=text) for text in texts)
    [file] = rig.plan([*first, *third]).files
    assert file.status == "merge"
    assert text_of(rig, file.merged) == LINES.replace("line 5", "second")


@pytest.mark.parametrize("later", [LINES.replace("line 2", "mine"), "bin\0ary", None])
def test_a_later_change_of_the_same_is_a_conflict_with_three_choices(
    rig: RevertRig, later: str | None
) -> None:
    rig.write({"a": LINES})
    changes = change(rig, a=LINES.replace("line 2", "the agent's"))
    (rig.root / "a").unlink()
    if later is not None:
        rig.write({"a": later})
    [file] = rig.plan(changes).files
    assert file.status == "conflict"
    assert rig.revert(changes, {"a": "present"}) is None
    captured = rig.revert(changes, {"a": "former"})
    assert (rig.root / "a").read_text() == LINES
    assert captured is not None
    rig.revert(captured.list.changes)
    assert (rig.root / "a").exists() == (later is not None)


@POSIX
def test_contents_and_permissions_are_merged_apart(rig: RevertRig) -> None:
    rig.write({"a": b"\0one"})
    (rig.root / "a").chmod(0o644)
    with rig.call() as changes:
        rig.write({"a": b"\0two"})
    (rig.root / "a").chmod(0o755)
    rig.revert(changes, {"a": "merged"})
    assert (rig.root / "a").read_bytes() == b"\0one"
    assert (rig.root / "a").stat().st_mode & 0o777 == 0o755


def test_a_merge_by_hand_is_applied(rig: RevertRig) -> None:
    rig.write({"a": "1"})
    changes = change(rig, a="2")
    rig.write({"a": "3"})
    plan = rig.plan(changes)
    [file] = plan.files
    digest = rig.database.contents.put(b"1 and 3")
    by_hand = FileState("file", digest, 7, file.present.mode if file.present else 0)
    plan = type(plan)((PlannedFile("a", file.present, file.base, file.former, "conflict", "", by_hand),))
    with pytest.raises(RevertRefused, match="isn't merged yet"):
        rig.reverts.apply("session", rig.plan(changes), {"a": "merged"})
    rig.reverts.apply("session", plan, {"a": "merged"})
    assert (rig.root / "a").read_text() == "1 and 3"


def _forget(rig: RevertRig, changes: list[FileChange]) -> None:
    assert changes[0].before is not None
    rig.database._connection.execute(
        "DELETE FROM contents WHERE digest = ?", (bytes.fromhex(changes[0].before.digest),)
    )


def _link_twice(rig: RevertRig, changes: list[FileChange]) -> None:
    os.link(rig.root / "in/a", rig.root / "other-name")


def _use(rig: RevertRig, changes: list[FileChange]) -> None:
    rig.tree.busy.add("in/a")


def _make_parent_a_file(rig: RevertRig, changes: list[FileChange]) -> None:
    shutil.rmtree(rig.root / "in")
    rig.write({"in": ""})


def _make_parent_a_link(rig: RevertRig, changes: list[FileChange]) -> None:
    (rig.root / "in").rename(rig.root / "out")
    (rig.root / "in").symlink_to("out")


def _make_pipe(rig: RevertRig, changes: list[FileChange]) -> None:
    (rig.root / "in/a").unlink()
    os.mkfifo(rig.root / "in/a")


def _grow(rig: RevertRig, changes: list[FileChange]) -> None:
    (rig.root / "in/a").write_bytes(bytes(LIMIT + 1))


@POSIX
@pytest.mark.parametrize(
    ("disturb", "problem"),
    [
        (_forget, "content_removed"),
        (_link_twice, "hard_links"),
        (_use, "busy"),
        (_make_parent_a_file, "not_a_folder"),
        (_make_parent_a_link, "outside"),
        (_make_pipe, "not_covered"),
        (_grow, "not_covered"),
    ],
)
def test_what_cannot_be_reverted_says_why(
    rig: RevertRig, disturb: Callable[[RevertRig, list[FileChange]], None], problem: str
) -> None:
    rig.write({"in/a": "1"})
    with rig.call() as changes:
        rig.write({"in/a": "2"})
    disturb(rig, changes)
    [file] = rig.plan(changes).files
    assert (file.status, file.problem) == ("blocked", problem)
    assert rig.revert(changes) is None
    with pytest.raises(RevertRefused):
        rig.revert(changes, {"in/a": "former"})


@pytest.mark.parametrize(
    "path", ["../a", "/etc/passwd", "a/../../b", ".git/hooks/pre-commit", "x/.GIT/config", "a//b", ""]
)
def test_a_path_that_is_none_of_the_workspace_is_refused(rig: RevertRig, path: str) -> None:
    [file] = rig.plan([FileChange(path, None, FileState("file", "0" * 64, 1, 0o644))]).files
    assert (file.status, file.problem) == ("blocked", "outside")


def test_a_secret_is_not_covered_but_its_permissions_are(rig: RevertRig) -> None:
    rig.write({".env": "key=1"})
    changes = change(rig, **{".env": "key=2"})
    assert rig.planned(changes)[".env"].problem == "not_covered"
    if sys.platform != "win32":
        with rig.call() as changes:
            (rig.root / ".env").chmod(0o640)
        rig.revert(changes)
        assert (rig.root / ".env").stat().st_mode & 0o777 != 0o640


def test_a_folder_in_which_something_else_is_stays(rig: RevertRig) -> None:
    with rig.call() as changes:
        rig.write({"new/deep/file": "new", "new/other": "new"})
    rig.write({"new/deep/mine": "the user's"})
    problems = {path: file.problem for path, file in rig.planned(changes).items()}
    assert problems == {"new": "not_empty", "new/deep": "not_empty", "new/deep/file": "", "new/other": ""}
    rig.revert(changes)
    assert sorted(rig.states()) == ["new", "new/deep", "new/deep/mine"]


def test_a_folder_into_which_something_comes_back_stays(rig: RevertRig) -> None:
    rig.write({"in/a": "1"})
    states = rig.states()
    (rig.root / "in/a").unlink()
    changes = [FileChange("in", None, states["in"]), FileChange("in/a", states["in/a"], None)]
    assert {path: file.problem for path, file in rig.planned(changes).items()} == {
        "in": "not_empty",
        "in/a": "",
    }
    rig.revert(changes)
    assert rig.states() == states


def test_a_folder_that_vanished_is_made_again(rig: RevertRig) -> None:
    rig.write({"in/deep/a": "1"})
    with rig.call() as changes:
        (rig.root / "in/deep/a").unlink()
    before = rig.states()
    shutil.rmtree(rig.root / "in")
    captured = rig.revert(changes)
    assert (rig.root / "in/deep/a").read_text() == "1"
    assert captured is not None
    assert [change.path for change in captured.list.changes] == ["in", "in/deep", "in/deep/a"]
    rig.revert(captured.list.changes)
    assert sorted(before) == ["in", "in/deep"]
    assert rig.states() == {}


@POSIX
def test_a_folder_comes_back_in_one_that_gives_its_group_on(rig: RevertRig) -> None:
    """There a new folder has a bit that nobody set."""
    rig.root.chmod(0o2775)
    rig.write({"in/deep/a": "1"})
    before = rig.states()
    with rig.call() as changes:
        shutil.rmtree(rig.root / "in")
    rig.revert(changes)
    assert rig.states() == before


@POSIX
def test_attributes_of_a_replaced_file_stay(rig: RevertRig) -> None:
    rig.write({"a": "1"})
    changes = change(rig, a="2")
    try:
        os.setxattr(rig.root / "a", "user.note", b"mine")
    except (OSError, AttributeError):
        pytest.skip("the disk has no such attributes")
    rig.revert(changes)
    assert os.getxattr(rig.root / "a", "user.note") == b"mine"
