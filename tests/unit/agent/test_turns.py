"""Turns from the person's words to the end of the agent's answer."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.agent.session_updates import (
    ApprovalRequested,
    ErrorRaised,
    ResponseDelta,
    ResponseReset,
    TurnChanged,
)
from helix_desktop.agent.tool_calls.approvals import DENIED, FixedApprover
from helix_desktop.agent.tool_calls.runner import WITHHELD
from helix_desktop.agent.user_message import MessageTooLarge
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    ContentRedacted,
    ContextWindowExceeded,
    InvalidModelResponse,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.events.session import (
    ApprovalGiven,
    AssistantSpoke,
    MessageQueued,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.messages import ModelResponse, RetryScheduled, TextDelta
from helix_desktop.domain.redaction.redaction import RedactionRequest
from tests.support.agent_rig import AgentRig
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
    """Whichever ends first, the model reads the answers as it asked; the log keeps the order of ending."""
    script = replies_in_order(
        tool_call_reply(("wait", {"text": "slow"}), ("say", {"text": "quick"})), text_reply("Both read.")
    )
    rig = AgentRig(ScriptedModel(script))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_until(lambda: len(rig.events(ToolAnswered)) == 1)
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert [one.call_id for one in rig.events(ToolAnswered)] == ["c1", "c0"]
    assert tool_result_texts(rig.model.requests[1]) == ["slow c0", "quick c1"]
    assert [one.how for one in rig.events(TurnEnded)] == ["done"]
    assert rig.updates_of(TurnChanged) == [TurnChanged(True), TurnChanged(False)]
    await rig.assert_consistent()


async def test_sending_returns_the_event_that_holds_the_message() -> None:
    """Of the turn that it starts, or of its place in the queue; two with the same text are told apart."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("wait", {})), text_reply("Done."))))
    conversation = await rig.begin()
    first = await conversation.send("Again.")
    await rig.tools.started.wait()
    queued = await conversation.send("Again.")
    rig.tools.gate.set()
    await rig.wait_until_idle()
    log = {one.seq: one.event for one in conversation.session.log}
    assert log[first] == UserSpoke("Again.", 1, mode="ask")
    assert log[queued] == MessageQueued("Again.")
    assert [one.queued for one in rig.events(UserSpoke)] == [0, queued]


@pytest.mark.expect_errors("task record .* failed")
async def test_a_message_that_could_not_be_recorded_has_no_event() -> None:
    """The turn says why; whoever sent it still has its text."""
    rig = AgentRig(ScriptedModel(replies_in_order()))
    conversation = await rig.begin()
    rig.store.first_failing_write = 0
    assert await conversation.send("Lost?") == 0
    await rig.wait_until_idle()
    assert rig.updates_of(ErrorRaised)[-1].what == "The disk is full."
    assert not rig.events(UserSpoke)


async def test_a_message_that_fills_the_window_by_itself_is_refused() -> None:
    """Before anything is recorded: it would stand in the way of all others."""
    rig = AgentRig(ScriptedModel(replies_in_order()))
    conversation = await rig.begin()
    with pytest.raises(MessageTooLarge, match="a message may have"):
        await conversation.send("word " * conversation.message_limit * 2)
    assert not rig.events(UserSpoke)
    assert not conversation.is_running


async def test_outputs_are_stored_before_they_are_shown() -> None:
    """The bytes of each output can be read back by the digest in its event."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("say", {"text": "words", "times": 40})))))
    talk = await rig.begin()
    await talk.run("Go.")
    (answer,) = rig.events(ToolAnswered)
    data = await rig.store.get(answer.digest)
    assert digest_of(data) == answer.digest
    assert data.decode() == answer.text
    assert answer.whole
    await rig.assert_consistent()


async def test_a_huge_output_is_previewed() -> None:
    """Above its share of the window an output is shown as a preview of bounded size, and stored whole."""
    rig = AgentRig(
        ScriptedModel(replies_in_order(tool_call_reply(("say", {"text": "a b c d e f g", "times": 3_000}))))
    )
    talk = await rig.begin()
    await talk.run("Go.")
    (answer,) = rig.events(ToolAnswered)
    assert not answer.whole
    assert answer.tokens <= rig.workspace.policy.preview_tokens
    assert answer.digest in answer.text
    assert len(await rig.store.get(answer.digest)) == answer.size > 20_000
    await rig.assert_consistent()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("fail", "No such file. It is not there. List the folder."),
        ("crash", "crash failed. ZeroDivisionError: division by zero"),
        ("forbidden", "That is outside the workspace."),
        ("broken", "broken failed. KeyError: 'path'"),
    ],
)
async def test_a_failing_tool_is_told_to_the_agent(name: str, shown: str) -> None:
    """Whatever goes wrong in a tool, the turn goes on with what was said."""
    rig = AgentRig(
        ScriptedModel(replies_in_order(tool_call_reply((name, {}), ("say", {})), text_reply("I see.")))
    )
    talk = await rig.begin()
    ended = await talk.run("Go.")
    assert ended.how == "done"
    assert tool_result_texts(rig.model.requests[1]) == [shown, "ok c1"]
    assert sorted(one.ok for one in rig.events(ToolAnswered)) == [False, True]
    await rig.assert_consistent()


async def test_a_denied_call_does_not_run() -> None:
    """The person's no is the answer of the call."""
    rig = AgentRig(
        ScriptedModel(replies_in_order(tool_call_reply(("ask", {})), text_reply("Then not."))),
        approver=FixedApprover("deny"),
    )
    talk = await rig.begin()
    await talk.run("Go.")
    assert rig.tools.executed_calls == []
    assert tool_result_texts(rig.model.requests[1]) == [DENIED]
    assert [one.decision for one in rig.events(ApprovalGiven)] == ["deny"]
    assert [one.outcome for one in rig.events(ToolAnswered)] == ["denied"]
    await rig.assert_consistent()


async def test_always_is_asked_once() -> None:
    """Of several calls the first is asked; the saved rule answers the others and those of later turns."""
    rig = AgentRig(
        ScriptedModel(
            replies_in_order(
                tool_call_reply(("ask", {}), ("ask", {})), tool_call_reply(("ask", {}), id_prefix="d")
            )
        )
    )
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.wait_for_updates(ApprovalRequested)
    assert [one.call_id for one in talk.asks] == ["c0", "c1"]
    assert talk.decide("c0", "always")
    assert not talk.decide("c0", "deny")
    await rig.wait_until_idle()
    assert [one.ask.call_id for one in rig.updates_of(ApprovalRequested)] == ["c0", "c1"]
    assert [(one.decision, one.rule) for one in rig.events(ApprovalGiven)] == [
        ("always", ""),
        ("always", "Use ask, whatever it is asked"),
        ("always", "Use ask, whatever it is asked"),
    ]
    assert rig.tools.executed_calls == ["c0", "c1", "d0"]
    await rig.assert_consistent()


@pytest.mark.parametrize(
    "error",
    [
        ModelUnreachable("The server does not answer.", "It is down.", "Start it."),
        ModelRequestRejected("The key was refused."),
        ContextWindowExceeded("Too long."),
        InvalidModelResponse("That is no answer."),
    ],
)
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("pieces", [0, 1])
async def test_a_model_error_ends_the_turn(error: ModelRequestRejected, step: int, pieces: int) -> None:
    """At any step, before or amid an answer: it is told, what was said stays, work goes on."""
    broken: ScriptedReply = [*([TextDelta("I think")] * pieces), error]
    rig = AgentRig(
        ScriptedModel(
            replies_in_order(*([tool_call_reply(("say", {}))] * step), broken, text_reply("Here again."))
        )
    )
    talk = await rig.begin()
    ended = await talk.run("Go.")
    assert ended == TurnEnded("failed", error.what, error.why, error.fix, remedies=error.remedies)
    assert rig.events(TurnEnded) == [ended]
    assert [one.text for one in rig.events(AssistantSpoke)][step:] == ["I think"] * pieces
    assert (await talk.run("Again.")).how == "done"
    assert rig.events(AssistantSpoke)[-1].text == "Here again."
    await rig.assert_consistent()


@pytest.mark.parametrize("play", [[], [ModelResponse("  \n")], [TextDelta("Half.")]])
async def test_an_answer_of_nothing_is_an_error(play: ScriptedReply) -> None:
    """A model that says nothing, or breaks off without an end, fails the turn."""
    rig = AgentRig(ScriptedModel(replies_in_order(play)))
    talk = await rig.begin()
    assert (await talk.run("Go.")).how == "failed"
    assert (await talk.run("Again.")).how == "done"
    await rig.assert_consistent()


async def test_what_a_retry_voids_is_not_kept() -> None:
    """Only what came after the retry is the answer."""
    rig = AgentRig(ScriptedModel(replies_in_order([*HALF_REPLY_THEN_RETRY, *text_reply("Whole.")])))
    talk = await rig.begin()
    await talk.run("Go.")
    assert [one.text for one in rig.events(AssistantSpoke)] == ["Whole."]
    assert [type(one) for one in rig.updates if isinstance(one, ResponseDelta | ResponseReset)] == [
        *(ResponseDelta, ResponseReset),
        *(ResponseDelta, ResponseDelta),
    ]


async def test_what_is_typed_meanwhile_is_sent_afterwards() -> None:
    """Messages sent during a turn wait on record, in order, and each gets its own turn."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("wait", {})))))
    talk = await rig.begin()
    await talk.send("First.")
    await rig.tools.started.wait()
    await talk.send("Second.")
    await talk.send("Third.")
    assert [one.text for one in rig.events(MessageQueued)] == ["Second.", "Third."]
    assert list(talk.session.transcript.queued_messages.values()) == rig.events(MessageQueued)
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert [one.text for one in rig.events(UserSpoke)] == ["First.", "Second.", "Third."]
    assert not talk.session.transcript.queued_messages
    assert len(rig.events(TurnEnded)) == 3
    await rig.assert_consistent()


async def test_what_waited_is_sent_before_what_is_typed_later() -> None:
    """After a stop the waiting messages go first, as soon as the person sends again."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("wait", {})))))
    talk = await rig.begin()
    await talk.send("First.")
    await rig.tools.started.wait()
    await talk.send("Second.")
    await talk.stop()
    assert not talk.is_running
    await talk.send("Third.")
    await rig.wait_until_idle()
    assert [one.text for one in rig.events(UserSpoke)] == ["First.", "Second.", "Third."]
    await rig.assert_consistent()


async def test_two_sends_at_once_are_two_turns() -> None:
    """Nothing typed is dropped, and no two turns run side by side."""
    rig = AgentRig(ScriptedModel(replies_in_order()))
    talk = await rig.begin()
    await asyncio.gather(*(talk.send(f"Message {number}.") for number in range(4)))
    await rig.wait_until_idle()
    assert [one.text for one in rig.events(UserSpoke)] == [f"Message {number}." for number in range(4)]
    assert [len(request.messages) for request in rig.model.requests] == [2, 4, 6, 8]
    await rig.assert_consistent()


async def test_an_output_that_was_forgotten_does_not_come_back_with_its_tool() -> None:
    """The same call again shows and stores a placeholder, and the model is told not to go around it."""
    words = ("say", {"text": "the secret", "times": 3})
    rig = AgentRig(ScriptedModel(replies_in_order(*(tool_call_reply(words), text_reply("Done.")) * 3)))
    talk = await rig.begin()
    await talk.run("Go.")
    (first,) = rig.events(ToolAnswered)
    await rig.store.redaction.redact(RedactionRequest("the secret"))
    await talk.run("Again.")
    again = rig.events(ToolAnswered)[-1]
    assert again.text.startswith("[FORGOTTEN ")
    assert again.text.endswith(WITHHELD)
    assert (await rig.store.get(again.digest)).decode() == again.text
    with pytest.raises(ContentRedacted):
        await rig.store.get(first.digest)
    await rig.store.redaction.lift(first.digest)
    await talk.run("And again.")
    assert rig.events(ToolAnswered)[-1].text == first.text


async def test_a_session_is_named_after_the_whole_first_line_of_its_first_message() -> None:
    rig = AgentRig(ScriptedModel(replies_in_order(text_reply("Done."))))
    talk = await rig.begin()
    line = "Go through every module, one after the other, and write down which of them reach the network"
    await talk.send(f"{line}\nThen stop.")
    await rig.wait_until(lambda: rig.events(TurnEnded))
    assert talk.session.transcript.title == line


async def test_a_wait_for_the_server_is_skipped_on_demand() -> None:
    """The call is made at once, and listeners hear that nothing is waited for any more."""
    back = asyncio.Event()
    rig = AgentRig(
        ScriptedModel(
            replies_in_order([RetryScheduled(2, 3_600.0, "down", back.set), back, *text_reply("Here.")])
        )
    )
    talk = await rig.begin()
    talk.retry_now()  # nothing waits yet
    await talk.send("Go.")
    await rig.wait_for_updates(ResponseReset)
    talk.retry_now()
    await rig.wait_until_idle()
    assert [one.wait_s for one in rig.response_resets()] == [3_600.0, 0.0]
    assert rig.events(TurnEnded) == [TurnEnded("done")]
