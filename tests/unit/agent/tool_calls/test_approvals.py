"""Whole turns in which calls need a yes: by the person, by rules, and by the mode."""

from __future__ import annotations

import asyncio
from asyncio import TaskGroup
from typing import Any

import pytest

from helix_desktop.agent.session_updates import ApprovalRequested, ErrorRaised
from helix_desktop.agent.tool_calls.approvals import DENIED
from helix_desktop.context.log.mode_notes import REFUSED_IN_PLAN
from helix_desktop.domain.errors import InvalidInput, WorkspaceUntrusted
from helix_desktop.domain.events.session import ApprovalGiven, ModeChanged, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ApprovalReply, ApprovalRequest, PermissionRule
from tests.support.agent_rig import AgentRig, ScriptedTools
from tests.support.scripted_model import (
    ScriptedModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)
from tests.support.subagent_rig import PARENT_PROMPT, SubagentRig

Given = dict[str, Any]
MAKE: Given = {"kind": "command", "subject": "make test", "confined": True}
PUSH: Given = {"kind": "command", "subject": "git push", "confined": False}
EDIT: Given = {"kind": "edit", "subject": "src/a.py"}
ENVRC: Given = {"kind": "edit", "subject": ".envrc"}


def rig_of(*steps: tuple[Given, ...]) -> AgentRig:
    """A conversation whose model asks for these calls, step by step."""
    made = (
        tool_call_reply(*(("ask", one) for one in step), id_prefix=f"s{number}")
        for number, step in enumerate(steps)
    )
    return AgentRig(ScriptedModel(replies_in_order(*made, text_reply("Done."))))


async def waiting(rig: AgentRig, *ids: str) -> tuple[str, ...]:
    """Let the loop run until these calls, and no others, wait."""
    await rig.wait_until(lambda: tuple(one.call_id for one in rig.conversation.asks) == ids)
    return ids


async def test_all_that_waits_is_asked_at_once() -> None:
    """Ten calls of a step are ten questions, answered in any order; they run one by one."""
    rig = rig_of(tuple({**MAKE, "subject": f"make t{number}"} for number in range(10)))
    talk = await rig.begin()
    await talk.send("Go.")
    ids = await waiting(rig, *(f"s0{number}" for number in range(10)))
    for call_id in reversed(ids):
        assert talk.decide(call_id, "deny" if call_id == "s03" else "once")
    await rig.wait_until_idle()
    assert sorted(rig.tools.executed_calls) == sorted(set(ids) - {"s03"})
    assert [one.outcome for one in rig.events(ToolAnswered)].count("denied") == 1
    await rig.assert_consistent()


async def test_words_with_a_no_reach_the_agent() -> None:
    rig = rig_of((PUSH,))
    talk = await rig.begin()
    await talk.send("Go.")
    (call,) = await waiting(rig, "s00")
    talk.decide(call, ApprovalReply("deny", reason="Not to main.\nMake a branch."))
    await rig.wait_until_idle()
    assert tool_result_texts(rig.model.requests[1]) == [
        f"{DENIED} The user says: Not to main. Make a branch."
    ]
    (given,) = rig.events(ApprovalGiven)
    assert (given.decision, given.words, given.saved) == ("deny", "Not to main. Make a branch.", "")
    assert rig.rules.rules() == ()
    await rig.assert_consistent()


async def test_a_rule_of_the_session_holds_for_this_run_only() -> None:
    rig = rig_of((MAKE,), (MAKE, PUSH), (MAKE,))
    talk = await rig.begin()
    await talk.send("Go.")
    (call,) = await waiting(rig, "s00")
    talk.decide(call, "session")
    await waiting(rig, "s11")
    talk.decide("s11", "once")
    await rig.wait_until_idle()
    assert rig.rules.rules() == ()
    assert [one.text for one in talk.permissions.rules] == ["Use ask: make test, in the sandbox"]
    given = rig.events(ApprovalGiven)
    assert [(one.decision, one.rule) for one in given if one.subject == "make test"] == [
        ("session", ""),
        ("session", "Use ask: make test, in the sandbox"),
        ("session", "Use ask: make test, in the sandbox"),
    ]
    again = await rig.create_workspace(rig.store, rig.workspace.policy).open_session(talk.session.id)
    assert again.permissions.rules == ()


async def test_a_rule_answers_what_already_waits() -> None:
    """A yes to a pattern answers the other questions that it is about, and leaves the rest."""
    rig = rig_of(({**MAKE, "subject": "git log -1"}, {**MAKE, "subject": "git log -2"}, PUSH))
    talk = await rig.begin()
    await talk.send("Go.")
    first, second, third = await waiting(rig, "s00", "s01", "s02")
    pattern = talk.asks[0].suggested_rules[1]
    talk.decide(first, ApprovalReply("always", pattern))
    await rig.wait_until(lambda: rig.tools.executed_calls == [first, second])
    assert [one.call_id for one in talk.asks] == [third]
    talk.decide(third, "deny")
    await rig.wait_until_idle()
    assert rig.rules.rules() == (pattern,)
    assert {one.call_id: one.rule for one in rig.events(ApprovalGiven)} == {
        first: "",
        second: pattern.text,
        third: "",
    }


async def test_a_saved_no_is_stricter_than_a_saved_yes() -> None:
    rig = rig_of((PUSH,))
    await rig.rules.add(PermissionRule("ask", "git push"))
    await rig.rules.add(PermissionRule("ask", "git push *", kind="pattern", effect="deny"))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_until_idle()
    assert (rig.tools.executed_calls, rig.updates_of(ApprovalRequested)) == ([], [])
    (given,) = rig.events(ApprovalGiven)
    assert (given.decision, given.rule) == ("deny", "Never: run commands like: git push *")
    assert tool_result_texts(rig.model.requests[1]) == [f"{DENIED} A saved rule says: {given.rule}."]


async def test_a_no_can_be_saved_from_the_question() -> None:
    rig = rig_of((PUSH,), (PUSH,))
    talk = await rig.begin()
    await talk.send("Go.")
    (call,) = await waiting(rig, "s00")
    never = PermissionRule("ask", "git push", effect="deny")
    talk.decide(call, ApprovalReply("deny", never))
    await rig.wait_until_idle()
    assert rig.rules.rules() == (never,)
    assert [(one.rule, one.saved) for one in rig.events(ApprovalGiven)] == [
        ("", never.text),
        (never.text, ""),
    ]


async def test_a_rule_that_asks_is_named_in_the_question() -> None:
    rig = rig_of((EDIT,))
    await rig.rules.add(PermissionRule("*", "", kind="folder"))
    await rig.rules.add(PermissionRule("*", "src", kind="folder", effect="ask"))
    talk = await rig.begin()
    await talk.send("Go.")
    (call,) = await waiting(rig, "s00")
    assert talk.asks[0].asking_rule == "Always ask before: change any file in src"
    talk.decide(call, "once")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == [call]


async def test_a_rule_that_cannot_be_saved_allows_the_call_and_is_told() -> None:
    rig = rig_of((MAKE,))
    rig.rules.is_broken = True
    talk = await rig.begin()
    await talk.send("Go.")
    (call,) = await waiting(rig, "s00")
    talk.decide(call, "always")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == [call]
    assert [one.what for one in rig.updates_of(ErrorRaised)] == ["The rule was not saved."]
    assert [(one.decision, one.saved) for one in rig.events(ApprovalGiven)] == [("always", "")]
    assert [one.how for one in rig.events(TurnEnded)] == ["done"]


async def test_plan_refuses_what_would_change_something() -> None:
    """Also what a rule allows; the model hears of the mode by a note, and the prefix stays."""
    rig = AgentRig(
        ScriptedModel(
            replies_in_order(
                tool_call_reply(("ask", MAKE), ("ask", EDIT), ("say", {})), text_reply("A plan.")
            )
        )
    )
    await rig.rules.add(PermissionRule("ask", "make test"))
    talk = await rig.begin()
    await talk.set_mode("plan")
    await talk.run("Do it.")
    assert rig.tools.executed_calls == ["c2"]
    first, second = rig.model.requests
    assert first.messages[0].text == "You are an agent."
    assert first.messages[-1].text.startswith("[Mode: plan] Only read")
    assert first.messages[-1].text.endswith("\n\nDo it.")
    assert tool_result_texts(second)[:2] == [REFUSED_IN_PLAN, REFUSED_IN_PLAN]
    assert [one.mode for one in rig.events(ApprovalGiven)][-2:] == ["plan", "plan"]
    await rig.assert_consistent()


async def test_the_model_is_told_of_a_mode_once() -> None:
    """With the first message after the change; nothing that was sent before is sent otherwise."""
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Yes.")))
    talk = await rig.begin()
    await talk.run("One.")
    await talk.set_mode("auto")
    await talk.set_mode("plan")
    await talk.run("Two.")
    await talk.run("Three.")
    await talk.set_mode("ask")
    await talk.run("Four.")
    spoken = rig.events(UserSpoke)
    assert [one.mode for one in spoken] == ["ask", "plan", "plan", "ask"]
    assert [one.note[:12] for one in spoken] == ["", "[Mode: plan]", "", "[Mode: ask] "]
    assert [one.text for one in spoken] == ["One.", "Two.", "Three.", "Four."]
    for earlier, later in zip(rig.model.requests, rig.model.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
    assert [one.mode for one in rig.events(ModeChanged)] == ["auto", "plan", "ask"]
    await rig.assert_consistent()


async def test_a_message_that_steers_tells_of_a_change_too() -> None:
    """Changed in the middle of a turn, the mode is told by the first of what steers it, and not again."""
    rig = rig_of((PUSH,), ({"kind": "other"},))
    talk = await rig.begin()
    await talk.send("Go.")
    await waiting(rig, "s00")
    await talk.send("Plan it first.", steer=True)
    await talk.send("Please.", steer=True)
    await talk.set_mode("plan")
    await rig.wait_until_idle()
    assert [one.note[:12] for one in rig.events(UserSpoke)] == ["", "[Mode: plan]", ""]
    assert rig.model.requests[1].messages[-2].text.endswith("\n\nPlan it first.")
    await talk.run("And now?")
    assert rig.events(UserSpoke)[-1].note == ""
    await rig.assert_consistent()


async def test_the_mode_is_kept_with_the_session() -> None:
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Yes.")))
    talk = await rig.begin()
    await talk.set_mode("plan")
    await talk.set_mode("plan")
    assert len(rig.events(ModeChanged)) == 1
    again = await rig.create_workspace(rig.store, rig.workspace.policy).open_session(talk.session.id)
    assert again.mode == "plan"


async def test_auto_runs_edits_and_what_is_confined_and_asks_for_the_rest() -> None:
    rig = rig_of((MAKE, EDIT, PUSH, ENVRC, {}))
    talk = await rig.begin()
    await talk.set_mode("auto")
    await talk.send("Go.")
    await waiting(rig, "s02", "s03", "s04")
    await rig.wait_until(lambda: rig.tools.executed_calls == ["s00", "s01"])
    assert [(one.decision, one.mode) for one in rig.events(ApprovalGiven)] == [("once", "auto")] * 2
    for call in ("s02", "s03", "s04"):
        talk.decide(call, "deny")
    await rig.wait_until_idle()


async def test_a_saved_no_holds_in_auto() -> None:
    rig = rig_of((EDIT,))
    await rig.rules.add(PermissionRule("*", "src", kind="folder", effect="deny"))
    talk = await rig.begin()
    await talk.set_mode("auto")
    await talk.run("Go.")
    assert rig.tools.executed_calls == []


async def test_a_change_of_mode_answers_what_waits() -> None:
    rig = rig_of((MAKE, PUSH), (PUSH,))
    talk = await rig.begin()
    await talk.send("Go.")
    await waiting(rig, "s00", "s01")
    await talk.set_mode("auto")
    await rig.wait_until(lambda: rig.tools.executed_calls == ["s00"])
    await waiting(rig, "s01")
    await talk.set_mode("plan")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["s00"]
    assert [one.outcome for one in rig.events(ToolAnswered)] == ["ran", "denied", "denied"]
    await rig.assert_consistent()


async def test_subagents_act_in_their_parents_leeway() -> None:
    """A rule of the parent's session, its mode, and a rule given at a subagent's question hold for both."""
    scripts = {
        PARENT_PROMPT: replies_in_order(tool_call_reply(("ask", MAKE), id_prefix="p"), text_reply("Begun.")),
        "alpha": replies_in_order(
            tool_call_reply(("ask", MAKE), ("ask", PUSH), id_prefix="k"), text_reply("Found.")
        ),
        "beta": replies_in_order(tool_call_reply(("ask", PUSH), id_prefix="b"), text_reply("Found.")),
        "gamma": replies_in_order(tool_call_reply(("ask", PUSH), id_prefix="g"), text_reply("Planned.")),
    }
    family = SubagentRig(scripts)
    talk = await family.begin()
    await talk.send(PARENT_PROMPT)
    await family.wait_until(lambda: talk.asks)
    talk.decide("p0", "session")
    await family.wait_until_idle()
    async with TaskGroup() as group:
        group.create_task(talk.subagents.run("alpha"))
        await family.wait_until(lambda: [one.subject for one in talk.asks] == ["git push"])
        talk.decide(talk.asks[0].call_id, "session")
    assert [one.subject for one in talk.permissions.rules] == ["make test", "git push"]
    await talk.subagents.run("beta")
    assert family.tools.executed_calls == ["p0", "k0", "k1", "b0"]
    await talk.set_mode("plan")
    result = await talk.subagents.run("gamma")
    assert family.tools.executed_calls == ["p0", "k0", "k1", "b0"]
    log = await family.stored_log(result.session)
    (spoke,) = (one.event for one in log if isinstance(one.event, UserSpoke))
    assert spoke.note.startswith("[Mode: plan]")
    child = await family.workspace.open_session(result.session)
    assert child.mode == "ask", "opened later it is a session of its own"


async def test_a_subagents_mode_is_its_parents() -> None:
    asking = replies_in_order(tool_call_reply(("ask", PUSH), id_prefix="k"), text_reply("Found."))
    family = SubagentRig(
        {PARENT_PROMPT: replies_in_order(tool_call_reply(("delegate", {"task": "alpha"}))), "alpha": asking}
    )
    talk = await family.begin()
    await talk.send(PARENT_PROMPT)
    await family.wait_until(lambda: talk.asks)
    (child,) = await family.subagent_sessions()
    opened = await family.workspace.open_session(child)
    with pytest.raises(InvalidInput, match="in the mode of the session that started it"):
        await opened.set_mode("auto")
    await talk.set_mode("plan")
    await family.wait_until_idle()
    given = [one.event for one in await family.stored_log(child) if isinstance(one.event, ApprovalGiven)]
    assert [(one.decision, one.mode) for one in given] == [("deny", "plan")]


async def test_nothing_leaves_an_untrusted_folder() -> None:
    """No message begins a turn, no handover asks a model, no call runs (CVE-2025-59536, CVE-2026-21852)."""
    rig = rig_of(({"kind": "other"},))
    talk = await rig.begin()
    rig.is_trusted = False
    for sending in (talk.send, talk.run):
        with pytest.raises(WorkspaceUntrusted, match="not trusted yet"):
            await sending("Go.")
    assert (rig.model.requests, rig.tools.executed_calls, rig.events(UserSpoke)) == ([], [], [])
    rig.is_trusted = True
    await talk.send("Go.")
    await waiting(rig, "s00")
    rig.is_trusted = False
    talk.decide("s00", "once")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == []
    assert len(rig.model.requests) == 1
    assert rig.events(ToolAnswered)[0].text.startswith("This folder is not trusted yet.")
    (ended,) = rig.events(TurnEnded)
    assert (ended.how, ended.what) == ("failed", "This folder is not trusted yet.")


class SlowFirst(ScriptedTools):
    """Tools that take longer to say what is to be asked about the first call of a step."""

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """The same, the first one later."""
        for _ in range(20 if call.id.endswith("0") else 0):
            await asyncio.sleep(0)
        return await super().approval(call)


async def test_questions_come_in_the_order_of_their_calls() -> None:
    """However long it takes to say what is asked; a call that is refused, or free, holds nobody up."""
    step = tool_call_reply(("ask", PUSH), ("say", {}), ("forbidden", {}), ("ask", MAKE), ("ask", EDIT))
    rig = AgentRig(ScriptedModel(replies_in_order(step, text_reply("Done."))), tools=SlowFirst())
    await rig.rules.add(PermissionRule("ask", "make test"))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_until(lambda: rig.tools.executed_calls == ["c1"])
    assert talk.asks == []
    await waiting(rig, "c0", "c4")
    for call in ("c0", "c4"):
        talk.decide(call, "deny")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["c1", "c3"]
    await rig.assert_consistent()
