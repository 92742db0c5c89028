"""Turns from the user's message to the end of the agent's answer."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.agent.message_queue import MessageTooLarge
from helix_desktop.agent.session import (
    ApprovalRequested,
    ErrorRaised,
    ResponseDelta,
    TurnChanged,
)
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.agent.tool_calls.runner import WITHHELD
from helix_desktop.domain.errors import (
    ContentRedacted,
    ContextWindowExceeded,
    InvalidModelResponse,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.events.conversation import (
    ApprovalGiven,
    AssistantSpoke,
    MessageQueued,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.messages import ModelInfo, ModelResponse, RetryScheduled, TextDelta
from helix_desktop.domain.question import DENIED
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.scripted_model import (
    HALF_REPLY_THEN_RETRY,
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)


async def test_parallel_calls_are_answered_in_the_order_of_the_calls() -> None:
    """Whichever ends first, the model reads the answers in call order; the log keeps completion order."""
    script = replies_in_order(
        tool_call_reply(("wait", {"text": "slow"}), ("say", {"text": "quick"})), text_reply("Both read.")
    )
    rig = AgentRig(ScriptedModel(script))
    conversation = await rig.begin()
    await conversation.send("Go.")
    await rig.wait_until(lambda: len(rig.events(ToolAnswered)) == 1)
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert [event.call_id for event in rig.events(ToolAnswered)] == ["c1", "c0"]
    assert tool_result_texts(rig.model.requests[1]) == ["slow c0", "quick c1"]
    assert [event.how for event in rig.events(TurnEnded)] == ["done"]
    assert rig.updates_of(TurnChanged) == [TurnChanged(True), TurnChanged(False)]


async def test_sending_returns_the_event_that_holds_the_message() -> None:
    """Of the turn that it starts, or of its place in the queue; two with the same text are distinguished."""
    rig, conversation = await begin_with(tool_call_reply(("wait", {})), text_reply("Done."))
    first = await conversation.send("Again.")
    await rig.tools.started.wait()
    queued = await conversation.send("Again.")
    rig.tools.gate.set()
    await rig.wait_until_idle()
    log = {recorded.seq: recorded.event for recorded in conversation.session.log}
    assert log[first] == UserSpoke("Again.", 1, mode="ask")
    assert log[queued] == MessageQueued("Again.")
    assert [event.queued for event in rig.events(UserSpoke)] == [0, queued]


@pytest.mark.expect_errors("task record .* failed")
async def test_a_message_that_could_not_be_recorded_has_no_event() -> None:
    """The turn gives the reason; the sender still has the text."""
    rig, conversation = await begin_with()
    rig.store.first_failing_write = 0
    assert await conversation.send("Lost?") == 0
    await rig.wait_until_idle()
    assert rig.updates_of(ErrorRaised)[-1].what == "The disk is full."
    assert not rig.events(UserSpoke)


async def test_a_message_that_fills_the_window_by_itself_is_refused() -> None:
    """Before anything is recorded: it would block all others."""
    rig, conversation = await begin_with()
    with pytest.raises(MessageTooLarge, match="this model has room for"):
        await conversation.send("word " * conversation.window.message_limit * 2)
    assert not rig.events(UserSpoke)
    assert not conversation.is_running


async def test_a_window_that_has_no_room_for_any_message_is_named_as_the_cause() -> None:
    model = ScriptedModel(replies_in_order(), ModelInfo("test", "tiny", window=20, reserve=5))
    conversation = await AgentRig(model).begin()
    with pytest.raises(MessageTooLarge, match="context window is too small"):
        await conversation.send("Hi.")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fail", "No such file. It is not there. List the folder."),
        ("crash", "crash failed. ZeroDivisionError: division by zero"),
        ("forbidden", "That is outside the workspace."),
        ("broken", "broken failed. KeyError: 'path'"),
    ],
)
async def test_a_tool_failure_is_reported_to_the_agent(name: str, expected: str) -> None:
    """Whatever goes wrong in a tool, the turn goes on with the error."""
    rig, conversation = await begin_with(tool_call_reply((name, {}), ("say", {})), text_reply("I see."))
    ended = await conversation.run("Go.")
    assert ended.how == "done"
    assert tool_result_texts(rig.model.requests[1]) == [expected, "ok c1"]
    assert sorted(event.ok for event in rig.events(ToolAnswered)) == [False, True]


async def test_a_denied_call_does_not_run() -> None:
    """The user's no is the answer of the call."""
    rig, conversation = await begin_with(
        tool_call_reply(("ask", {})), text_reply("Then not."), approver=FixedApprover("deny")
    )
    await conversation.run("Go.")
    assert rig.tools.executed_calls == []
    assert tool_result_texts(rig.model.requests[1]) == [DENIED]
    assert [event.decision for event in rig.events(ApprovalGiven)] == ["deny"]
    assert [event.outcome for event in rig.events(ToolAnswered)] == ["denied"]


async def test_an_always_answer_is_asked_once() -> None:
    """Of several calls the first is asked; the saved rule answers the others and those of later turns."""
    rig, conversation = await begin_with(
        tool_call_reply(("ask", {}), ("ask", {})), tool_call_reply(("ask", {}), id_prefix="d")
    )
    await conversation.send("Go.")
    await rig.wait_for_updates(ApprovalRequested)
    assert [ask.call_id for ask in conversation.asks] == ["c0", "c1"]
    assert conversation.decide("c0", "always")
    assert not conversation.decide("c0", "deny")
    await rig.wait_until_idle()
    assert [update.ask.call_id for update in rig.updates_of(ApprovalRequested)] == ["c0", "c1"]
    assert [(event.decision, event.rule) for event in rig.events(ApprovalGiven)] == [
        ("always", ""),
        ("always", "Use ask, whatever it is asked"),
        ("always", "Use ask, whatever it is asked"),
    ]
    assert rig.tools.executed_calls == ["c0", "c1", "d0"]


@pytest.mark.parametrize(
    "error",
    [
        ModelUnreachable(
            verbatim("The server does not answer."), verbatim("It is down."), verbatim("Start it.")
        ),
        ModelRequestRejected(verbatim("The key was refused.")),
        ContextWindowExceeded(verbatim("Too long.")),
        InvalidModelResponse(verbatim("That is no answer.")),
    ],
)
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("pieces", [0, 1])
async def test_a_model_error_ends_the_turn(error: ModelRequestRejected, step: int, pieces: int) -> None:
    """At any step, before or during an answer: it is reported, partial text stays, work goes on."""
    broken: ScriptedReply = [*([TextDelta("I think")] * pieces), error]
    rig, conversation = await begin_with(
        *([tool_call_reply(("say", {}))] * step), broken, text_reply("Here again.")
    )
    ended = await conversation.run("Go.")
    assert ended == TurnEnded("failed", error.what, error.why, error.fix, remedies=error.remedies)
    assert rig.events(TurnEnded) == [ended]
    assert [event.text for event in rig.events(AssistantSpoke)][step:] == ["I think"] * pieces
    assert (await conversation.run("Again.")).how == "done"
    assert rig.events(AssistantSpoke)[-1].text == "Here again."


@pytest.mark.parametrize("reply", [[], [ModelResponse("  \n")], [TextDelta("Half.")]])
async def test_an_empty_answer_is_an_error(reply: ScriptedReply) -> None:
    """A model that returns nothing, or stops without an end, fails the turn."""
    _, conversation = await begin_with(reply)
    assert (await conversation.run("Go.")).how == "failed"
    assert (await conversation.run("Again.")).how == "done"


async def test_text_voided_by_a_retry_is_not_kept() -> None:
    """Only the text after the retry is the answer."""
    rig, conversation = await begin_with([*HALF_REPLY_THEN_RETRY, *text_reply("Whole.")])
    await conversation.run("Go.")
    assert [event.text for event in rig.events(AssistantSpoke)] == ["Whole."]
    assert [type(update) for update in rig.updates if isinstance(update, ResponseDelta | RetryScheduled)] == [
        *(ResponseDelta, RetryScheduled),
        *(ResponseDelta, ResponseDelta),
    ]


async def test_two_concurrent_sends_are_two_turns() -> None:
    """No message is dropped, and no two turns run concurrently."""
    rig, conversation = await begin_with()
    await asyncio.gather(*(conversation.send(f"Message {number}.") for number in range(4)))
    await rig.wait_until_idle()
    assert [event.text for event in rig.events(UserSpoke)] == [f"Message {number}." for number in range(4)]
    assert [len(request.messages) for request in rig.model.requests] == [2, 4, 6, 8]


async def test_a_redacted_output_does_not_come_back_with_its_tool() -> None:
    """The same call again shows and stores a placeholder, with a note not to bypass it."""
    tool_call = ("say", {"text": "the secret", "times": 3})
    rig, conversation = await begin_with(*(tool_call_reply(tool_call), text_reply("Done.")) * 3)
    await conversation.run("Go.")
    (first,) = rig.events(ToolAnswered)
    await rig.store.redaction.redact(RedactionRequest("the secret"))
    rig.is_left_unsound = True  # its log says what the store says no more
    await conversation.run("Again.")
    again = rig.events(ToolAnswered)[-1]
    assert again.text.startswith("[FORGOTTEN ")
    assert again.text.endswith(WITHHELD)
    assert (await rig.store.get(again.digest)).decode() == again.text
    with pytest.raises(ContentRedacted):
        await rig.store.get(first.digest)
    await rig.store.redaction.lift(first.digest)
    await conversation.run("And again.")
    assert rig.events(ToolAnswered)[-1].text == first.text


async def test_a_session_is_named_after_the_first_line_of_its_first_message() -> None:
    rig, conversation = await begin_with(text_reply("Done."))
    line = "Go through every module, one after the other, and write down which of them reach the network"
    await conversation.send(f"{line}\nThen stop.")
    await rig.wait_until(lambda: rig.events(TurnEnded))
    assert conversation.session.transcript.title == line


async def test_a_wait_for_the_server_is_skipped_on_demand() -> None:
    """The call is made at once, and listeners are notified that the wait is over."""
    back = asyncio.Event()
    rig, conversation = await begin_with(
        [RetryScheduled(2, 3_600.0, "down", back.set), back, *text_reply("Here.")]
    )
    conversation.response.retry_now()  # nothing waits yet
    await conversation.send("Go.")
    await rig.wait_for_updates(RetryScheduled)
    conversation.response.retry_now()
    await rig.wait_until_idle()
    assert [reset.wait_s for reset in rig.response_resets()] == [3_600.0, 0.0]
    assert rig.events(TurnEnded) == [TurnEnded("done")]
