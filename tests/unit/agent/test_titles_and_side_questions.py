"""Requests beside the turns: titles by the fast model, and side questions without a trace in any request."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session import SideQuestionProgress
from helix_desktop.agent.side_requests import STILL_RUNNING, clean_title
from helix_desktop.domain.cost import Budget, tokens_by_purpose
from helix_desktop.domain.errors import (
    BudgetExhausted,
    InvalidInput,
    InvalidModelResponse,
    ModelUnreachable,
    RequestTooLarge,
    WorkspaceUntrusted,
)
from helix_desktop.domain.events.conversation import SideQuestionAnswered, TurnEnded
from helix_desktop.domain.events.session import SessionRenamed
from helix_desktop.domain.events.summary import HandoverDiscarded
from helix_desktop.domain.messages import ModelInfo, ModelResponse, TextDelta, Usage
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig
from tests.support.message_linter import lint
from tests.support.scripted_model import (
    ScriptedModel,
    SendingModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)
from tests.support.tables import for_each

PRICED = ModelInfo("test", "priced", window=8_000, reserve=400, price_in=1.0, price_out=2.0)


async def rig_with(info: ModelInfo | None = None) -> AgentRig:
    """Return a conversation whose turns are answered, where titles are wanted."""
    rig = AgentRig(ScriptedModel(replies_in_order(text_reply("One."), text_reply("Two.")), info))
    rig.wants_titles = True
    await rig.begin()
    return rig


async def ended(rig: AgentRig, text: str = "Fix the ports, please.") -> None:
    await rig.conversation.run(text)
    await rig.conversation.session.drain()
    await rig.wait_until(lambda: not [task for task in asyncio.all_tasks() if "title" in task.get_name()])


async def test_the_first_answer_titles_the_session_once_and_no_turn_is_another_for_it() -> None:
    rig = await rig_with(PRICED)
    answer = ModelResponse("Port range check", usage=Usage(100, 10))
    rig.model.title_script = lambda _: [TextDelta("Port range check"), answer]
    await ended(rig)
    await ended(rig, "And the tests?")
    (request,) = rig.model.title_requests
    assert lint(request.messages) == []
    assert not request.tools
    assert "Fix the ports, please." in request.messages[-1].text
    assert "One." in request.messages[-1].text
    titled = rig.events(SessionRenamed)
    assert [event.by for event in titled] == ["message", "model"]
    assert rig.conversation.session.transcript.title == "Port range check"
    assert (titled[1].model, titled[1].prompt, titled[1].spent) == ("test/priced", "title 1", 110)
    assert titled[1].cost == pytest.approx(0.00012)
    (listed,) = await rig.workspace.sessions()
    assert (listed.title, listed.spent) == (
        "Port range check",
        rig.conversation.session.transcript.spending.tokens,
    )
    log = rig.conversation.session.log
    assert tokens_by_purpose(recorded.event for recorded in log)["titles"] == 110
    untitled = AgentRig(ScriptedModel(replies_in_order(text_reply("One."), text_reply("Two.")), PRICED))
    await untitled.begin()
    await untitled.conversation.run("Fix the ports, please.")
    await untitled.conversation.run("And the tests?")
    assert [sent.messages for sent in untitled.model.requests] == [
        sent.messages for sent in rig.model.requests
    ]
    assert not untitled.model.title_requests


async def test_what_the_user_types_while_it_runs_stays_and_the_request_is_paid_for() -> None:
    rig, gate = await rig_with(), asyncio.Event()
    rig.model.title_script = lambda _: [gate, *text_reply("A title of the model")]
    await rig.conversation.run("Fix the ports.")
    await rig.wait_until(lambda: rig.model.title_requests)
    await rig.workspace.rename(rig.conversation.session.id, "Mine")
    gate.set()
    await rig.wait_until(lambda: rig.events(HandoverDiscarded))
    assert rig.conversation.session.transcript.title == "Mine"
    assert rig.events(HandoverDiscarded)[0].spent > 0
    assert not [event for event in rig.events(SessionRenamed) if event.by == "model"]


@pytest.mark.parametrize("how", ["typed before", "off", "not trusted any more", "no budget"])
async def test_there_is_no_request_where_none_is_due(how: str) -> None:
    rig = await rig_with()
    conversation = rig.conversation
    if how == "typed before":
        await conversation.rename("Mine")
    rig.wants_titles = how != "off"

    if how == "no budget":
        await conversation.budget.set_limit(Budget(1))
        await conversation.run("Fix the ports.")
    elif how == "not trusted any more":
        gate = asyncio.Event()
        rig.model.script = lambda _: [gate, *text_reply("One.")]
        await conversation.send("Fix the ports.")
        rig.is_trusted = False
        gate.set()
        await rig.wait_until_idle()
    else:
        await ended(rig, "Fix the ports.")
    assert not rig.model.title_requests
    assert conversation.session.transcript.title == ("Mine" if how == "typed before" else "Fix the ports.")


async def test_a_failure_is_silent_and_not_repeated() -> None:
    rig = await rig_with()
    rig.model.title_script = lambda _: [ModelUnreachable(verbatim("away"))]
    await ended(rig)
    await ended(rig, "Again.")
    assert len(rig.model.title_requests) == 1
    assert rig.conversation.session.transcript.title == "Fix the ports, please."
    assert [event.how for event in rig.events(TurnEnded)] == ["done", "done"]


async def test_a_turn_that_failed_first_is_no_answer() -> None:
    rig = await rig_with()
    rig.model.script = replies_in_order([ModelUnreachable(verbatim("away"))], text_reply("Now."))
    await rig.conversation.run("Fix the ports.")
    assert not rig.model.title_requests
    await rig.conversation.retry()
    await rig.wait_until_idle()
    await rig.wait_until(lambda: rig.conversation.session.transcript.title == "A title")


async def test_versions_have_the_title_of_the_session() -> None:
    rig = await rig_with()
    await ended(rig)
    seq = rig.seqs(TurnEnded)[0]
    retried = await rig.workspace.branches.open_for_retry(rig.conversation.session.id, seq)
    assert retried.session.transcript.title == "A title"
    await retried.retry()
    await rig.wait_until(lambda: not retried.is_running)
    assert len(rig.model.title_requests) == 1, "it has one"
    await rig.workspace.rename(retried.session.id, "Mine")
    assert {summary.title for summary in await rig.workspace.sessions()} == {"Mine"}


@for_each(
    ("answer", "title"),
    [
        ("Port range check", "Port range check"),
        ("\n\n**Title:** \u201cPort range check.\u201d\nAnd more", "Port range check"),
        ("# Fix `parse_port` in\tports.py", "Fix parse_port in ports.py"),
        ("a\u202eb\u2066c\u200bd\x1b[31m\x00e", "abcd[31me"),
        ("word " * 40, "word " * 11 + "word…"),
        ("x" * 200, "x" * 59 + "…"),
        ("\u7aef\u53e3\u8303\u56f4", "\u7aef\u53e3\u8303\u56f4"),
        ("...\n---", ""),
        ("", ""),
    ],
)
def test_an_answer_becomes_one_line_of_at_most_60_characters(answer: str, title: str) -> None:
    assert clean_title(answer) == title
    assert len(clean_title(answer)) <= 60


@pytest.mark.parametrize("title", ["", "Get to know tidewatch"])
async def test_the_demo_model_titles_only_what_its_script_does(title: str) -> None:
    """Without one the first message stays the title, and nothing is recorded as spent."""
    rig = await rig_with(ModelInfo("demo", "demo", window=8_000, reserve=400, demo=True))
    rig.model.title_script = lambda _: [TextDelta(title), ModelResponse(title)]
    await ended(rig, "Fix the ports.")
    assert rig.conversation.session.transcript.title == (title or "Fix the ports.")
    assert not rig.events(HandoverDiscarded)


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
    rig, gate = rig_of(), asyncio.Event()
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
