"""Sessions that continue another one: they begin with its handover, and need nothing of it to stay."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.compaction.handover_writer import WHOLE_SESSION
from helix_desktop.agent.open_workspace import delete_session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.handover import TITLE
from helix_desktop.context.window.window import project
from helix_desktop.domain.errors import CompactionRefused, InvalidInput
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelRequest
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import (
    SUMMARY,
    ScriptedModel,
    ScriptedReply,
    text_reply,
    thinking_script,
    tool_call_reply,
)

MANUAL_ONLY = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=1_000,
    protect_tokens=10**6,
    preview_above=0.8,
    handover_least_messages=10_000,
    observe_at=0.0,
)


def reading_script(request: ModelRequest) -> ScriptedReply:
    """Read a file, then say what it holds."""
    if request.messages[-1].role == "user":
        return tool_call_reply(
            ("say", {"text": "the port is 8080", "target": "a.toml"}), id_prefix=f"c{len(request.messages)}-"
        )
    return text_reply("The port is 8080.\n[as a.toml says]")


async def worked_session() -> AgentRig:
    """Return a session in which something was asked, read and answered."""
    rig = AgentRig(ScriptedModel(reading_script), MANUAL_ONLY)
    conversation = await rig.begin()
    await conversation.rename("Ports")
    await conversation.run("Never touch b.toml. Which port is it?")
    return rig


def handover_text(request: ModelRequest) -> str:
    first = next(message for message in request.messages if message.role == "user")
    assert first.text.startswith(TITLE)
    return first.text


async def test_a_session_begins_with_the_handover_of_another_one() -> None:
    """The words that matter are there verbatim, everything else is one recall away, and nothing is asked."""
    rig = await worked_session()
    old, call_count = rig.conversation, len(rig.model.requests)
    new = await rig.workspace.continue_session(old.session.id)
    assert len(rig.model.requests) == call_count
    assert new.session.transcript.title == "Ports (2)"
    await new.run("And now?")
    text = handover_text(rig.model.requests[-1])
    assert 'the earlier session "Ports"' in text
    assert "user: Never touch b.toml. Which port is it?" in text
    assert "agent: The port is 8080.\n[as a.toml says]" in text
    assert "a.toml" in text
    assert "[e" not in text  # numbers of events would be of this session
    origin = new.session.transcript.origin
    assert origin is not None
    (answer,) = [
        item.event for item in old.session.transcript.messages.items if hasattr(item.event, "digest")
    ]
    assert answer.digest.encode() in await rig.store.get(origin.index)
    rig._conversation = new
    await rig.assert_consistent()
    assert (await rig.workspace.continue_session(old.session.id)).session.transcript.title == "Ports (3)"
    summaries = {summary.id: summary for summary in await rig.workspace.sessions()}
    assert summaries[new.session.id].origin == old.session.id


async def test_the_new_window_needs_its_own_log_only() -> None:
    """The other session can be undone, or deleted; the same log gives the same bytes."""
    rig = await worked_session()
    new = await rig.workspace.continue_session(rig.conversation.session.id)
    await new.run("And now?")
    before = new.window.measure()[0].request
    await delete_session(rig.workspace, rig.conversation.session.id)
    _, frame, _ = rig.workspace.models.shared()
    reread = Transcript(await rig.store.events(new.session.id))
    assert project(reread, new.window.policy, frame).request == before
    await new.window.undo(2)
    assert TITLE not in new.window.measure()[0].request.messages[1].text
    await new.window.redo(2)
    assert new.window.measure()[0].request == before


async def test_a_later_handover_keeps_what_the_session_began_with() -> None:
    """Its index leads to the first one, and the words of the other session stay as long as they fit."""
    think = thinking_script(9)
    rig = AgentRig(
        ScriptedModel(
            lambda request: text_reply("Blue.") if "sea" in request.messages[-1].text else think(request)
        ),
        MANUAL_ONLY,
    )
    conversation = await rig.begin()
    await conversation.run("Think of the sea.")
    new = await rig.workspace.continue_session(conversation.session.id)
    await new.run("Think.")
    await new.run("And now?")
    await new.handovers.writer.commit(await new.handovers.writer.draft())
    current = new.session.transcript.window.handover
    origin = new.session.transcript.origin
    assert current is not None
    assert origin is not None
    assert current[1].former == 2
    assert origin.index.encode() in await rig.store.get(current[1].index)
    text = handover_text(new.window.measure()[0].request)
    assert "user: Think of the sea." in text
    third = await rig.workspace.continue_session(new.session.id, current[0])
    assert "user: Think of the sea." in handover_text(third.window.measure()[0].request)
    started, first = (recorded.event for recorded in third.session.log)
    assert isinstance(started, SessionStarted)
    assert isinstance(first, HandoverMade)
    assert (started.title, first.index, first.origin_seq) == (
        "Think of the sea. (3)",
        current[1].index,
        current[0],
    )


async def test_a_model_can_write_the_handover_for_a_new_session() -> None:
    """Also where compacting frees nothing; nothing is recorded here, the new session counts the cost."""
    script = ScriptedModel(reading_script, summary_script=lambda _: text_reply(SUMMARY))
    rig = AgentRig(script, MANUAL_ONLY)
    conversation = await rig.begin()
    await conversation.run("Never touch b.toml. Which port is it?")
    before = list(conversation.session.log)
    assert conversation.handovers.writer.frees_little()
    draft = await conversation.handovers.writer.draft("ports", scope=WHOLE_SESSION)
    edited = await conversation.handovers.writer.apply_edits(
        draft, draft.text.replace("A fact about", "My word on")
    )
    assert conversation.session.log == before
    new = await rig.workspace.continue_session(conversation.session.id, handover=edited)
    text = handover_text(new.window.measure()[0].request)
    assert "My word on current issues" in text
    assert "user: Never touch b.toml. Which port is it?" in text
    origin = new.session.transcript.origin
    assert origin is not None
    assert (origin.model, origin.focus, origin.edited) == ("test/scripted", "ports", True)
    assert new.session.transcript.spending.tokens == draft.event.spent > 0
    rate = await rig.workspace.fallbacks.count()
    assert rate.summaries == 1


async def test_a_draft_of_nothing_is_refused() -> None:
    """Without a message there is nothing to write."""
    rig = AgentRig(ScriptedModel(reading_script), MANUAL_ONLY)
    conversation = await rig.begin()
    with pytest.raises(CompactionRefused, match="no messages"):
        await conversation.handovers.writer.draft(scope=WHOLE_SESSION)


async def test_fallbacks_are_counted_over_all_sessions() -> None:
    """Open or not; a session is read again once it went on."""
    rig = AgentRig(ScriptedModel(thinking_script(9)), MANUAL_ONLY)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await conversation.run("And now?")
    assert (await rig.workspace.fallbacks.count()).summaries == 0
    draft = await conversation.handovers.writer.draft()
    event = msgspec.structs.replace(draft.event, fallback="No model answered.")
    await conversation.handovers.writer.commit(msgspec.structs.replace(draft, event=event))
    again = rig.create_workspace(rig.store, MANUAL_ONLY)
    for workspace in (rig.workspace, again):
        rate = await workspace.fallbacks.count()
        assert (rate.summaries, rate.fallbacks, rate.newest_reason) == (1, 1, "No model answered.")


async def test_there_must_be_a_handover() -> None:
    """An event that is none, and a session without messages, are refused with what to do."""
    rig = await worked_session()
    with pytest.raises(InvalidInput, match="e3 isn't a summary"):
        await rig.workspace.continue_session(rig.conversation.session.id, 3)
    empty = await rig.workspace.create_session()
    with pytest.raises(InvalidInput, match="no messages"):
        await rig.workspace.continue_session(empty.session.id)
    assert len(await rig.workspace.sessions()) == 2
