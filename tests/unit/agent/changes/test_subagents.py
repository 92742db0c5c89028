"""What subagents change stands in their own logs, and in the session that they work for."""

from __future__ import annotations

import pytest

from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.events.conversation import SubagentStarted
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import RevertSelection
from tests.support.changing_tools import ChangingTools, writes
from tests.support.memory_file_history import MemoryFileHistory
from tests.support.scripted_model import replies_in_order, text_reply, tool_call_reply
from tests.support.subagent_rig import PARENT_PROMPT, DelegateToolRig

TASKS = ("Write a.", "Write b.")


@pytest.fixture
async def rig() -> DelegateToolRig:
    """A parent whose two subagents each changed a file, and who then changed one itself."""
    delegate = [("delegate", {"task": task, "title": task}) for task in TASKS]
    rig = DelegateToolRig(
        {
            PARENT_PROMPT: replies_in_order(
                tool_call_reply(*delegate),
                tool_call_reply(writes(c_txt="c\n"), id_prefix="p"),
                text_reply("Done."),
            ),
            TASKS[0]: replies_in_order(tool_call_reply(writes(a_txt="1\n")), text_reply("Done.")),
            TASKS[1]: replies_in_order(tool_call_reply(writes(b_txt="2\n")), text_reply("Done.")),
        }
    )
    tools = ChangingTools()
    tools.files, rig.tools = rig.files, tools
    rig.history = MemoryFileHistory(rig.files)
    rig._approver = FixedApprover("once")
    rig.workspace = rig.create_workspace(rig.store, PROFILES["balanced"])
    await rig.begin()
    assert (await rig.conversation.run(PARENT_PROMPT)).how == "done"
    return rig


async def test_each_log_has_its_own_and_the_parent_all_of_it_in_its_turn(rig: DelegateToolRig) -> None:
    parent = rig.conversation.session.id
    changes = await rig.workspace.changes.of_session(parent)
    started = {
        entry.event.session: entry.seq
        for entry in rig.conversation.session.log
        if isinstance(entry.event, SubagentStarted)
    }
    *of_subagents, own = changes.captures  # what the subagents did at the same time is of both
    assert [file.path for file in changes.files] == ["a.txt", "b.txt", "c.txt"]
    assert {row.turn_title for row in changes.captures} == {PARENT_PROMPT}
    assert own.session == parent
    assert {row.session for row in of_subagents} <= set(started)
    for row in of_subagents:
        log = await rig.stored_log(row.session)
        assert row.seq in [entry.seq for entry in log if isinstance(entry.event, ChangesRecorded)]
        assert row.place == started[row.session]

    plan = await rig.workspace.changes.plan(parent, RevertSelection(changes.by_agent(), scope="session"))
    assert await rig.workspace.changes.revert(parent, plan, {}) is not None
    assert rig.files.paths == ()


async def test_what_a_kill_left_of_a_subagent_is_recorded_by_its_parent_once(rig: DelegateToolRig) -> None:
    assert rig.history is not None
    child = (await rig.subagent_sessions())[0]
    rig.files.write("late.txt", b"late\n")
    left = await rig.history.scan(child)
    assert left is not None
    await rig.conversation.close()
    for _ in range(2):
        workspace = rig.create_workspace(rig.store, PROFILES["balanced"])
        parent = await workspace.open_session(rig.conversation.session.id)
        await rig.wait_until(lambda: not rig.history or not rig.history.unrecorded_ids)
        captures = [
            row.capture_id for row in (await workspace.changes.of_session(parent.session.id)).captures
        ]
        assert captures.count(left.capture.id) == 1
        await workspace.close_session(parent.session.id)
