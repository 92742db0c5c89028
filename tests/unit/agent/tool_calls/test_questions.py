"""Questions of the agent: they wait for the user without a limit, and end nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from helix_desktop.agent.session import QuestionAsked
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.rewrites.step_notes import render_fold_note
from helix_desktop.context.summaries.covered_facts import covered_facts
from helix_desktop.context.summaries.extractive_handover import extractive_handover
from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.question import NO_USER, SKIPPED, UNANSWERED, QuestionReply
from helix_desktop.domain.store import Commit
from helix_desktop.domain.tools import ApprovalReply, ApprovalRequest
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.scripted_model import (
    ScriptedModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)
from tests.support.subagent_rig import PARENT_PROMPT, SubagentRig, delegate_script
from tests.unit.agent.tool_calls.test_approvals import PUSH, SlowFirst, wait_for_requests

DATABASE: dict[str, Any] = {
    "question": "Which database?",
    "options": [{"label": "SQLite", "description": "A file"}, {"label": "Postgres"}],
}
POSTGRES = QuestionReply(("Postgres",), "with pgvector")


def rig_of(*calls: tuple[str, dict[str, Any]], approver: FixedApprover | None = None) -> AgentRig:
    """Return a conversation whose model makes these calls in one step, and then is done."""
    script = replies_in_order(tool_call_reply(*calls), text_reply("Done."), text_reply("Done."))
    return AgentRig(ScriptedModel(script), approver=approver, tools=SlowFirst())


async def test_a_question_waits_among_approvals_and_ends_nothing() -> None:
    """They come in the order of the calls; what needs no answer goes on, and steering waits for the step."""
    rig = rig_of(("ask", PUSH), ("ask_user", DATABASE), ("say", {}), ("ask", PUSH))
    conversation = await rig.begin()
    await conversation.send("Go.")
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
    items, decision = (
        conversation.session.transcript.messages.items,
        "Which database? – Postgres; with pgvector",
    )
    assert f"user: {decision}\n" in render_fold_note(items, "0" * 64, 1), (
        "what the user decided stays in sight"
    )
    assert decision in covered_facts(items).of_kind("instructions")
    sections = {section.title: section.bullets for section in extractive_handover(items, None)}
    assert [bullet.text for bullet in sections["User Preferences"]] == [decision]


async def test_a_skipped_question_is_the_agent_s_to_decide() -> None:
    rig = rig_of(("ask_user", {"question": "Which database?"}))
    conversation = await rig.begin()
    await conversation.send("Go.")
    await wait_for_requests(rig, "c0")
    await conversation.answer_question("c0", QuestionReply())
    await rig.wait_until_idle()
    assert tool_result_texts(rig.model.requests[1]) == [SKIPPED]


async def test_without_a_user_the_agent_decides() -> None:
    rig = rig_of(("ask_user", DATABASE), approver=FixedApprover("once"))
    conversation = await rig.begin()
    assert (await conversation.run("Go.")).how == "done"
    assert tool_result_texts(rig.model.requests[1]) == [NO_USER]
    assert rig.events(ToolAnswered)[0].reply is None


@pytest.mark.parametrize("ending", ["stop", "close", "crash"])
async def test_a_question_outlives_its_turn(ending: str) -> None:
    """It is interrupted in the log; an answer given later begins the next turn, a message closes it."""
    rig = rig_of(("say", {}), ("ask_user", DATABASE))
    conversation = await rig.begin()
    await conversation.send("Go.")
    await wait_for_requests(rig, "c1")
    session_id, log = conversation.session.id, list(conversation.session.log)
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
    await rig.begin()
    await rig.conversation.send(PARENT_PROMPT)
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
    rig = rig_of(("ask_user", arguments))
    conversation = await rig.begin()
    assert (await conversation.run("Go.")).how == "done"
    (answer,) = rig.events(ToolAnswered)
    assert (answer.ok, rig.updates_of(QuestionAsked)) == (False, [])
    assert reason in answer.text
    assert msgspec.json.encode(answer)
