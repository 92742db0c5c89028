"""Titles by the fast model."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.agent.side_requests import clean_title
from helix_desktop.domain.cost import Budget, tokens_by_purpose
from helix_desktop.domain.errors import (
    ModelUnreachable,
)
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.session import SessionRenamed
from helix_desktop.domain.events.summary import HandoverDiscarded
from helix_desktop.domain.messages import ModelInfo, ModelResponse, TextDelta, Usage
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig
from tests.support.message_linter import lint
from tests.support.scripted_model import (
    ScriptedModel,
    replies_in_order,
    text_reply,
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
    rig = await rig_with()
    gate = asyncio.Event()
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
