"""Retry: the step that broke off is asked again, with the request of before and no second user message."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session_updates import ResponseDelta
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ModelUnreachable
from helix_desktop.domain.events.session import AssistantSpoke, Attachment, TurnEnded, TurnRetried, UserSpoke
from helix_desktop.domain.messages import ModelRequest, TextDelta
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import (
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    tool_call_reply,
    tool_result_texts,
)

DOWN = ModelUnreachable("The server cannot be reached.")
BROKEN: ScriptedReply = [TextDelta("I was "), TextDelta("saying"), DOWN]


def raw(request: ModelRequest) -> bytes:
    """The bytes of a request."""
    return msgspec.json.encode(request)


async def failed(*plays: ScriptedReply) -> AgentRig:
    """A first turn that played these, and failed."""
    rig = AgentRig(ScriptedModel(replies_in_order(*plays)))
    await rig.begin()
    assert (await rig.conversation.run("Go.")).how == "failed"
    return rig


async def test_the_same_request_is_sent_again() -> None:
    """Byte for byte, without the words that broke off; they stay in the log."""
    rig = await failed(BROKEN)
    await rig.conversation.retry()
    await rig.wait_until_idle()
    first, second = rig.model.requests
    assert raw(first) == raw(second)
    assert len(rig.events(UserSpoke)) == 1
    assert [one.text for one in rig.events(AssistantSpoke)] == ["I was saying", "Done."]
    assert [one.how for one in rig.events(TurnEnded)] == ["failed", "done"]
    await rig.assert_consistent()


async def test_a_second_attempt_can_fail_too() -> None:
    """Each attempt leaves the window."""
    rig = await failed(BROKEN, BROKEN)
    for _ in range(2):
        await rig.conversation.retry()
        await rig.wait_until_idle()
    assert len({raw(one) for one in rig.model.requests}) == 1
    assert len(rig.events(TurnRetried)) == 2
    assert rig.events(TurnEnded)[-1].how == "done"


async def test_steps_that_ran_tools_stay() -> None:
    """What they changed stays changed, and the model has to know; only the failed step is repeated."""
    rig = await failed(tool_call_reply(("say", {"text": "wrote it"})), BROKEN)
    await rig.conversation.retry()
    await rig.wait_until_idle()
    assert rig.tools.executed_calls == ["c0"]
    assert raw(rig.model.requests[1]) == raw(rig.model.requests[2])
    assert tool_result_texts(rig.model.requests[2]) == ["wrote it c0"]


async def test_a_turn_that_was_stopped() -> None:
    """In the middle of an answer; a call that was cut off is answered as such."""
    rig = AgentRig(
        ScriptedModel(replies_in_order(tool_call_reply(("wait", {})), [TextDelta("Half"), asyncio.Event()]))
    )
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.tools.started.wait()
    await talk.stop()
    await talk.retry()
    await rig.wait_for_updates(ResponseDelta)
    await talk.stop()
    await talk.retry()
    await rig.wait_until_idle()
    assert raw(rig.model.requests[1]) == raw(rig.model.requests[2])
    assert tool_result_texts(rig.model.requests[2]) == ["The user stopped the turn before this call ended."]
    assert rig.tools.executed_calls == ["c0"]
    await rig.assert_consistent()


async def test_after_a_restart() -> None:
    """Another process goes on from the log."""
    rig = await failed(BROKEN)
    session = rig.conversation.session.id
    again = rig.create_workspace(rig.store, PROFILES["balanced"])
    talk = await again.open_session(session)
    await talk.retry()
    await rig.wait_until(lambda: not talk.is_running)
    assert raw(rig.model.requests[0]) == raw(rig.model.requests[1])
    assert talk.session.transcript.unfinished_end_seq == 0


async def test_what_waits_is_sent_after_the_turn() -> None:
    """The retry goes first; a message that steers enters after its step."""
    rig = AgentRig(ScriptedModel(replies_in_order([TextDelta("Half"), asyncio.Event()])))
    talk = await rig.begin()
    await talk.send("First.")
    await rig.wait_for_updates(ResponseDelta)
    await talk.send("Later.")
    await talk.send("Only the tests.", steer=True)
    await talk.stop()
    await talk.retry()
    await rig.wait_until_idle()
    assert [one.text for one in rig.events(UserSpoke)] == ["First.", "Only the tests.", "Later."]
    assert raw(rig.model.requests[0]) == raw(rig.model.requests[1])
    await rig.assert_consistent()


async def test_attachments_go_along_again() -> None:
    """The message is the one of before, with everything in it."""
    rig = AgentRig(ScriptedModel(replies_in_order(BROKEN)))
    talk = await rig.begin()
    content = Content(digest_of(b"notes"), b"notes")
    await rig.store.commit(Commit(talk.session.id, contents=[content]))
    await talk.send("Read it.", [Attachment(content.digest, "notes.md", "notes", 1, 5)])
    await rig.wait_until_idle()
    await talk.retry()
    await rig.wait_until_idle()
    assert raw(rig.model.requests[0]) == raw(rig.model.requests[1])
    assert "notes" in rig.model.requests[1].messages[-1].text


async def test_only_a_turn_that_broke_off() -> None:
    """A turn that is done has nothing to repeat; one that another message followed neither."""
    rig = await failed(BROKEN)
    assert (await rig.conversation.run("Something else.")).how == "done"
    requests = len(rig.model.requests)
    await rig.conversation.retry()
    await rig.wait_until_idle()
    assert len(rig.model.requests) == requests
    assert rig.events(TurnRetried) == []


@pytest.mark.parametrize("partial", [True, False])
async def test_the_list_counts_what_the_transcript_holds(partial: bool) -> None:
    """The session list's number of messages stays right when an attempt leaves the window."""
    rig = await failed(BROKEN if partial else [DOWN])
    await rig.conversation.session.record(
        rig.conversation.session.transcript.retry_event() or TurnEnded("done")
    )
    (listed,) = await rig.store.sessions()
    assert listed.messages == len(rig.conversation.session.transcript.items) == 1
    assert (
        Transcript(rig.conversation.session.log).window_entries()
        == rig.conversation.session.transcript.window_entries()
    )
