"""Calls that wait for the user: approvals by rules and modes, and the agent's questions."""

from __future__ import annotations

import asyncio
from asyncio import TaskGroup
from typing import Any

import msgspec
import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import ApprovalRequested, ErrorRaised, QuestionAsked
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.log.mode_notes import REFUSED_IN_PLAN
from helix_desktop.context.rewrites.step_notes import render_fold_note
from helix_desktop.context.summaries.covered_facts import covered_facts
from helix_desktop.context.summaries.extractive_handover import extractive_handover
from helix_desktop.domain.errors import InvalidInput, WorkspaceUntrusted
from helix_desktop.domain.events.conversation import ApprovalGiven, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.question import (
    CORRECTED_ALONE,
    DENIED,
    DENIED_TOO,
    NO_USER,
    SKIPPED,
    UNANSWERED,
    Question,
    QuestionReply,
    denial_reason,
)
from helix_desktop.domain.store import Commit
from helix_desktop.domain.tools import ApprovalReply, ApprovalRequest, PermissionRule
from tests.support.agent_rig import AgentRig, GatedStore, ScriptedTools, begin_with
from tests.support.intake_rig import run_loop_iterations
from tests.support.scripted_model import (
    ScriptedModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)
from tests.support.subagent_rig import PARENT_PROMPT, SubagentRig, delegate_script

Arguments = dict[str, Any]
MAKE: Arguments = {"kind": "command", "subject": "make test", "confined": True}
PUSH: Arguments = {"kind": "command", "subject": "git push", "confined": False}
STATUS: Arguments = {"kind": "command", "subject": "git status", "confined": True, "is_reading": True}
EDIT: Arguments = {"kind": "edit", "subject": "src/a.py"}
ENVRC: Arguments = {"kind": "edit", "subject": ".envrc"}


def rig_of(*steps: tuple[Arguments, ...]) -> AgentRig:
    """Return a conversation whose model makes these calls, step by step."""
    replies = (
        tool_call_reply(*(("ask", arguments) for arguments in step), id_prefix=f"s{number}")
        for number, step in enumerate(steps)
    )
    return AgentRig(ScriptedModel(replies_in_order(*replies, text_reply("Done."))))


async def wait_for_requests(rig: AgentRig, *ids: str) -> tuple[str, ...]:
    await rig.wait_until(lambda: tuple(ask.call_id for ask in rig.conversation.asks) == ids)
    return ids


async def begin_turn(rig: AgentRig, *ids: str) -> Conversation:
    """Begin a turn, and go on until exactly these calls wait."""
    conversation = await rig.send_first()
    await wait_for_requests(rig, *ids)
    return conversation


def open_requests(rig: AgentRig) -> list[ApprovalRequest]:
    return [ask for ask in rig.conversation.asks if isinstance(ask, ApprovalRequest)]


async def test_all_waiting_calls_are_asked_at_once() -> None:
    """Ten calls of a step are ten requests, answered in any order; they run in the order of the calls."""
    rig = rig_of(tuple({**MAKE, "subject": f"make t{number}"} for number in range(10)))
    conversation = await begin_turn(rig)
    ids = await wait_for_requests(rig, *(f"s0{number}" for number in range(10)))
    for call_id in reversed(ids):
        assert conversation.decide(call_id, "deny" if call_id == "s03" else "once")
        assert not conversation.decide(call_id, "once"), "it has its answer"
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == sorted(set(ids) - {"s03"})
    assert [event.outcome for event in rig.events(ToolAnswered)].count("denied") == 1


async def test_a_call_that_a_rule_allows_waits_for_an_earlier_request() -> None:
    """Tests asked for together with an edit run on the edited file; a call that needs no approval runs."""
    reply = tool_call_reply(("ask", EDIT), ("ask", MAKE), ("say", {}))
    rig = AgentRig(ScriptedModel(replies_in_order(reply, text_reply("Done."))))
    await rig.rules.add(PermissionRule("ask", "make test"))
    conversation = await begin_turn(rig, "c0")
    await rig.wait_until(
        lambda: (
            [event.subject for event in rig.events(ApprovalGiven)] == ["make test"]
            and len(rig.events(ToolAnswered)) == 1
        )
    )
    assert rig.tools.executed_calls == ["c2"]
    conversation.decide("c0", "once")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["c2", "c0", "c1"]


async def test_files_are_read_and_asked_about_after_an_earlier_edit() -> None:
    """Asked for together with it, as models do: what stood there misleads them, or was no link to keys."""
    reads = [("read_file", {"path": path}) for path in ("a.py", "link")]
    rig, conversation = await begin_with(tool_call_reply(("ask", EDIT), *reads), text_reply("Done."))
    await conversation.send("Go.")
    await wait_for_requests(rig, "c0")
    await run_loop_iterations(20)
    assert rig.tools.executed_calls == []
    conversation.decide("c0", "once")
    await wait_for_requests(rig, "c2")
    conversation.decide("c2", "deny")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["c0", "c1"]


async def test_a_call_that_waits_for_an_earlier_one_follows_a_change_of_the_mode() -> None:
    rig = rig_of((PUSH, EDIT))
    conversation = await rig.begin()
    await conversation.set_mode("auto")
    await conversation.send("Go.")
    await wait_for_requests(rig, "s00")
    await run_loop_iterations(20)
    await conversation.set_mode("plan")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == []


async def test_a_comment_on_a_denial_reaches_the_agent() -> None:
    rig = rig_of((PUSH,))
    conversation = await begin_turn(rig, "s00")
    conversation.decide("s00", ApprovalReply("deny", reason="Not to main.\nMake a branch."))
    await rig.wait_until_idle()
    assert tool_result_texts(rig.model.requests[1]) == [
        "The user did not allow this call. Do what they say instead: Not to main.\nMake a branch."
    ]
    (denied,) = rig.events(ToolAnswered)
    assert denied.first_line == "denied, the user says: Not to main. Make a branch.", (
        "for lists and handovers"
    )
    (approval,) = rig.events(ApprovalGiven)
    assert (approval.decision, approval.words, approval.saved) == ("deny", "Not to main.\nMake a branch.", "")
    assert rig.rules.rules() == ()


async def test_a_command_that_only_reads_is_neither_asked_about_nor_recorded_nor_captured() -> None:
    model = ScriptedModel(replies_in_order(tool_call_reply(("ask", STATUS)), text_reply("Done.")))
    rig = AgentRig(model, has_history=True)
    assert rig.history is not None
    rig.history.gate.clear()  # the end of a captured call waits for it
    await begin_turn(rig)
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["c0"]
    assert rig.events(ApprovalGiven) == []


async def test_a_rule_that_asks_or_refuses_holds_for_a_command_that_only_reads() -> None:
    rig = rig_of((STATUS,), (STATUS,))
    await rig.rules.add(PermissionRule("*", "git status *", kind="pattern", effect="ask"))
    conversation = await begin_turn(rig, "s00")
    await rig.rules.add(PermissionRule("*", "git status *", kind="pattern", effect="deny"))
    conversation.decide("s00", "once")
    await rig.wait_until_idle()
    assert [event.decision for event in rig.events(ApprovalGiven)] == ["once", "deny"]


async def test_what_can_never_be_allowed_always_is_allowed_once() -> None:
    removal = {**MAKE, "subject": "rm -r build", "lasting_refusal": "destroys"}
    rig = rig_of((removal,))
    conversation = await begin_turn(rig, "s00")
    conversation.decide("s00", "always")
    await rig.wait_until_idle()
    assert rig.rules.rules() == ()
    (approval,) = rig.events(ApprovalGiven)
    assert (approval.decision, approval.saved) == ("once", "")


async def test_a_place_that_cannot_be_undone_is_named_before_the_first_call_that_changes_it() -> None:
    places = (UncoveredPlace("data.db", "too_large"), UncoveredPlace("keys.pem", "secret"))
    commands = ("python gen.py", "rm data.db", "rm data.db", "rm data.db keys.pem")
    calls = (
        tool_call_reply(("ask", {**MAKE, "subject": c}), id_prefix=f"s{n}") for n, c in enumerate(commands)
    )
    rig = AgentRig(ScriptedModel(replies_in_order(*calls, text_reply("Done."))), has_history=True)
    assert rig.history is not None
    rig.history.coverage = FileCoverage(places=places, uncovered=2, is_complete=True)
    conversation = await begin_turn(rig)
    named = []
    for number in range(len(commands)):
        (call,) = await wait_for_requests(rig, f"s{number}0")
        (request,) = open_requests(rig)
        assert request.coverage is not None
        assert request.coverage.uncovered == len(request.coverage.places)
        named.append([place.path for place in request.coverage.places])
        conversation.decide(call, "once")
    await rig.wait_until_idle()
    assert named == [[], ["data.db"], [], ["keys.pem"]]


async def test_a_session_rule_applies_to_this_run_only() -> None:
    rig = rig_of((MAKE,), (MAKE, PUSH), (MAKE,))
    conversation = await begin_turn(rig, "s00")
    conversation.decide("s00", "session")
    await wait_for_requests(rig, "s11")
    conversation.decide("s11", "once")
    await rig.wait_until_idle()
    assert rig.rules.rules() == ()
    assert [rule.text for rule in conversation.permissions.rules] == ["Use ask: make test, in the sandbox"]
    approvals = rig.events(ApprovalGiven)
    assert [
        (approval.decision, approval.rule) for approval in approvals if approval.subject == "make test"
    ] == [
        ("session", ""),
        ("session", "Use ask: make test, in the sandbox"),
        ("session", "Use ask: make test, in the sandbox"),
    ]
    again = await rig.create_workspace(rig.store, rig.workspace.policy).open_session(conversation.session.id)
    assert again.permissions.rules == ()


async def test_a_rule_answers_waiting_calls() -> None:
    """A yes to a pattern answers the other requests that it matches, and leaves the rest."""
    rig = rig_of(({**MAKE, "subject": "git log -1"}, {**MAKE, "subject": "git log -2"}, PUSH))
    conversation = await begin_turn(rig, "s00", "s01", "s02")
    pattern = open_requests(rig)[0].suggested_rules[1]
    conversation.decide("s00", ApprovalReply("always", pattern))
    await rig.wait_until(lambda: rig.tools.executed_calls == ["s00", "s01"])
    assert [ask.call_id for ask in conversation.asks] == ["s02"]
    conversation.decide("s02", "deny")
    await rig.wait_until_idle()
    assert rig.rules.rules() == (pattern,)
    assert {event.call_id: event.rule for event in rig.events(ApprovalGiven)} == {
        "s00": "",
        "s01": pattern.text,
        "s02": "",
    }


async def test_rules_for_all_parts_of_a_command_answer_it_where_it_waits() -> None:
    both = {**MAKE, "subject": "pytest -q; npm test", "asked_parts": ["pytest -q", "npm test"]}
    rig = rig_of((both, {**MAKE, "subject": "pytest"}, {**MAKE, "subject": "npm test"}))
    conversation = await begin_turn(rig, "s00", "s01", "s02")
    patterns = [ask.suggested_rules[1] for ask in open_requests(rig)[1:]]
    conversation.decide("s01", ApprovalReply("always", patterns[0]))
    await rig.wait_until(lambda: [ask.call_id for ask in conversation.asks] == ["s00", "s02"])
    conversation.decide("s02", ApprovalReply("always", patterns[1]))
    await rig.wait_until(lambda: not conversation.asks)
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["s00", "s01", "s02"]


async def test_words_on_a_denial_are_for_the_denied_calls_of_the_step_alone() -> None:
    """The agent took them for the answer to all calls, or could not tell if the next was refused as such."""
    rig = rig_of((MAKE, PUSH, EDIT))
    conversation = await begin_turn(rig, "s00", "s01", "s02")
    conversation.decide("s01", ApprovalReply("deny", reason="Don't push."))
    await wait_for_requests(rig, "s00", "s02")
    conversation.decide("s02", "deny")
    conversation.decide("s00", "once")
    await rig.wait_until_idle()
    ran, denied, denied_too = tool_result_texts(rig.model.requests[1])
    assert (denied, denied_too) == (f"{CORRECTED_ALONE}Don't push.", DENIED_TOO)
    assert denial_reason(denied) == "Don't push."
    assert "did not allow" not in ran
    targets = {answer.call_id: answer.target for answer in rig.events(ToolAnswered)}
    assert (targets["s01"], targets["s02"]) == (PUSH["kind"], EDIT["kind"]), "the first text of its arguments"
    assert rig.tools.executed_calls == ["s00"]


async def test_a_saved_denial_overrides_a_saved_approval() -> None:
    rig = rig_of((PUSH,))
    await rig.rules.add(PermissionRule("ask", "git push"))
    await rig.rules.add(PermissionRule("ask", "git push *", kind="pattern", effect="deny"))
    await begin_turn(rig)
    await rig.wait_until_idle()
    assert (rig.tools.executed_calls, rig.updates_of(ApprovalRequested)) == ([], [])
    (approval,) = rig.events(ApprovalGiven)
    assert (approval.decision, approval.rule) == ("deny", "Never: run commands like: git push *")
    assert tool_result_texts(rig.model.requests[1]) == [f"{DENIED} A saved rule says: {approval.rule}."]


async def test_a_denial_can_be_saved_from_the_request() -> None:
    rig = rig_of((PUSH,), (PUSH,))
    conversation = await begin_turn(rig, "s00")
    denial = PermissionRule("ask", "git push", effect="deny")
    conversation.decide("s00", ApprovalReply("deny", denial))
    await rig.wait_until_idle()
    assert rig.rules.rules() == (denial,)
    assert [(event.rule, event.saved) for event in rig.events(ApprovalGiven)] == [
        ("", denial.text),
        (denial.text, ""),
    ]


async def test_a_rule_that_asks_is_named_in_the_request() -> None:
    rig = rig_of((EDIT,))
    await rig.rules.add(PermissionRule("*", "", kind="folder"))
    await rig.rules.add(PermissionRule("*", "src", kind="folder", effect="ask"))
    conversation = await begin_turn(rig, "s00")
    assert open_requests(rig)[0].asking_rule == "Always ask before: change any file in src"
    conversation.decide("s00", "once")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["s00"]


async def test_a_rule_that_cannot_be_saved_still_allows_the_call_and_is_reported() -> None:
    rig = rig_of((MAKE,))
    rig.rules.is_broken = True
    conversation = await begin_turn(rig, "s00")
    conversation.decide("s00", "always")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["s00"]
    assert [update.what for update in rig.updates_of(ErrorRaised)] == ["The rule was not saved."]
    assert [(event.decision, event.saved) for event in rig.events(ApprovalGiven)] == [("always", "")]
    assert [event.how for event in rig.events(TurnEnded)] == ["done"]


async def test_plan_mode_refuses_changes() -> None:
    """Also where a rule allows them; a note tells the model of the mode, and the prefix stays."""
    rig = AgentRig(
        ScriptedModel(
            replies_in_order(
                tool_call_reply(("ask", MAKE), ("ask", EDIT), ("say", {})), text_reply("A plan.")
            )
        )
    )
    await rig.rules.add(PermissionRule("ask", "make test"))
    conversation = await rig.begin()
    await conversation.set_mode("plan")
    await conversation.run("Do it.")
    assert rig.tools.executed_calls == ["c2"]
    first, second = rig.model.requests
    assert first.messages[0].text == "You are an agent."
    assert first.messages[-1].text.startswith("[Mode: plan] Only read")
    assert first.messages[-1].text.endswith("\n\nDo it.")
    assert tool_result_texts(second)[:2] == [REFUSED_IN_PLAN, REFUSED_IN_PLAN]
    assert [event.mode for event in rig.events(ApprovalGiven)][-2:] == ["plan", "plan"]


async def test_the_model_is_told_of_a_mode_once() -> None:
    """With the first message after the change; earlier messages are sent unchanged."""
    rig, conversation = await begin_with(script=lambda _: text_reply("Yes."))
    await conversation.run("One.")
    await conversation.set_mode("auto")
    await conversation.set_mode("plan")
    await rig.say("Two.", "Three.")
    await conversation.set_mode("ask")
    await conversation.run("Four.")
    messages = rig.events(UserSpoke)
    assert [message.mode for message in messages] == ["ask", "plan", "plan", "ask"]
    assert [message.note[:12] for message in messages] == ["", "[Mode: plan]", "", "[Mode: ask] "]
    assert [message.text for message in messages] == ["One.", "Two.", "Three.", "Four."]
    for earlier, later in zip(rig.model.requests, rig.model.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.tools == earlier.tools
    assert [event.mode for event in rig.events(ModeChanged)] == ["auto", "plan", "ask"]


async def test_a_steering_message_announces_a_mode_change_too() -> None:
    """Changed during a turn, the mode is announced by the first steering message, and not again."""
    rig = rig_of((PUSH,), ({"kind": "other"},))
    conversation = await begin_turn(rig, "s00")
    await conversation.send("Plan it first.", steer=True)
    await conversation.send("Please.", steer=True)
    await conversation.set_mode("plan")
    await rig.wait_until_idle()
    assert [event.note[:12] for event in rig.events(UserSpoke)] == ["", "[Mode: plan]", ""]
    assert rig.model.requests[1].messages[-2].text.endswith("\n\nPlan it first.")
    await conversation.run("And now?")
    assert rig.events(UserSpoke)[-1].note == ""


async def test_the_mode_is_stored_with_the_session() -> None:
    rig, conversation = await begin_with(script=lambda _: text_reply("Yes."))
    await conversation.set_mode("plan")
    await conversation.set_mode("plan")
    assert len(rig.events(ModeChanged)) == 1
    again = await rig.create_workspace(rig.store, rig.workspace.policy).open_session(conversation.session.id)
    assert again.mode == "plan"


async def test_auto_mode_runs_edits_and_sandboxed_commands_and_asks_for_the_rest() -> None:
    rig = rig_of((MAKE, EDIT, {**EDIT, "subject": "vendor/a.py"}, PUSH, ENVRC, {}))
    await rig.rules.add(PermissionRule("*", "vendor", kind="folder", effect="deny"))
    conversation = await rig.begin()
    await conversation.set_mode("auto")
    await conversation.send("Go.")
    await wait_for_requests(rig, "s03", "s04", "s05")
    await rig.wait_until(lambda: rig.tools.executed_calls == ["s00", "s01"])
    given = {event.call_id: (event.decision, event.mode) for event in rig.events(ApprovalGiven)}
    assert given == {"s00": ("once", "auto"), "s01": ("once", "auto"), "s02": ("deny", "")}, (
        "a rule denies it"
    )
    for call in ("s03", "s04", "s05"):
        conversation.decide(call, "deny")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["s00", "s01"]


async def test_a_request_is_safe_if_auto_mode_would_run_it() -> None:
    rig = rig_of((MAKE, EDIT, PUSH, ENVRC, {**MAKE, "kind": "read"}, {**MAKE, "kind": "mcp"}))
    conversation = await begin_turn(rig)
    ids = await wait_for_requests(rig, *(f"s0{number}" for number in range(6)))
    requests = [update.ask for update in rig.updates_of(ApprovalRequested)]
    assert [request.is_safe for request in requests] == [True, True, False, False, False, False]
    for call_id in ids:
        conversation.decide(call_id, "deny")
    await rig.wait_until_idle()


async def test_a_mode_change_answers_waiting_calls() -> None:
    rig = rig_of((MAKE, PUSH), (PUSH,))
    conversation = await begin_turn(rig, "s00", "s01")
    await conversation.set_mode("auto")
    await rig.wait_until(lambda: rig.tools.executed_calls == ["s00"])
    await wait_for_requests(rig, "s01")
    await conversation.set_mode("plan")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["s00"]
    assert [event.outcome for event in rig.events(ToolAnswered)] == ["ran", "denied", "denied"]


async def test_subagents_share_their_parent_s_permissions() -> None:
    """A rule of the parent's session, its mode, and a rule given for a subagent apply to both."""
    scripts = {
        PARENT_PROMPT: replies_in_order(tool_call_reply(("ask", MAKE), id_prefix="p"), text_reply("Begun.")),
        "alpha": replies_in_order(
            tool_call_reply(("ask", MAKE), ("ask", PUSH), id_prefix="k"), text_reply("Found.")
        ),
        "beta": replies_in_order(tool_call_reply(("ask", PUSH), id_prefix="b"), text_reply("Found.")),
        "gamma": replies_in_order(tool_call_reply(("ask", PUSH), id_prefix="g"), text_reply("Planned.")),
    }
    rig = SubagentRig(scripts)
    conversation = await rig.begin()
    await conversation.send(PARENT_PROMPT)
    await rig.wait_until(lambda: conversation.asks)
    conversation.decide("p0", "session")
    await rig.wait_until_idle()
    async with TaskGroup() as group:
        group.create_task(conversation.subagents.run("alpha"))
        await rig.wait_until(lambda: [ask.subject for ask in open_requests(rig)] == ["git push"])
        conversation.decide(conversation.asks[0].call_id, "session")
    assert [rule.subject for rule in conversation.permissions.rules] == ["make test", "git push"]
    await conversation.subagents.run("beta")
    assert rig.tools.executed_calls == ["p0", "k0", "k1", "b0"]
    await conversation.set_mode("plan")
    result = await conversation.subagents.run("gamma")
    assert rig.tools.executed_calls == ["p0", "k0", "k1", "b0"]
    log = await rig.stored_log(result.session_id)
    (message,) = (recorded.event for recorded in log if isinstance(recorded.event, UserSpoke))
    assert message.note.startswith("[Mode: plan]")
    child = await rig.workspace.open_session(result.session_id)
    assert child.mode == "ask", "opened later it is a session of its own"


async def test_a_subagent_s_mode_is_its_parent_s() -> None:
    child_script = replies_in_order(tool_call_reply(("ask", PUSH), id_prefix="k"), text_reply("Found."))
    rig = SubagentRig(
        {
            PARENT_PROMPT: replies_in_order(tool_call_reply(("delegate", {"task": "alpha"}))),
            "alpha": child_script,
        }
    )
    conversation = await rig.begin()
    await conversation.send(PARENT_PROMPT)
    await rig.wait_until(lambda: conversation.asks)
    (child,) = await rig.subagent_sessions()
    opened = await rig.workspace.open_session(child)
    with pytest.raises(InvalidInput, match="in the mode of its parent session"):
        await opened.set_mode("auto")
    await conversation.set_mode("plan")
    await rig.wait_until_idle()
    approvals = [
        recorded.event
        for recorded in await rig.stored_log(child)
        if isinstance(recorded.event, ApprovalGiven)
    ]
    assert [(approval.decision, approval.mode) for approval in approvals] == [("deny", "plan")]


async def test_nothing_leaves_an_untrusted_folder() -> None:
    """No message starts a turn, no handover asks a model, no call runs (CVE-2025-59536, CVE-2026-21852)."""
    rig = rig_of(({"kind": "other"},))
    conversation = await rig.begin()
    rig.is_trusted = False
    for sending in (conversation.send, conversation.run):
        with pytest.raises(WorkspaceUntrusted, match="isn't trusted yet"):
            await sending("Go.")
    assert (rig.model.requests, rig.tools.executed_calls, rig.events(UserSpoke)) == ([], [], [])
    rig.is_trusted = True
    await conversation.send("Go.")
    await wait_for_requests(rig, "s00")
    rig.is_trusted = False
    conversation.decide("s00", "once")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == []
    assert len(rig.model.requests) == 1
    assert rig.events(ToolAnswered)[0].text.startswith("This folder isn't trusted yet.")
    (ended,) = rig.events(TurnEnded)
    assert (ended.how, ended.what) == ("failed", "This folder isn't trusted yet.")


class SlowFirst(ScriptedTools):
    """Tools that take longer to build the approval request of a step's first call."""

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        for _ in range(20 if call.id.endswith("0") else 0):
            await asyncio.sleep(0)
        return await super().approval(call)


async def test_requests_come_in_call_order() -> None:
    """However long each takes to build; a refused or free call blocks nothing."""
    step = tool_call_reply(("ask", PUSH), ("say", {}), ("forbidden", {}), ("ask", MAKE), ("ask", EDIT))
    rig = AgentRig(ScriptedModel(replies_in_order(step, text_reply("Done."))), tools=SlowFirst())
    await rig.rules.add(PermissionRule("ask", "make test"))
    conversation = await begin_turn(rig)
    await rig.wait_until(lambda: rig.tools.executed_calls == ["c1"])
    assert conversation.asks == []
    await wait_for_requests(rig, "c0", "c4")
    for call in ("c0", "c4"):
        conversation.decide(call, "deny")
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["c1", "c3"]


DATABASE: dict[str, Any] = {
    "question": "Which database?",
    "options": [{"label": "SQLite", "description": "A file"}, {"label": "Postgres"}],
}
POSTGRES = QuestionReply(("Postgres",), "with pgvector")


def rig_asking(*calls: tuple[str, dict[str, Any]], approver: FixedApprover | None = None) -> AgentRig:
    """Return a conversation whose model makes these calls in one step, and then is done."""
    script = replies_in_order(tool_call_reply(*calls), text_reply("Done."), text_reply("Done."))
    return AgentRig(ScriptedModel(script), approver=approver, tools=SlowFirst())


async def test_a_question_waits_among_approvals_and_ends_nothing() -> None:
    """They come in the order of the calls; what needs no answer goes on, and steering waits for the step."""
    rig = rig_asking(("ask", PUSH), ("ask_user", DATABASE), ("say", {}), ("ask", PUSH))
    conversation = await rig.send_first()
    await wait_for_requests(rig, "c0", "c1", "c3")
    assert rig.tools.executed_calls == ["c2"]
    await conversation.send("Be quick.", steer=True)
    await conversation.set_mode("auto")  # evaluates approvals again; a question is for the user alone
    await wait_for_requests(rig, "c1", "c0", "c3")
    assert not conversation.answer("c1", ApprovalReply("once"))
    assert not conversation.answer("c0", POSTGRES)
    assert conversation.is_running
    assert await conversation.answer_question("c1", POSTGRES)
    assert not await conversation.answer_question("c1", POSTGRES), "it has its answer"
    for call in ("c0", "c3"):
        conversation.decide(call, "deny")
    await rig.wait_until_idle()
    answer = next(event for event in rig.events(ToolAnswered) if event.name == "ask_user")
    assert (answer.reply, answer.ok, answer.target) == (POSTGRES, True, "Which database?")
    assert "The user chose: Postgres\nThe user adds: with pgvector" in tool_result_texts(
        rig.model.requests[1]
    )
    assert [event.text for event in rig.events(UserSpoke)] == ["Go.", "Be quick."]
    items = conversation.session.transcript.messages.items
    decision = "Which database? – Postgres; with pgvector"
    assert f"user: {decision}\n" in render_fold_note(items, "0" * 64, 1), (
        "what the user decided stays in sight"
    )
    assert decision in covered_facts(items).of_kind("instructions")
    sections = {section.title: section.bullets for section in extractive_handover(items, None)}
    assert [bullet.text for bullet in sections["User Preferences"]] == [decision]


async def test_a_skipped_question_is_the_agent_s_to_decide() -> None:
    rig = rig_asking(("ask_user", {"question": "Which database?"}))
    conversation = await rig.send_first()
    await wait_for_requests(rig, "c0")
    await conversation.answer_question("c0", QuestionReply())
    await rig.wait_until_idle()
    assert tool_result_texts(rig.model.requests[1]) == [SKIPPED]


async def test_without_a_user_the_agent_decides() -> None:
    rig = rig_asking(("ask_user", DATABASE), approver=FixedApprover("once"))
    conversation = await rig.begin()
    assert (await conversation.run("Go.")).how == "done"
    assert tool_result_texts(rig.model.requests[1]) == [NO_USER]
    assert rig.events(ToolAnswered)[0].reply is None


@pytest.mark.parametrize("ending", ["stop", "close", "crash"])
async def test_a_question_outlives_its_turn(ending: str) -> None:
    """It is interrupted in the log; an answer given later begins the next turn, a message closes it."""
    rig = rig_asking(("say", {}), ("ask_user", DATABASE))
    conversation = await rig.send_first()
    await wait_for_requests(rig, "c1")
    session_id = conversation.session.id
    log = list(conversation.session.log)
    await (conversation.stop() if ending == "stop" else conversation.close())
    if ending != "stop":
        store = rig.store if ending == "close" else GatedStore()
        if ending == "crash":  # nothing was recorded after the question
            await store.commit(Commit(session_id, log))
        conversation = await rig.create_workspace(store, rig.workspace.policy).open_session(session_id)
    assert conversation.asks == []
    assert [question.text for question in conversation.missed_questions] == ["Which database?"]
    answers = {
        event.event.call_id: event.event
        for event in conversation.session.log
        if isinstance(event.event, ToolAnswered)
    }
    assert (answers["c1"].text, answers["c1"].outcome) == (UNANSWERED, "interrupted")
    assert not await conversation.answer_question("c1", QuestionReply()), "there is nothing to skip any more"
    assert await conversation.answer_question("c1", POSTGRES)
    await rig.wait_until(lambda: not conversation.is_running)
    assert conversation.missed_questions == []
    *_, message = (event.event for event in conversation.session.log if isinstance(event.event, UserSpoke))
    assert message.text == "Your question: Which database?\n\nMy answer: Postgres; with pgvector"
    assert conversation.session.log[-1].event == TurnEnded("done")


async def test_questions_of_subagents_are_answered_in_the_parent_s_view() -> None:
    step = tool_call_reply(("ask_user", DATABASE), id_prefix="k")
    children = {task: replies_in_order(step, text_reply("Found.")) for task in ("alpha", "beta")}
    rig = SubagentRig({PARENT_PROMPT: delegate_script("alpha", "beta"), **children})
    await rig.send_first(PARENT_PROMPT)
    await rig.wait_until(lambda: len(rig.conversation.asks) == 2)
    alpha, _ = await rig.subagent_sessions()
    questions = [ask for ask in rig.conversation.asks if not isinstance(ask, ApprovalRequest)]
    assert {question.subagent_title for question in questions} == {"alpha", "beta"}
    assert {update.ask for update in rig.updates_of(QuestionAsked)} == set(questions)
    assert rig.progress_of(alpha)[-1].phase == "waiting"
    for question in questions:
        assert await rig.conversation.answer_question(question.call_id, POSTGRES)
    await rig.wait_until_idle()
    events = [recorded.event for recorded in await rig.stored_log(alpha)]
    assert [event.reply for event in events if isinstance(event, ToolAnswered)] == [POSTGRES]


LONG = "x" * 5_000


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "question is missing"),
        ({"question": " "}, "empty or too long"),
        ({"question": LONG}, "2000 characters (got 5000)"),
        ({"question": "Which?", "options": [{"label": str(n)} for n in range(6)]}, "has 6"),
        ({"question": "Which?", "options": [{"label": "a"}, {"label": "A "}]}, "same label"),
        ({"question": "Which?", "options": [{"label": ""}]}, "empty or too long"),
        ({"question": "Which?", "options": [{"label": "a", "description": LONG}]}, "description"),
        ({"question": "Which?", "options": [{"label": "a", "color": "red"}]}, "color"),
        ({"question": "Which?", "options": ["a"]}, "object"),
    ],
)
async def test_a_question_that_cannot_be_read_is_refused(arguments: dict[str, Any], reason: str) -> None:
    rig = rig_asking(("ask_user", arguments))
    conversation = await rig.begin()
    assert (await conversation.run("Go.")).how == "done"
    (answer,) = rig.events(ToolAnswered)
    assert (answer.ok, rig.updates_of(QuestionAsked)) == (False, [])
    assert reason in answer.text
    assert msgspec.json.encode(answer)
