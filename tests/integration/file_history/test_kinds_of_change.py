"""Every kind of change, by commands and by tools: bytes, modes and links come back, or it is named before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_desktop.domain.file_history.changes import CapturedChanges, FileChange, FileState
from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.domain.file_history.hunks import apply_hunks
from helix_desktop.domain.unicode_safety import escape_undecodable
from tests.support.file_changes.cases import (
    FILE_CASES,
    FORMATTED_FILES,
    HUNK_LINES,
    TREE_CASES,
    UNCOVERED_CASES,
    Calls,
    ChangeCase,
)
from tests.support.file_changes.rig import HistoryRig, open_rig, prepare_workspace
from tests.support.file_changes.tree import (
    File,
    Tree,
    differing,
    false_reasons,
    join_changes,
    make_tree,
    outside_of,
    wrong_changes,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")

_MOST_PARTS = 3  # paths of one change that are taken back alone; of many only the first


def ways() -> Iterator[object]:
    for case in (*FILE_CASES, *TREE_CASES, *UNCOVERED_CASES):
        if case.command:
            command = (("run_command", {"command": case.command}),)
            yield pytest.param(case, command, id=f"{case.name}, by command")
        if case.calls:
            yield pytest.param(case, case.calls, id=f"{case.name}, by tool")


@pytest.mark.parametrize(("case", "calls"), list(ways()))
async def test_a_change_comes_back_whole_and_in_parts(case: ChangeCase, calls: Calls, tmp_path: Path) -> None:
    """It is named before, recorded, comes back, and can be done again."""
    prepare_workspace(tmp_path / "work", case)
    async with open_rig(tmp_path) as rig:
        before = rig.walk()
        check_named(rig, case)
        captures = await rig.run(calls)
        after = rig.walk()
        assert bool(differing(before, after)) == case.is_change
        check_recorded(case, captures, before, after)
        await check_revert_and_redo(rig, case, captures, before, after)
        await check_parts(rig, case, captures, before, after)
        if case.hunks:
            await check_hunks(rig, case.hunks, captures, before, after)


async def test_what_is_not_copied_yet_is_named_or_comes_back(tmp_path: Path) -> None:
    """A command that runs while the first copy is made."""
    (tmp_path / "work").mkdir()
    make_tree(tmp_path / "work", {f"{number % 9}/{number}.txt": f"{number}\n" * 99 for number in range(400)})
    async with open_rig(tmp_path, is_copied=False) as rig:
        before = rig.walk()
        pending: set[str] = set()
        unsubscribe = rig.history.listen(
            lambda: pending.update(place.path for place in rig.history.coverage.places)
        )
        pending.update(place.path for place in rig.history.coverage.places)
        captured = await rig.run_command("rm -r 0 1 2 3; for i in 4/*; do echo > $i; done")
        unsubscribe()
        assert captured is not None
        unstored = {change.path for change in captured.list.changes if not change.is_covered}
        assert unstored <= pending
        await rig.revert(await rig.plan([captured]))
        assert differing(before, rig.walk()) == unstored


@pytest.mark.parametrize("command", ["mv .env env.txt", "mv sub sub2", "mv sub/app.log ."])
async def test_a_file_known_by_hash_comes_back_where_it_was_moved_from(command: str, tmp_path: Path) -> None:
    """Taking the move back removes it at its new path: nothing else may then be left of it."""
    (tmp_path / "work").mkdir()
    make_tree(tmp_path / "work", {".gitignore": "*.log\n", ".env": "KEY=1\n", "sub/app.log": "1\n"})
    async with open_rig(tmp_path) as rig:
        before = rig.walk()
        captured = await rig.run_command(command)
        assert captured is not None
        await rig.revert(await rig.plan([captured]))
        assert rig.walk() == before


def check_named(rig: HistoryRig, case: ChangeCase) -> None:
    """Assert that what is not covered is named before anything runs."""
    places = {place.path: place.reason for place in rig.history.coverage.places}
    for path, reason in case.uncovered.items():
        assert places.get(escape_undecodable(path)) == reason
    linked = {path for path, problem in case.refused.items() if problem == "hard_links"}
    assert linked == {path for path, reason in places.items() if reason == "hard_links"}


def check_recorded(case: ChangeCase, captures: list[CapturedChanges], before: Tree, after: Tree) -> None:
    """Assert that the lists of changes say what two walks say, and of which files no content is stored."""
    changes = joined(captures)
    assert wrong_changes(changes, before, after, (*case.uncovered, *case.unstored)) == []
    unstored = {change.path for change in changes if not change.is_covered}
    assert unstored == {path for path in case.unstored if before.get(path) != after.get(path)}
    assert {change.path for change in changes if change.path in case.uncovered} <= unstored
    all_changes = (change for captured in captures for change in captured.list.changes)
    moves = {change.path: change.moved_from for change in all_changes}
    assert case.moves.items() <= moves.items()


async def check_revert_and_redo(
    rig: HistoryRig, case: ChangeCase, captures: list[CapturedChanges], before: Tree, after: Tree
) -> None:
    """Assert that all that is covered comes back, nothing else is touched, and a redo brings all again."""
    plan = await rig.plan(captures)
    lost = [path for path in case.unstored if path not in case.at_hand]
    unstored = [path for path in lost if before.get(path) != after.get(path)]
    left = {file.path: file.problem for file in plan.files if not file.can_apply}
    assert left == {**dict.fromkeys(unstored, "not_covered"), **case.refused}
    revert = await rig.revert(plan)
    reverted = rig.walk()
    untouched = (*case.uncovered, *lost, *case.refused)
    assert outside_of(differing(reverted, before), untouched) == set()
    assert differing(reverted, after) <= outside_of(before.keys() | after.keys(), untouched)
    assert await rig.scan() == []  # the history knows what its own revert did
    await rig.revert(await rig.plan(revert))
    assert differing(rig.walk(), after) == set()


async def check_parts(
    rig: HistoryRig, case: ChangeCase, captures: list[CapturedChanges], before: Tree, after: Tree
) -> None:
    """Assert that single paths come back alone, with the folders that they need, or that it says why not."""
    changes = joined(captures)
    for change in changes[: 1 if len(changes) >= FORMATTED_FILES else _MOST_PARTS]:
        plan = await rig.plan(captures, change.path)
        [file] = [file for file in plan.files if file.path == change.path]
        if not file.can_apply:
            assert false_reasons(rig.root, plan, changes) == []
            continue
        part = await rig.revert(plan)
        reverted = rig.walk()
        assert reverted.get(change.path) == before.get(change.path)
        needed = {change.path, *(parent.as_posix() for parent in Path(change.path).parents)}
        assert differing(reverted, after) <= needed
        await rig.revert(await rig.plan(part))
        assert differing(rig.walk(), after) == set()


async def check_hunks(
    rig: HistoryRig, path: str, captures: list[CapturedChanges], before: Tree, after: Tree
) -> None:
    """Assert that one hunk comes back alone, the other stays, and a redo brings it again."""
    [change] = [change for change in joined(captures) if change.path == path]
    former = before[path]
    later = after[path]
    assert isinstance(former, File)
    assert isinstance(later, File)
    assert change.after is not None
    diff = diff_contents(former.data, later.data)
    for number, line in enumerate(HUNK_LINES):
        without = apply_hunks(former.data, diff, [number])
        digest = await rig.history.put_content(without)
        base = FileState("file", digest, len(without), change.after.mode)
        plan = await rig.history.plan_revert([FileChange(path, base, change.after)])
        part = await rig.revert(plan)
        lines = later.data.splitlines(keepends=True)
        lines[line - 1] = former.data.splitlines(keepends=True)[line - 1]
        assert rig.walk() == {**after, path: File(b"".join(lines), later.mode)}
        await rig.revert(await rig.plan(part))
    assert differing(rig.walk(), after) == set()


def joined(captures: list[CapturedChanges]) -> list[FileChange]:
    return join_changes(captured.list.changes for captured in captures)
