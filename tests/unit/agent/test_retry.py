"""Retry: the failed step is sent again, with the same request and no second user message."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.attachments import without_repeats
from helix_desktop.agent.session import ResponseDelta
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ModelUnreachable
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.messages import ModelRequest, TextDelta
from helix_desktop.domain.store import Commit, Content, MessageCounts
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.scripted_model import (
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)

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


async def test_steps_that_ran_tools_stay() -> None:
    """Their changes stay, and the model has to know; only the failed step is repeated."""
    rig = await failed_turn(tool_call_reply(("say", {"text": "wrote it"})), BROKEN)
    await rig.conversation.retry()
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["c0"]
    assert raw(rig.model.requests[1]) == raw(rig.model.requests[2])
    assert tool_result_texts(rig.model.requests[2]) == ["wrote it c0"]


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


async def test_a_retry_after_a_restart() -> None:
    """Another process continues from the log."""
    rig = await failed_turn(BROKEN)
    session_id = rig.conversation.session.id
    again = rig.create_workspace(rig.store, PROFILES["balanced"])
    conversation = await again.open_session(session_id)
    await conversation.retry()
    await rig.wait_until(lambda: not conversation.is_running)
    assert raw(rig.model.requests[0]) == raw(rig.model.requests[1])
    assert conversation.session.transcript.unfinished_end_seq == 0


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


async def test_a_retry_includes_the_attachments() -> None:
    """The message is the original, with everything in it."""
    rig, conversation = await begin_with(BROKEN)
    content = Content(digest_of(b"notes"), b"notes")
    await rig.store.commit(Commit(conversation.session.id, contents=[content]))
    await conversation.send("Read it.", [Attachment(content.digest, "notes.md", "notes", 1, 5)])
    await rig.wait_until_idle()
    await conversation.retry()
    await rig.wait_until_idle()
    assert raw(rig.model.requests[0]) == raw(rig.model.requests[1])
    assert "notes" in rig.model.requests[1].messages[-1].text


async def test_what_was_attached_before_is_named_only_while_it_stands_there() -> None:
    """A skill for three messages stands in the request once; a branch before the first has it in full."""
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Done.")))
    conversation = await rig.begin()
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
    assert await without_repeats([again], Transcript(), WordCounter()) == (skill,)


async def test_only_an_interrupted_turn_can_be_retried() -> None:
    """A finished turn has nothing to repeat, nor does one followed by another message."""
    rig = await failed_turn(BROKEN)
    assert (await rig.conversation.run("Something else.")).how == "done"
    requests = len(rig.model.requests)
    await rig.conversation.retry()
    await rig.wait_until_idle()
    assert len(rig.model.requests) == requests
    assert rig.events(TurnRetried) == []


@pytest.mark.parametrize("partial", [True, False])
async def test_the_list_counts_the_transcript_s_messages(partial: bool) -> None:
    """The session list's number of messages stays right when an attempt leaves the window."""
    rig = await failed_turn(BROKEN if partial else [DOWN])
    rig.is_left_unsound = True  # its turn is open
    await rig.conversation.session.record(
        rig.conversation.session.transcript.retry_event() or TurnEnded("done")
    )
    (summary,) = await rig.store.sessions()
    assert summary.counts == rig.conversation.session.transcript.messages.counts() == MessageCounts(1)
    assert (
        Transcript(rig.conversation.session.log).window.entries()
        == rig.conversation.session.transcript.window.entries()
    )
