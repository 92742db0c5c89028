"""Reverts: what is planned, any change of any tree, and what a user may not do."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.errors import RevertRefused
from helix_desktop.domain.file_history.changes import FileChange, FileState, PlannedFile
from helix_desktop.system import folders
from tests.support.file_changes.tree import Entry, File, Folder, Link, Sketch, make_tree
from tests.support.revert_rig import LIMIT, RevertRig, at_operation, change_everything, run_as_user

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


def test_a_folder_stays_for_what_the_user_keeps_in_it(rig: RevertRig) -> None:
    with rig.call() as changes:
        rig.write({"new/a": "1", "new/b": "2"})
    rig.write({"new/a": "mine"})
    rig.revert(changes)
    assert sorted(rig.states()) == ["new", "new/a"]


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


NAMES = st.sampled_from(["a", "b", "A", "é", "a b"])
ENTRIES = st.one_of(
    st.builds(File, st.sampled_from([b"", b"x", b"x\ny\n", b"\0"]), st.sampled_from([0o600, 0o755])),
    st.builds(Link, st.sampled_from(["a", "b/a", "../out"])),
    st.builds(Folder, st.sampled_from([0o700, 0o755, 0o1777])),
)


def sketch(entries: list[tuple[list[str], File | Link | Folder]]) -> dict[str, Entry]:
    """Return a tree that can be made: nothing but folders above what stands in them."""
    tree: dict[str, Entry] = {}
    for parts, entry in entries:
        above = ["/".join(parts[:length]) for length in range(1, len(parts))]
        if all(isinstance(tree.get(path, Folder()), Folder) for path in above):
            tree |= {path: Folder() for path in above if path not in tree}
            tree.setdefault("/".join(parts), entry)
    return tree


ROOTS = st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=3), ENTRIES), max_size=10).map(sketch)


def clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
            clear(path)
            path.rmdir()
        else:
            path.unlink()


@pytest.mark.skipif(sys.platform != "linux", reason="names that differ in case alone, links and permissions")
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(ROOTS, ROOTS, ROOTS)
def test_any_change_is_taken_back_and_done_again(first: Sketch, second: Sketch, third: Sketch) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        rig = RevertRig(folder)
        make_tree(rig.root, first)
        before = rig.states()
        captured = []
        for tree in (second, third):
            with rig.call() as changes:
                clear(rig.root)
                make_tree(rig.root, tree)
            captured.append(changes)
        after = rig.states()
        done = rig.revert([*captured[0], *captured[1]])
        assert rig.states() == before
        if done is not None:
            rig.revert(done.list.changes)
        assert rig.states() == after
        for changes in reversed(captured):
            rig.revert(changes)
        assert rig.states() == before
        rig.database.close()
    finally:
        clear(folder)
        shutil.rmtree(folder)


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


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        yield Path(place)


@POSIX
def test_a_folder_that_may_not_be_written_is_named(folder: Path) -> None:
    def work() -> None:
        rig = RevertRig(folder)
        rig.write({"in/a": "1", "b": "1"})
        with rig.call() as changes:
            rig.write({"in/a": "2", "b": "2", "in/new": "3"})
        (rig.root / "in").chmod(0o500)
        problems = {path: file.problem for path, file in rig.planned(changes).items()}
        assert problems == {"b": "", "in/a": "no_permission", "in/new": "no_permission"}
        rig.revert(changes)
        assert (rig.root / "b").read_text() == "1"
        assert (rig.root / "in/a").read_text() == "2"

    run_as_user(folder, work)


@POSIX
def test_permission_that_goes_after_the_plan_changes_nothing(folder: Path) -> None:
    def work() -> None:
        rig = RevertRig(folder)
        rig.write({"a": "1", "in/a": "1"})
        with rig.call() as changes:
            rig.write({"a": "2", "in/a": "2"})
        after = rig.states()
        rig.on_operation = at_operation("journal swapping", lambda: (rig.root / "in").chmod(0o500))
        with pytest.raises(RevertRefused, match=r"None of them was changed\. Permission denied"):
            rig.revert(changes)
        (rig.root / "in").chmod(after["in"].mode)
        assert rig.states() == after

    run_as_user(folder, work)


@POSIX
def test_what_its_owner_may_not_read_is_read_for_the_revert(folder: Path) -> None:
    def work() -> None:
        rig = RevertRig(folder)
        rig.write({"hidden": "1", "closed": "1", "sealed/a": "1"})
        before = rig.states()
        rig.write({"hidden": "2"})
        hidden, closed, sealed = (rig.root / name for name in ("hidden", "closed", "sealed"))
        changed = rig.states()
        for path in (hidden, closed, sealed):
            path.chmod(0)

        def change(name: str) -> FileChange:
            state = changed[name]
            after = FileState(state.kind, state.digest, state.size, 0)
            return FileChange(name, before[name], after)

        captured = rig.revert([change("hidden"), change("closed"), change("sealed")])
        assert rig.states() == before
        assert captured is not None
        rig.revert(captured.list.changes)
        assert [path.stat().st_mode & 0o777 for path in (hidden, closed, sealed)] == [0, 0, 0]
        hidden.chmod(0o600)
        assert hidden.read_text() == "2"
        hidden.write_text("3")  # as large as what is expected there
        hidden.chmod(0)
        with pytest.raises(RevertRefused, match="hidden changed"):
            rig.revert([change("hidden")])
        assert hidden.stat().st_mode & 0o777 == 0
        hidden.chmod(0o600)
        assert hidden.read_text() == "3"
        sealed.chmod(0o700)

    run_as_user(folder, work)
