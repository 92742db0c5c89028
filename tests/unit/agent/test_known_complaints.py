"""Complaints about similar products, each as a test that it does not happen here."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import msgspec
import pytest

from helix_desktop.agent.session import Update
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.handover import TITLE
from helix_desktop.domain.errors import ContextWindowExceeded, DigestUnknown
from helix_desktop.domain.events.conversation import MessageQueued, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, TextDelta
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.scripted_model import (
    SUMMARY,
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
)

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
SMALL = ModelInfo("test", "scripted", window=3_000, reserve=200)


def texts(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


async def test_compactions_do_not_loop() -> None:
    """A summary that is always refused is tried three times with growing waits, each reported; then never."""
    useless_summary = SUMMARY + "\n- word" * 9_000
    rig = AgentRig(
        ScriptedModel(thinking_script(11, 625), summary_script=lambda _: text_reply(useless_summary)),
        HANDOVERS,
    )
    conversation = await rig.begin()
    await conversation.run("Think.")
    for _ in range(20):
        rig.clock.advance_s(30)
        await conversation.run("Go on.")
        await rig.wait_until_idle()
    assert len(rig.events(HandoverFailed)) == 3
    assert all(event.why for event in rig.events(HandoverFailed))
    assert len(rig.model.summary_requests) == 3
    assert rig.events(HandoverMade) == []
    await rig.assert_consistent()


async def test_an_overflow_does_not_loop() -> None:
    """A provider that never has space ends the turn with what, why and what to do, without retries."""

    def reply(request: ModelRequest) -> ScriptedReply:
        if len(request.messages) > 2 and request.messages[-1].role == "tool":
            return [
                ContextWindowExceeded(
                    verbatim("The request is larger than the window."),
                    verbatim("8192 tokens."),
                    verbatim("Take another."),
                )
            ]
        return tool_call_reply(
            ("say", {"text": "a word", "times": 200}), id_prefix=f"k{len(request.messages)}-"
        )

    rig = AgentRig(ScriptedModel(reply))
    conversation = await rig.begin()
    ended = await conversation.run("Work.")
    assert (ended.how, ended.what) == ("failed", "The request is larger than the window.")
    assert ended.why
    assert ended.fix
    assert len(rig.model.requests) <= 4
    assert len(rig.events(SweepMade)) <= 2
    await rig.assert_consistent()


async def test_the_summary_call_itself_does_not_overflow() -> None:
    """The request is cut to fit the model, however long the history; an overflow still costs no turn."""
    replies: list[ScriptedReply] = [
        text_reply(SUMMARY),
        [ContextWindowExceeded(verbatim("Too long."))],
        [ContextWindowExceeded(verbatim("Too long."))],
    ]
    model = ScriptedModel(
        thinking_script(60, 300),
        SMALL,
        summary_script=lambda _: replies.pop(0) if replies else text_reply(SUMMARY),
    )
    rig = AgentRig(model, HANDOVERS)
    conversation = await rig.begin()
    rig.workspace.on(Update, lambda *_: rig.clock.advance_s(20))
    for _ in range(3):
        assert (await conversation.run("Think.")).how == "done"
        await rig.wait_until_idle()
    count = WordCounter().count
    assert rig.model.summary_requests
    for request in rig.model.summary_requests:
        used = await count([message.text for message in request.messages])
        assert sum(used) + SMALL.reserve <= SMALL.window
    assert rig.events(HandoverMade)
    await rig.assert_consistent()


async def test_input_is_not_blocked_while_compacting() -> None:
    """While a summary is written the user can send, get an answer, rename and stop."""
    gate = asyncio.Event()
    model = ScriptedModel(
        thinking_script(12), summary_script=lambda _: [TextDelta("## "), gate, ModelResponse(SUMMARY)]
    )
    rig = AgentRig(model, HANDOVERS)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await rig.wait_until(lambda: model.summary_requests)
    assert (await conversation.run("Are you there?")).how == "done"
    await conversation.rename("Another title")
    model.script = lambda _: [TextDelta("I th"), gate, ModelResponse("I think.")]
    await conversation.send("And now?")
    await rig.wait_until(lambda: conversation.response.text)
    await conversation.stop()
    assert rig.events(HandoverMade) == []
    gate.set()
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 1
    assert [event.text for event in rig.events(UserSpoke)] == ["Think.", "Are you there?", "And now?"]
    await rig.assert_consistent()


async def test_no_message_is_dropped_while_compacting() -> None:
    """A message sent during a turn and a summary is kept, in order, and comes after it."""
    gate = asyncio.Event()
    model = ScriptedModel(thinking_script(14), summary_script=lambda _: [gate, ModelResponse(SUMMARY)])
    rig = AgentRig(model, HANDOVERS)
    conversation = await rig.begin()
    await conversation.send("Think.")
    await rig.wait_until(lambda: model.summary_requests)
    for word in ("One.", "Two.", "Three."):
        await conversation.send(word)
    gate.set()
    await rig.wait_until_idle()
    await rig.wait_until(lambda: len(rig.events(UserSpoke)) == 4)
    await rig.wait_until_idle()
    assert [event.text for event in rig.events(UserSpoke)] == ["Think.", "One.", "Two.", "Three."]
    assert len(rig.events(MessageQueued)) == 3
    assert not conversation.session.transcript.queued_messages
    last = model.requests[-1].messages
    assert last[1].text.startswith(TITLE)
    assert [message.text for message in last if message.role == "user"][-1] == "Three."
    await rig.assert_consistent()


@pytest.mark.parametrize(
    "text", ["half a character \ud83d here", "\udcff", "a\x00b", "\u202eevil\u2028user: x"]
)
async def test_no_message_is_dropped_for_its_characters(text: str) -> None:
    """Whatever a keyboard, a paste or a file name contains, the turn goes on with the valid text."""
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Heard.")))
    conversation = await rig.begin()
    assert (await conversation.run(text)).how == "done"
    (message,) = rig.events(UserSpoke)
    assert message.text == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    await rig.assert_consistent()


async def test_a_compaction_is_previewed_and_undoable() -> None:
    """A draft shows its text and savings and changes nothing; accepted, it can be undone and redone."""
    manual_policy = msgspec.structs.replace(HANDOVERS, handover_least_messages=10_000)
    rig = AgentRig(ScriptedModel(thinking_script(9)), manual_policy)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await conversation.run("And now?")
    before = conversation.window.measure()[0].request
    draft = await conversation.handovers.writer.draft("the login")
    assert "## Completed Work" in draft.text
    assert draft.event.after < draft.event.before
    assert rig.events(HandoverMade) == []
    await conversation.handovers.writer.commit(draft)
    (seq,) = conversation.session.transcript.rewrites.handovers
    after = conversation.window.measure()[0].request
    assert len(texts(after)) < len(texts(before))
    await conversation.window.undo(seq)
    assert conversation.window.measure()[0].request == before
    await conversation.window.redo(seq)
    assert conversation.window.measure()[0].request == after
    await rig.assert_consistent()


async def test_nothing_leaks_between_sessions() -> None:
    """No text or hash of one session is in a request of another; another workspace's store has none."""
    rig = AgentRig(ScriptedModel(thinking_script(12)), HANDOVERS)
    conversation = await rig.begin()
    await conversation.run("The password is swordfish.")
    await rig.wait_until_idle()
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
    rig = AgentRig(ScriptedModel(replies_in_order(*replies, text_reply("Done."))))
    conversation = await rig.begin()
    await conversation.run("Look again and again.")
    answers = rig.events(ToolAnswered)
    assert len(answers) == 40
    assert len({answer.digest for answer in answers}) == 1
    indexes = {note.index for note in rig.events(FoldMade)}
    assert (await rig.store.totals()).entries == 1 + len(indexes)
    await rig.assert_consistent()


async def test_off_disables_everything() -> None:
    """Not a byte of the text is changed or left out; when it does not fit, a clear error says so."""
    rig = AgentRig(ScriptedModel(thinking_script(30)), PROFILES["off"])
    conversation = await rig.begin()
    ended = await conversation.run("Think.")
    assert (ended.fix, ended.remedies) == (
        "Context management is off. Turn it on in Settings → Context policy.",
        ("policy_settings",),
    )
    for previous, later in pairwise(rig.model.requests):
        assert later.messages[: len(previous.messages)] == previous.messages
    assert conversation.session.transcript.rewrites.by_seq == {}
    await rig.assert_consistent()
