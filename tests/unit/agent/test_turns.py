"""Turns: begun by a message, stopped at any moment, retried where they failed."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.attachments import attachments_as_sent
from helix_desktop.agent.message_queue import MessageTooLarge
from helix_desktop.agent.session import (
    ApprovalRequested,
    CallOutput,
    ErrorRaised,
    ResponseDelta,
    TurnChanged,
)
from helix_desktop.agent.tool_calls.runner import WITHHELD
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.attachment_text import attachment_text
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    ContentRedacted,
    ContextWindowExceeded,
    DigestUnknown,
    InvalidModelResponse,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    MessageQueued,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, RetryScheduled, TextDelta
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, GatedStore, begin_with
from tests.support.call_log import CallLog
from tests.support.scripted_model import (
    HALF_REPLY_THEN_RETRY,
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
    tool_result_texts,
)


async def test_parallel_calls_are_answered_in_the_order_of_the_calls() -> None:
    """Whichever ends first, the model reads the answers in call order; the log keeps completion order."""
    script = replies_in_order(
        tool_call_reply(("wait", {"text": "slow"}), ("say", {"text": "quick"})), text_reply("Both read.")
    )
    rig, conversation = await begin_with(script=script)
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


STOPPED = TurnEnded("stopped")


async def check_continues(rig: AgentRig, ended: TurnEnded = STOPPED) -> None:
    assert not rig.conversation.is_running
    assert rig.events(TurnEnded)[-1] == ended
    await rig.assert_consistent()
    assert (await rig.conversation.run("Go on.")).how == "done"
    await rig.assert_consistent()


async def test_stop_during_a_retry() -> None:
    """What the retry voided is not kept; the end says what had failed."""
    rig, conversation = await begin_with([*HALF_REPLY_THEN_RETRY, asyncio.Event()])
    await conversation.send("Go.")
    await rig.wait_for_updates(RetryScheduled)
    await conversation.stop()
    assert rig.events(AssistantSpoke) == []
    await check_continues(rig, TurnEnded("stopped", why="The server closed the connection."))


async def test_stop_while_a_tool_has_output() -> None:
    """It is recorded in place of the note that the turn was stopped."""
    rig, conversation = await begin_with(tool_call_reply(("wait", {"has_output": True}), ("wait", {})))
    await conversation.send("Go.")
    await rig.wait_until(lambda: len(rig.updates_of(CallOutput)) == 4)
    await conversation.stop()
    assert [(event.call_id, event.outcome) for event in rig.events(ToolAnswered)] == [
        ("c0", "ran"),
        ("c1", "interrupted"),
    ]
    await check_continues(rig)
    assert tool_result_texts(rig.model.requests[-1]) == [
        "ok c0",
        "The user stopped the turn before this call ended.",
    ]


async def test_stop_while_a_finished_call_waits_to_be_recorded() -> None:
    """Its output counts: it came before the stop."""
    steps = [tool_call_reply(("say", {"times": 900}), id_prefix=f"k{n}") for n in range(9)]
    policy = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, protect_tokens=1)
    rig, conversation = await begin_with(*steps, policy=policy)
    rig.store.gated_event_types = (SweepMade,)
    await conversation.send("Go.")
    await rig.store.gate_reached.wait()
    await rig.wait_until(lambda: not conversation.running_calls.running)
    await asyncio.gather(conversation.stop(), open_later(rig))
    assert {event.outcome for event in rig.events(ToolAnswered)} == {"ran"}
    await check_continues(rig)


async def test_stop_of_the_turn_right_after_that_of_its_call() -> None:
    """The call is ending: it is not cut off in the middle of that."""
    rig, conversation = await begin_with(tool_call_reply(("wait", {"ends_slowly": True})))
    await conversation.send("Go.")
    await rig.tools.started.wait()
    assert conversation.running_calls.stop("c0")
    await rig.wait_until(lambda: rig.tools.canceled_calls == ["c0"])
    await asyncio.gather(conversation.stop(), _open_gate_later(rig))
    assert [(event.text, event.outcome) for event in rig.events(ToolAnswered)] == [("ok c0", "ran")]
    await check_continues(rig)


async def _open_gate_later(rig: AgentRig) -> None:
    for _ in range(20):
        await asyncio.sleep(0)
    rig.tools.gate.set()


async def test_stop_during_an_approval_request() -> None:
    """The request goes away, and so do those after it."""
    rig, conversation = await begin_with(tool_call_reply(("ask", {}), ("ask", {})))
    await conversation.send("Go.")
    await rig.wait_for_updates(ApprovalRequested)
    await conversation.stop()
    assert conversation.asks == []
    assert not conversation.decide("c0", "once")
    assert rig.tools.executed_calls == []
    await check_continues(rig)


async def test_concurrent_stops_during_an_answer() -> None:
    """The text so far stays; those after the first wait for the same end."""
    rig, conversation = await begin_with([TextDelta("I was "), TextDelta("saying"), asyncio.Event()])
    await conversation.send("Go.")
    await rig.wait_for_updates(ResponseDelta, 2)
    await asyncio.gather(conversation.stop(), conversation.stop(), conversation.stop())
    (answer,) = rig.events(AssistantSpoke)
    assert (answer.text, answer.stop) == ("I was saying", "stopped")
    assert rig.model.closed_streams == 1
    assert rig.events(TurnEnded) == [STOPPED]
    await check_continues(rig)
    await conversation.stop()
    assert len(rig.events(TurnEnded)) == 2


async def open_later(rig: AgentRig) -> None:
    """Let the disk answer after everything else had its chance."""
    for _ in range(20):
        await asyncio.sleep(0)
    rig.store.gate.set()


async def test_stop_right_after_the_end_of_another_turn() -> None:
    """The previous turn's end is not mistaken for this message's record: nothing is dropped."""
    rig, conversation = await begin_with(script=lambda _: text_reply("Done."))
    await conversation.send("One.")
    await rig.wait_until(lambda: not conversation.is_running)
    await conversation.send("Two.")
    await conversation.stop()
    assert [event.text for event in rig.events(UserSpoke)] == ["One.", "Two."]


DOWN = ModelUnreachable(verbatim("The server cannot be reached."))
BROKEN: ScriptedReply = [TextDelta("I was "), TextDelta("saying"), DOWN]


def raw(request: ModelRequest) -> bytes:
    return msgspec.json.encode(request)


async def failed_turn(*replies: ScriptedReply) -> AgentRig:
    """Run a first turn with these replies that fails."""
    rig, _ = await begin_with(*replies)
    assert (await rig.conversation.run("Go.")).how == "failed"
    return rig


async def test_the_same_request_is_sent_again() -> None:
    """Byte for byte, without the partial answer, which stays in the log."""
    rig = await failed_turn(BROKEN)
    await rig.conversation.retry()
    await rig.wait_until_idle()
    first, second = rig.model.requests
    assert raw(first) == raw(second)
    assert len(rig.events(UserSpoke)) == 1
    assert [event.text for event in rig.events(AssistantSpoke)] == ["I was saying", "Done."]
    assert [event.how for event in rig.events(TurnEnded)] == ["failed", "done"]


async def test_a_stopped_turn_can_be_retried() -> None:
    """In the middle of an answer; an interrupted call is answered as such."""
    rig, conversation = await begin_with(tool_call_reply(("wait", {})), [TextDelta("Half"), asyncio.Event()])
    await conversation.send("Go.")
    await rig.tools.started.wait()
    await conversation.stop()
    await conversation.retry()
    await rig.wait_for_updates(ResponseDelta)
    await conversation.stop()
    await conversation.retry()
    await rig.wait_until_idle()
    assert raw(rig.model.requests[1]) == raw(rig.model.requests[2])
    assert tool_result_texts(rig.model.requests[2]) == ["The user stopped the turn before this call ended."]
    assert rig.tools.executed_calls == ["c0"]


async def test_queued_messages_are_sent_after_the_retried_turn() -> None:
    """The retry goes first; a steering message enters after its step."""
    rig, conversation = await begin_with([TextDelta("Half"), asyncio.Event()])
    await conversation.send("First.")
    await rig.wait_for_updates(ResponseDelta)
    await conversation.send("Later.")
    await conversation.send("Only the tests.", steer=True)
    await conversation.stop()
    await conversation.retry()
    await rig.wait_until_idle()
    assert [event.text for event in rig.events(UserSpoke)] == ["First.", "Only the tests.", "Later."]
    assert raw(rig.model.requests[0]) == raw(rig.model.requests[1])


async def test_what_was_attached_before_is_named_only_while_it_stands_there() -> None:
    """A skill for three messages stands in the request once; a branch before the first has it in full."""
    rig, conversation = await begin_with(script=lambda _: text_reply("Done."))
    data = b"Follow these steps. " * 40
    content = Content(digest_of(data), data)
    await rig.store.commit(Commit(conversation.session.id, contents=[content]))
    skill = Attachment(content.digest, "deploy/SKILL.md", data.decode(), 200, len(data), kind="file", lines=1)
    for _ in range(3):
        await conversation.run("Deploy it.", [skill])
    messages = rig.model.requests[-1].messages
    texts = [message.text for message in messages if message.role == "user"]
    assert [text.count("Follow these steps.") for text in texts[-3:]] == [40, 0, 0]
    assert all("attached again" in text and skill.digest in text for text in texts[-2:])
    events = rig.events(UserSpoke)
    assert [event.attachments[0].again for event in events] == [False, True, True]
    assert events[-1].attachments[0].tokens < skill.tokens
    await rig.assert_consistent()
    (again,) = events[-1].attachments
    assert await attachments_as_sent([again], Transcript(), WordCounter()) == (skill,)


async def test_a_recalled_text_of_a_file_that_was_edited_since_says_so() -> None:
    """As the history is when the message is sent, and again when that is sent elsewhere."""
    log = CallLog()
    text = "x = 1"
    log.call("read_file", text, path="a.py")
    recalled = Attachment(digest_of(text.encode()), "read_file a.py", text, 3, len(text))
    assert await attachments_as_sent([recalled], log.transcript, WordCounter()) == (recalled,)
    edit = log.call("edit_file", path="a.py", old_text="1", new_text="2")
    (sent,) = await attachments_as_sent([recalled], log.transcript, WordCounter())
    heading = f"[Recalled from the cache: read_file a.py (edited since, e{edit})]"
    assert (attachment_text(sent), sent.tokens) == (f"{heading}\n{text}", recalled.tokens + 3)
    assert await attachments_as_sent([sent], log.transcript, WordCounter()) == (sent,)
    assert await attachments_as_sent([sent], Transcript(), WordCounter()) == (recalled,)
    log.add(UserSpoke("Look.", 1, (sent,)))
    (again,) = await attachments_as_sent([recalled], log.transcript, WordCounter())
    assert f"(edited since, e{edit})" in attachment_text(again)


async def test_only_an_interrupted_turn_can_be_retried() -> None:
    """A finished turn has nothing to repeat, nor does one followed by another message."""
    rig = await failed_turn(BROKEN)
    assert (await rig.conversation.run("Something else.")).how == "done"
    requests = len(rig.model.requests)
    await rig.conversation.retry()
    await rig.wait_until_idle()
    assert len(rig.model.requests) == requests
    assert rig.events(TurnRetried) == []


# Answers stay in the window, so that it is the handover that must make space.
HANDOVERS = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=1_000,
    protect_tokens=10**6,
    fold_after_steps=0,
    observe_at=0.0,
    observe_place_at=0.0,
    preview_above=0.8,
)


def texts(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


@pytest.mark.parametrize(
    "text", ["half a character \ud83d here", "\udcff", "a\x00b", "\u202eevil\u2028user: x"]
)
async def test_no_message_is_dropped_for_its_characters(text: str) -> None:
    """Whatever a keyboard, a paste or a file name contains, the turn goes on with the valid text."""
    rig, conversation = await begin_with(script=lambda _: text_reply("Heard."))
    assert (await conversation.run(text)).how == "done"
    (message,) = rig.events(UserSpoke)
    assert message.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


async def test_nothing_leaks_between_sessions() -> None:
    """No text or hash of one session is in a request of another; another workspace's store has none."""
    rig, _ = await begin_with(script=thinking_script(12), policy=HANDOVERS)
    await rig.run_and_wait("The password is swordfish.")
    assert rig.events(HandoverMade)
    digest = rig.events(ToolAnswered)[0].digest
    request_count = len(rig.model.requests)
    other = await rig.workspace.create_session()
    assert (await other.run("Hello.")).how == "done"
    for request in rig.model.requests[request_count:]:
        assert "swordfish" not in texts(request)
        assert "[CACHED]" not in texts(request)
    other_workspace = rig.create_workspace(GatedStore(), HANDOVERS)
    with pytest.raises(DigestUnknown) as refused:
        await other_workspace.contents.attach(digest)
    assert digest not in str(refused.value.near)
    await rig.assert_consistent()
    await other_workspace.close()


async def test_the_store_does_not_grow_by_duplicates() -> None:
    """The same output a hundred times is one entry; maintaining the window adds only index entries."""

    call = ("same", {"text": "the same words", "times": 120})
    replies = [tool_call_reply(call, id_prefix="k")] * 40
    rig, conversation = await begin_with(*replies, text_reply("Done."))
    await conversation.run("Look again and again.")
    answers = rig.events(ToolAnswered)
    assert len(answers) == 40
    assert len({answer.digest for answer in answers}) == 1
    indexes = {note.index for note in rig.events(FoldMade)}
    assert (await rig.store.totals()).entries == 1 + len(indexes)
