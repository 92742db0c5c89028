"""What real turns change of real files: listed by turn, diffed, reverted, redone, a subagent's too."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from helix_desktop.agent.session import CallOutput
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import RevertPlan, RevertSelection, SessionChanges
from tests.support.file_changes.tree import Tree, walk_tree
from tests.support.loop_rig import LoopRig, loop_rig
from tests.support.prompted_calls import CallingModel

TURNS: tuple[tuple[tuple[str, dict[str, Any]], ...], ...] = (
    (
        ("write_file", {"path": "src/new.py", "content": "one = 1\ntwo = 2\n"}),
        ("edit_file", {"path": "a.txt", "old_text": "line 2\n", "new_text": "second\n"}),
    ),
    (
        (
            "run_command",
            {"command": "sed -i 's/line 9/ninth/' a.txt && chmod +x b.sh && rm c.txt && mkdir no"},
        ),
        ("read_file", {"path": "a.txt"}),
    ),
)


def make_project(folder: Path) -> Tree:
    """Make the small project of a rig; return what stands there."""
    root = folder / "project"
    root.mkdir()
    (root / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 10)))
    (root / "b.sh").write_text("#!/bin/sh\n")
    (root / "c.txt").write_text("c\n")
    return walk_tree(root)


def by_turn(changes: SessionChanges) -> list[tuple[int, str, str, dict[str, str]]]:
    """Return what each capture says: its turn, source, tool, and kinds of change by path."""
    return [
        (row.turn, row.source, row.tool, {change.path: change.kind for change in row.changes})
        for row in changes.captures
    ]


async def plan_turn(rig: LoopRig, turn: int) -> RevertPlan:
    session_id = rig.conversation.session.id
    rows = (await rig.workspace.changes.of_session(session_id)).captures
    selection = RevertSelection(tuple(row.capture_id for row in rows if row.turn == turn), scope="turn")
    return await rig.workspace.changes.plan(session_id, selection)


async def test_what_turns_changed_is_listed_reverted_and_redone(tmp_path: Path) -> None:
    """By the tools and by a command; the second turn alone, then the first, then both again."""
    trees = [make_project(tmp_path)]
    async with loop_rig(tmp_path, CallingModel(), has_file_history=True) as rig:
        for calls in TURNS:
            await rig.conversation.run(json.dumps(calls))
            trees.append(walk_tree(rig.root))
        session_id, changes = rig.conversation.session.id, rig.workspace.changes
        listed = await changes.of_session(session_id)
        assert by_turn(listed) == [
            (1, "tool", "write_file", {"src": "created", "src/new.py": "created"}),
            (1, "tool", "edit_file", {"a.txt": "changed"}),
            (
                *(2, "command", "run_command"),
                {"a.txt": "changed", "b.sh": "mode", "c.txt": "deleted", "no": "created"},
            ),
        ]
        (by_command,) = rig.events(ChangesRecorded)[2:]
        assert by_command.files == 3, "the folder is none"
        [whole] = [file for file in listed.files if file.path == "a.txt"]
        diff = await changes.diff(whole.before, whole.after)
        assert (diff.added, diff.removed) == (2, 2)
        second = await changes.revert(session_id, await plan_turn(rig, 2), {})
        assert walk_tree(rig.root) == trees[1]
        first = await changes.revert(session_id, await plan_turn(rig, 1), {})
        assert walk_tree(rig.root) == trees[0]
        rows = (await changes.of_session(session_id)).captures
        assert [row.is_reverted for row in rows] == [True, True, True, False, False]
        for recorded, tree in ((first, trees[1]), (second, trees[2])):
            assert recorded is not None
            assert isinstance(recorded.event, ChangesRecorded)
            await changes.revert(session_id, await changes.plan_redo(session_id, recorded.event.capture), {})
            assert walk_tree(rig.root) == tree
        rows = (await changes.of_session(session_id)).captures
        assert [row.is_reverted for row in rows[:5]] == [False, False, False, True, True]
        rewind = await changes.plan_rewind(session_id, rows[0].turn_seq)
        await changes.revert(session_id, rewind, {})
        assert walk_tree(rig.root) == trees[0]
        await rig.assert_consistent()


async def test_a_stopped_turn_keeps_what_its_command_wrote_and_said(tmp_path: Path) -> None:
    """Its output until then is cached and in the next request, and the file it made can be reverted."""
    make_project(tmp_path)
    async with loop_rig(tmp_path, CallingModel(), has_file_history=True) as rig:
        is_begun = asyncio.Event()
        rig.conversation.session.on(CallOutput, lambda _: is_begun.set())
        call = ("run_command", {"command": "echo x > new.txt; echo begun; sleep 300; echo later"})
        await rig.conversation.send(json.dumps([call]))
        await is_begun.wait()
        await rig.conversation.stop()
        [answer] = rig.events(ToolAnswered)
        assert (answer.ok, answer.outcome) == (False, "stopped")
        [content] = await rig.store.read_contents([answer.digest])
        assert content is not None
        assert content.endswith(b"\nbegun\n")
        assert answer.text.endswith("\nbegun\n")
        changes = await rig.workspace.changes.of_session(rig.conversation.session.id)
        assert by_turn(changes) == [(1, "command", "run_command", {"new.txt": "created"})]
        await rig.conversation.run("[]")
        assert any(message.get("content") == answer.text for message in rig.chat_requests[-1].messages)
        await rig.assert_consistent()


async def test_the_first_turn_is_reverted_below_the_second_and_the_users_edit(tmp_path: Path) -> None:
    """Where lines of the same file changed later, both are merged if the user says so; theirs stay."""
    make_project(tmp_path)
    async with loop_rig(tmp_path, CallingModel(), has_file_history=True) as rig:
        for calls in TURNS:
            await rig.conversation.run(json.dumps(calls))
        with (rig.root / "a.txt").open("a") as file:
            file.write("by the user\n")
        session_id, changes = rig.conversation.session.id, rig.workspace.changes
        plan = await plan_turn(rig, 1)
        assert {file.path: file.status for file in plan.files} == {
            "a.txt": "merge",
            "src": "ready",
            "src/new.py": "ready",
        }
        await changes.revert(session_id, plan, {"a.txt": "merged"})
        lines = [f"line {number}" for number in range(1, 9)]
        assert (rig.root / "a.txt").read_text().splitlines() == [*lines, "ninth", "by the user"]
        assert not (rig.root / "src").exists()
        rows = (await changes.of_session(session_id)).captures
        assert [row.source for row in rows] == ["tool", "tool", "command", "outside", "revert"]


async def test_what_a_subagent_changed_is_in_its_parents_list(tmp_path: Path) -> None:
    """In the turn that started it; and it comes back with that turn."""
    before = make_project(tmp_path)
    async with loop_rig(tmp_path, CallingModel(), has_file_history=True) as rig:
        prompt = json.dumps([("run_command", {"command": "echo sub > sub.txt && rm c.txt"})])
        await rig.conversation.run("[]")
        await rig.conversation.subagents.run(prompt, call_id="call_0")
        rows = (await rig.workspace.changes.of_session(rig.conversation.session.id)).captures
        assert [(row.turn, row.source, row.session != rig.conversation.session.id) for row in rows] == [
            (1, "command", True)
        ]
        await rig.workspace.changes.revert(rig.conversation.session.id, await plan_turn(rig, 1), {})
        assert walk_tree(rig.root) == before
