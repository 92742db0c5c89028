"""Two processes look at a session that a crash cut, on a real store: who acts first records it, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.agent.tool_calls.runner import CRASHED
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, StoreLocked
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, Draft, PartialOutput
from helix_desktop.store.remote.client import connect
from helix_desktop.store.remote.server import SharedStore
from tests.support.agent_rig import WITHOUT_CHECKPOINTS, AgentRig
from tests.support.scripted_model import ScriptedModel, replies_in_order

WORKSPACE = "a" * 32
PRINTED = f"{CRASHED}\na quokka stood here\n".encode()


async def cut_session(store: SharedStore) -> list[RecordedEvent]:
    """Store a session that a kill left while a command printed; return its log."""
    call = ToolCall("c0", "run_command", '{"command": "make"}')
    events: list[Event] = [
        SessionStarted("Build"),
        UserSpoke("Build it.", 3),
        AssistantSpoke("", "test/scripted", 2, (call,)),
    ]
    log = [RecordedEvent(n, 1_000 * n, event) for n, event in enumerate(events, 1)]
    await store.commit(Commit("s", log))
    await store.save_partial_outputs("s", [PartialOutput("c0", "a quokka stood here\n", 3_000)])
    return log


async def test_two_processes_look_at_a_cut_session_and_record_it_once(tmp_path: Path) -> None:
    before = await SharedStore.open(tmp_path / "store", WORKSPACE)
    killed = await cut_session(before)
    await before.close()
    owner = await SharedStore.open(tmp_path / "store", WORKSPACE)
    client = await connect(tmp_path / "store", WORKSPACE)
    rig = AgentRig(ScriptedModel(replies_in_order()))
    digest = digest_of(PRINTED)
    first = rig.create_workspace(owner, WITHOUT_CHECKPOINTS)
    second = rig.create_workspace(client, WITHOUT_CHECKPOINTS)
    for workspace in (first, second):
        session = (await workspace.open_session("s")).session
        assert session.log[-1].event == TurnEnded("interrupted", interruption="crash")
        assert await workspace.store.get(digest) == PRINTED
        assert [hit.entry.digest for hit in (await workspace.store.search("quokka")).hits] == [digest]
        assert await workspace.store.events("s") == killed

    await second.rename("s", "Built")
    stored = await client.events("s")
    with pytest.raises(StoreLocked):
        await first.rename("s", "Built twice")
    assert await owner.events("s") == stored
    answers = [entry.event for entry in stored if isinstance(entry.event, ToolAnswered)]
    ends = [entry.event for entry in stored if isinstance(entry.event, TurnEnded)]
    assert (len(answers), len(ends)) == (1, 1)
    assert [entry.digest for entry in (await owner.page()).entries] == [digest]
    assert await owner.draft("s") == Draft()
    await second.close()

    await first.close_session("s")
    conversation = await first.open_session("s")
    assert conversation.session.shown.events == []
    await conversation.rename("Built twice")
    assert (await owner.events("s"))[: len(stored)] == stored
    await first.close()


async def test_a_look_that_ends_leaves_nothing_in_the_store(tmp_path: Path) -> None:
    owner = await SharedStore.open(tmp_path / "store", WORKSPACE)
    killed = await cut_session(owner)
    rig = AgentRig(ScriptedModel(replies_in_order()))
    workspace = rig.create_workspace(owner, WITHOUT_CHECKPOINTS)
    await workspace.open_session("s")
    await workspace.close_session("s")
    with pytest.raises(DigestUnknown):
        await owner.get(digest_of(PRINTED))
    await workspace.close()
    again = await SharedStore.open(tmp_path / "store", WORKSPACE)
    assert await again.events("s") == killed
    assert (await again.draft("s")).partial_outputs != ()
    await again.close()
