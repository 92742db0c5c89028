"""Handovers in three phases while a conversation goes on."""

from __future__ import annotations

import asyncio
import re

import pytest

from helix_desktop.agent.session import CompactionProgress
from helix_desktop.context.summaries.handover import TITLE
from helix_desktop.domain.errors import ContextWindowExceeded, ModelUnreachable
from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.rewrite import FormChosen, HandoverTrigger
from helix_desktop.domain.events.summary import NO_MODEL, HandoverFailed, HandoverMade
from helix_desktop.domain.messages import ModelRequest, ModelResponse, RetryScheduled, TextDelta
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig
from tests.support.handover_rig import NO_SWEEP, ready_conversation, working
from tests.support.scripted_model import (
    SUMMARY,
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
)


def texts(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


async def test_a_handover_at_85_percent_while_work_goes_on() -> None:
    """The turn goes on with the old window, messages are queued and sent, and the next request is smaller."""
    gate = asyncio.Event()
    model = ScriptedModel(
        working(19, 380), summary_script=lambda _: [TextDelta(SUMMARY), gate, ModelResponse(SUMMARY)]
    )
    rig = AgentRig(model, NO_SWEEP)
    conversation = await rig.begin()
    await conversation.send("Build the thing. Never touch main.")
    await rig.wait_until(lambda: model.summary_requests)
    before_record = model.summary_requests[0].messages[1].text.split("The messages to hand over:\n")[0]
    assert "What came after, and stays beside your text:\nlater e3 user: Build the thing." in before_record
    assert re.search(r"\nlater e\d+ assistant: .*\nlater e\d+ tool ", before_record)
    request_index = len(model.requests)
    await conversation.send("By the way, use tabs.")
    await rig.wait_until(lambda: len(model.requests) > request_index)
    assert TITLE not in texts(model.requests[-1])  # still the old window
    assert rig.events(HandoverMade) == []
    gate.set()
    await rig.wait_until_idle()
    (handover, *_) = rig.events(HandoverMade)
    assert (handover.trigger, handover.threshold) == (HandoverTrigger.THRESHOLD, NO_SWEEP.handover_at)
    assert (handover.model, handover.fallback) == ("test/scripted", "")
    assert handover.after < handover.before * 0.9
    after = next(request for request in model.requests if TITLE in texts(request))
    previous = model.requests[model.requests.index(after) - 1]
    assert len(texts(after)) < len(texts(previous))
    assert after.messages[1].text.startswith(TITLE)
    assert "A fact about todo items [e4]" in after.messages[1].text
    assert "Build the thing." in texts(after)
    assert [event.text for event in rig.events(UserSpoke)][1] == "By the way, use tabs."
    assert all(event.how == "done" for event in rig.events(TurnEnded))
    assert rig.updates_of(CompactionProgress)[-1].phase == "idle"


async def test_the_running_request_is_a_source_and_the_mode_stays_known() -> None:
    """It stays in the window, and a task that cites it was marked as unsupported; the mode was forgotten."""
    model = ScriptedModel(working(19, 380), summary_script=lambda _: [ModelResponse(SUMMARY)])
    rig = AgentRig(model, NO_SWEEP)
    conversation = await rig.begin()
    await conversation.set_mode("auto")
    await conversation.run("Build the thing.")
    await rig.wait_until_idle()
    (handover, *_) = rig.events(HandoverMade)
    assert [bullet.sources for bullet in handover.sections[4].bullets] == [(4,)]
    assert (handover.kept, handover.mode_note) == (4, ""), "the message with the note stays"
    for _ in range(2):
        await conversation.run("Go on.")
    conversation.handovers.start()
    await rig.wait_until_idle()
    (*_, handover) = rig.events(HandoverMade)
    assert handover.mode_note.startswith("[Mode: auto]")
    message = conversation.window.measure()[0].request.messages[1].text
    assert message.startswith(TITLE)
    assert message.endswith(handover.mode_note)
    assert conversation.session.transcript.announced_mode == "auto"


@pytest.mark.parametrize(
    "reply",
    [
        [ModelUnreachable(verbatim("The server does not answer."))],
        [TextDelta("## Project"), ContextWindowExceeded(verbatim("Too long."))],
        text_reply("I would rather not."),
        text_reply("## Project Background\n- only this"),
        [ModelResponse("")],
    ],
)
async def test_without_a_usable_summary_the_ledger_replaces_it(reply: ScriptedReply) -> None:
    """A model that fails or writes nonsense costs nothing but its summary; the card says so."""
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: reply), NO_SWEEP)
    conversation = await rig.begin()
    assert (await conversation.run("Think.")).how == "done"
    await rig.wait_until_idle()
    (handover,) = rig.events(HandoverMade)
    assert handover.model == NO_MODEL
    assert handover.fallback
    assert len(handover.sections) == 6


async def test_a_retry_voids_the_partial_summary() -> None:
    """Only the text after it is read."""
    reply: ScriptedReply = [
        TextDelta("nonsense"),
        RetryScheduled(1, 0.0, "again"),
        TextDelta(SUMMARY),
        ModelResponse(SUMMARY),
    ]
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: reply), NO_SWEEP)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await rig.wait_until_idle()
    assert rig.events(HandoverMade)[0].fallback == ""


async def test_a_manual_handover_with_focus() -> None:
    """The user starts one with a focus; redo and undo give the respective windows."""
    rig = await ready_conversation()
    before, _ = rig.conversation.window.measure()
    rig.conversation.handovers.start("the login")
    await rig.conversation.wait_for_background_work()
    (handover,) = rig.events(HandoverMade)
    assert (handover.trigger, handover.focus) == (HandoverTrigger.MANUAL, "the login")
    request_text = rig.model.summary_requests[0].messages[1].text
    assert "the login" in request_text
    assert "\nThe user's messages from e3 on stand verbatim below your text.\n" in request_text
    after, _ = rig.conversation.window.measure()
    (seq,) = rig.conversation.session.transcript.rewrites.handovers
    await rig.conversation.window.undo(seq)
    await rig.conversation.window.undo(seq)
    assert rig.conversation.window.measure()[0].request == before.request
    await rig.conversation.window.redo(seq)
    await rig.conversation.window.redo(seq)
    assert rig.conversation.window.measure()[0].request == after.request


async def test_what_is_left_to_do_stands_in_a_handover_that_does_not_say_it() -> None:
    """The model's summary knows nothing of the agent's todo list; the next request does."""
    items = [{"content": "Rework the lexer", "status": "in_progress"}, {"content": "Test it"}]
    thoughts = [tool_call_reply(("say", {}), text=f"word{n} " * 600, id_prefix=f"t{n}-") for n in range(8)]
    planned = tool_call_reply(("todo", {"items": items}), id_prefix="p")
    rig = await ready_conversation(replies_in_order(planned, *thoughts, text_reply("Done.")))
    rig.conversation.handovers.start()
    await rig.conversation.wait_for_background_work()
    (handover,) = rig.events(HandoverMade)
    (tasks,) = (kind for kind in handover.coverage if kind.kind == "tasks")
    assert (tasks.named, tasks.total) == (0, 2)
    text = texts(rig.conversation.window.measure()[0].request)
    assert "- Left to do on the todo list: Rework the lexer [e" in text


async def test_nothing_is_blocked_while_a_summary_is_written() -> None:
    """Sending, queueing, stopping, renaming, pinning, choosing a form, undoing: all at once, all recorded."""
    gate = asyncio.Event()
    rig = await ready_conversation(summary=lambda _: [TextDelta("## Project"), gate, *text_reply(SUMMARY)])
    rig.model.script = replies_in_order(
        tool_call_reply(("say", {"times": 700}), id_prefix="loud"), text_reply("Done.")
    )
    await rig.conversation.run("Say a lot.")
    transcript = rig.conversation.session.transcript
    (large_reply,) = [
        item.seq
        for item in transcript.messages.items
        if isinstance(item.event, ToolAnswered) and item.tokens > 900
    ]
    rig.conversation.handovers.start()
    await rig.wait_until(lambda: rig.model.summary_requests)
    await rig.conversation.rename("Another title")
    await rig.conversation.window.choose_form(large_reply, "preview")
    await rig.conversation.window.pin(large_reply)
    (form,) = rig.seqs(FormChosen)
    await rig.conversation.window.undo(form)
    rig.model.script = lambda _: tool_call_reply(("wait", {}), id_prefix=f"s{len(rig.model.requests)}-")
    await rig.conversation.send("Wait.")
    await rig.tools.started.wait()
    await rig.conversation.send("And then this.")
    await rig.conversation.stop()
    assert rig.events(HandoverMade) == []
    gate.set()
    await rig.conversation.wait_for_background_work()
    (handover,) = rig.events(HandoverMade)
    assert handover.upto < large_reply
    rig.model.script = lambda _: text_reply("Done.")
    rig.conversation.send_next_queued()
    await rig.wait_until_idle()
    assert [event.text for event in rig.events(UserSpoke)][-2:] == ["Wait.", "And then this."]
    text = texts(rig.conversation.window.measure()[0].request)
    assert text.index(TITLE) < text.index("Say a lot.") < text.index("Wait.") < text.index("And then this.")
    assert (transcript.title, transcript.rewrites.pinned) == ("Another title", frozenset({large_reply}))


async def test_a_handover_at_the_same_cut_is_refused_after_a_draft() -> None:
    """A draft that is accepted first makes the handover in progress stale; that is recorded as refused."""
    gate = asyncio.Event()
    gate.set()
    rig = await ready_conversation(summary=lambda _: [gate, *text_reply(SUMMARY)])
    draft = await rig.conversation.handovers.writer.draft()
    gate.clear()
    rig.conversation.handovers.start()
    await rig.wait_until(lambda: len(rig.model.summary_requests) == 2)
    await rig.conversation.handovers.writer.commit(draft)
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert len(rig.events(HandoverMade)) == 1
    assert [event.why for event in rig.events(HandoverFailed)] == ["The history changed in the meantime."]


async def test_a_handover_updates_the_previous_one() -> None:
    """The second request has the first handover's sentences, and a record of only what came after it."""
    rig = await ready_conversation()
    rig.conversation.handovers.start()
    await rig.conversation.wait_for_background_work()
    first = rig.events(HandoverMade)[0]
    rig.model.script = thinking_script(9)
    await rig.conversation.run("Think again.")
    await rig.conversation.run("And now?")
    rig.conversation.handovers.start()
    await rig.conversation.wait_for_background_work()
    text = rig.model.summary_requests[1].messages[1].text
    assert "The former handover, to be updated" in text
    assert "- A fact about todo items [e4]" in text
    record = text.split("The messages to hand over:")[1]
    assert all(int(seq) > first.upto for seq in re.findall(r"^e(\d+) ", record, re.MULTILINE))
    second = rig.events(HandoverMade)[1]
    assert second.former == next(iter(rig.conversation.session.transcript.rewrites.handovers))
    assert "e4" in texts(rig.conversation.window.measure()[0].request)


async def test_the_cooldown_applies() -> None:
    """After a successful handover, the next needs its minute."""
    rig = AgentRig(ScriptedModel(thinking_script(12)), NO_SWEEP)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 1
    (seq,) = conversation.session.transcript.rewrites.handovers
    await conversation.window.undo(seq)
    rig.clock.advance_s(59)
    await conversation.run("Yes.")
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 1
    rig.clock.advance_s(1)
    await conversation.run("Yes.")
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 2
