"""Side questions, which leave no trace in any request."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session import SideQuestionProgress
from helix_desktop.agent.side_requests import STILL_RUNNING
from helix_desktop.domain.cost import Budget
from helix_desktop.domain.errors import (
    BudgetExhausted,
    InvalidInput,
    InvalidModelResponse,
    ModelUnreachable,
    RequestTooLarge,
    WorkspaceUntrusted,
)
from helix_desktop.domain.events.conversation import SideQuestionAnswered
from helix_desktop.domain.events.summary import HandoverDiscarded
from helix_desktop.domain.messages import ModelInfo, ModelResponse, TextDelta, Usage
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig
from tests.support.message_linter import lint
from tests.support.scripted_model import (
    SendingModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)

QUESTION = "Which file was that again?"


def rig_of(info: ModelInfo | None = None) -> AgentRig:
    """Return a conversation with a step that waits for the gate of its tools, and another turn."""
    step = tool_call_reply(("say", {"times": 30}), ("wait", {}))
    return AgentRig(SendingModel(replies_in_order(step, text_reply("Done."), text_reply("More.")), info))


async def play(rig: AgentRig, *, asks: bool) -> list[bytes]:
    """Play two turns, with side questions while a call runs, between the turns and after them, or without.

    Return the bytes of what was sent for the turns.
    """
    conversation = await rig.begin()

    async def ask() -> None:
        if asks:
            answer = await conversation.side_questions.ask(QUESTION)
            assert answer is not None
            assert (answer.question, answer.answer, answer.model) == (
                QUESTION,
                "A side answer.",
                "test/scripted",
            )

    await ask()
    await conversation.send("Go.")
    await rig.tools.started.wait()
    await ask()
    rig.tools.gate.set()
    await rig.wait_until_idle()
    await ask()
    await conversation.run("And now?")
    await ask()
    await rig.assert_consistent()
    return [msgspec.json.encode(request.messages) for request in rig.model.requests]


async def test_requests_are_the_same_with_and_without() -> None:
    rig = rig_of()
    assert await play(rig, asks=True) == await play(rig_of(), asks=False)
    assert len(rig.events(SideQuestionAnswered)) == len(rig.model.side_requests) == 4
    _, running, idle, _ = rig.model.side_requests
    assert STILL_RUNNING in tool_result_texts(running)
    assert idle.tools == rig.model.requests[-1].tools, "else the provider has nothing of it in its cache"
    for request in rig.model.side_requests:
        assert lint(request.messages) == []
        assert request.messages[-1].text.endswith(QUESTION)
    reopened = await rig.create_workspace(rig.store, rig.workspace.policy).open_session(
        rig.conversation.session.id
    )
    assert reopened.session.transcript.spending == rig.conversation.session.transcript.spending
    assert reopened.session.transcript.spending.tokens > 0


async def test_the_budget_is_asked_first_and_pays() -> None:
    rig = rig_of(ModelInfo("test", "scripted", window=8_000, reserve=400, price_in=1.0, price_out=10.0))
    conversation = await rig.begin()
    answer = await conversation.side_questions.ask(QUESTION)
    assert answer is not None
    spent = conversation.budget.spent
    assert (spent.tokens, spent.cost) == (answer.spent, answer.cost)
    assert answer.cost > 0
    await conversation.budget.set_limit(Budget(tokens=answer.spent))
    with pytest.raises(BudgetExhausted):
        await conversation.side_questions.ask(QUESTION)
    assert len(rig.model.side_requests) == 1


async def test_an_answer_without_a_report_costs_by_what_the_provider_has_cached() -> None:
    """The question goes behind the requests of the turns, which the provider has read."""
    info = ModelInfo("test", "scripted", 8_000, 400, price_in=2.0, price_cached=0.5, price_out=10.0)
    usage = Usage(1_000, 50, 600, reports_cache=True)
    rig = AgentRig(SendingModel(replies_in_order([ModelResponse("Done.", usage=usage)]), info))
    conversation = await rig.run_first()
    cached = conversation.window.cost().cached
    answer = await conversation.side_questions.ask(QUESTION)
    assert answer is not None
    assert cached > 0
    (tokens,) = await rig.counter.count([answer.answer])
    fresh = answer.spent - tokens - cached
    assert answer.cost == pytest.approx((fresh * 2.0 + cached * 0.5 + tokens * 10.0) / 1_000_000)


async def test_canceling_records_what_had_come() -> None:
    """Where no word had come only what it cost; closing the session waits for the record, too."""
    rig = rig_of()
    gate = asyncio.Event()
    conversation = await rig.begin()
    rig.model.side_script = lambda _: [gate]
    async with asyncio.TaskGroup() as group:
        silent = group.create_task(conversation.side_questions.ask(QUESTION))
        await rig.wait_until(lambda: rig.model.side_requests)
        await conversation.side_questions.cancel()
    assert silent.result() is None
    (unanswered,) = rig.events(HandoverDiscarded)
    assert (unanswered.spent > 0, unanswered.estimated) == (True, True)
    rig.model.side_script = lambda _: [TextDelta("It was "), gate]
    async with asyncio.TaskGroup() as group:
        partial = group.create_task(conversation.side_questions.ask(QUESTION))
        await rig.wait_until(lambda: conversation.side_questions.progress.answer)
        with pytest.raises(InvalidInput, match="Another side question"):
            await conversation.side_questions.ask("And?")
        await conversation.close()
    event = partial.result()
    assert event is not None
    assert (event.answer, event.stopped, event.estimated) == ("It was ", True, True)
    assert event.spent > unanswered.spent, "what came of the answer counts, too"
    assert rig.events(SideQuestionAnswered) == [event]
    progress = [update for update in rig.updates if isinstance(update, SideQuestionProgress)]
    assert progress[-1] == SideQuestionProgress()
    assert [update.answer for update in progress if update.answer] == ["It was "]
    assert rig.model.closed_streams == 2


async def test_errors_are_plain_and_record_nothing() -> None:
    rig = rig_of()
    conversation = await rig.begin()
    questions = conversation.side_questions
    with pytest.raises(InvalidInput):
        await questions.ask(" \n")
    with pytest.raises(RequestTooLarge, match="Compact the conversation"):
        await questions.ask("word " * 9_000)
    rig.model.side_script = lambda _: [ModelUnreachable(verbatim("It is gone."), verbatim("No route."))]
    with pytest.raises(ModelUnreachable, match="It is gone"):
        await questions.ask(QUESTION)
    rig.model.side_script = lambda _: tool_call_reply(("say", {}))
    with pytest.raises(InvalidModelResponse, match="tried to use a tool"):
        await questions.ask(QUESTION)
    rig.is_trusted = False
    with pytest.raises(WorkspaceUntrusted):
        await questions.ask(QUESTION)
    assert rig.events(SideQuestionAnswered) == []
    assert not questions.is_running
    assert rig.tools.executed_calls == []
