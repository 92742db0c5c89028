"""Branches with real parts: what goes over the wire, what the agent recalls, and a parent that is deleted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from helix_desktop.agent.open_workspace import delete_session
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from tests.support.loop_rig import loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, text_reply


def play(request: dict[str, Any]) -> Reply:
    """Make the one call that the newest message asks for, if any, then end."""
    newest = max(n for n, message in enumerate(request["messages"]) if message["role"] == "user")
    words = request["messages"][newest]["content"]
    if not words.startswith("call ") or request["messages"][-1]["role"] == "tool":
        return text_reply("Done.")
    _, name, arguments = words.split(" ", 2)
    return StreamedReply(Call(name, arguments, id=f"call_{newest}"))


async def test_a_retry_an_edit_and_what_is_left_of_a_deleted_parent(tmp_path: Path) -> None:
    async with loop_rig(tmp_path, play) as rig:
        (rig.root / "a.txt").write_text("the tide is high\n" * 40)
        parent = rig.conversation.session
        await rig.conversation.run('call read_file {"path": "a.txt"}')
        await rig.conversation.run("Go on.")
        messages, (output,) = (
            [entry.seq for entry in parent.log if isinstance(entry.event, kind)]
            for kind in (UserSpoke, ToolAnswered)
        )
        bodies = [sent.received.body for sent in rig.chat_requests]

        retried = await rig.workspace.branches.open_for_retry(parent.id, output)
        await retried.retry()
        rig.switch_to(retried)
        await rig.wait_until_idle_or(asyncio.Event())
        assert [sent.received.body for sent in rig.chat_requests[len(bodies) :]] == bodies[:2]

        edited = await rig.workspace.branches.open_for_edit(parent.id, messages[1])
        recall = "call recall_cached_content " + json.dumps({"hash": f"e{output}"})
        await edited.run(recall)
        request = rig.chat_requests[-2]
        assert request.messages[:-1] == rig.chat_requests[len(bodies) - 1].messages[:-1]
        assert "the tide is high" in rig.chat_requests[-1].messages[-1]["content"]

        await delete_session(rig.workspace, parent.id, with_versions=False)
        await rig.store.retention.empty_trash()
        await rig.workspace.close_session(edited.session.id)
        again = await rig.workspace.open_session(edited.session.id)
        rig.switch_to(again)
        sent = len(rig.chat_requests)
        await again.run(recall)
        assert rig.chat_requests[sent].received.body.startswith(rig.chat_requests[sent - 1].stable_prefix)
        assert len(await rig.store.events(parent.id)) == messages[1] - 1
        assert (await rig.store.health.check()).is_sound
