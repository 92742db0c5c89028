"""Subagents over LevelDB, real tools and HTTP: concurrent, one cache per workspace, safe after a crash."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from helix_desktop.agent.session import SubagentProgress, SummaryAwaited
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.task_scope import TaskScope
from tests.integration.whole_loop.test_automatic_context import Assistant, ask, write_files
from tests.support.loop_rig import LoopRig, is_summary_request, loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, Text, Wait, text_reply


class PromptedModel:
    """Runs its prompt first: one tool call as JSON, then reports the result; `hold` waits."""

    def __init__(self) -> None:
        self.hold = asyncio.Event()
        self.calls = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        if messages[-1]["role"] == "tool":
            return text_reply(f"It says: {messages[-1]['content']}")
        name, arguments = json.loads(messages[-1]["content"])
        self.calls += 1
        if name == "hold":
            return StreamedReply(Text("I begin, "), Wait(self.hold), Text("and end."))
        return StreamedReply(Call(name, json.dumps(arguments), id=f"call_{self.calls}"))


def call_prompt(tool: str, **arguments: object) -> str:
    return json.dumps([tool, arguments])


def holding(rig: LoopRig, name: str, text: str) -> str:
    """A file in the rig's workspace; the digest of its content."""
    (rig.root / name).write_text(text)
    return digest_of(text.encode())


async def outputs_in(store: LevelDbStore, session_id: str) -> list[ToolAnswered]:
    return [event.event for event in await store.events(session_id) if isinstance(event.event, ToolAnswered)]


async def test_the_cache_is_the_workspaces_and_no_other(tmp_path: Path) -> None:
    """A subagent recalls its parent's outputs, and never those of another workspace."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    async with (
        loop_rig(tmp_path / "here", PromptedModel()) as here,
        loop_rig(tmp_path / "there", PromptedModel()) as there,
    ):
        own = holding(here, "vault.txt", "the code here is 4711\n")
        foreign = holding(there, "vault.txt", "the code there is 0815\n")
        for rig in (here, there):
            assert (await rig.conversation.run(call_prompt("read_file", path="vault.txt"))).how == "done"
        run = here.conversation.subagents.run
        text = await run(call_prompt("recall_cached_content", hash=own))
        assert "4711" in text.text
        (answer,) = await outputs_in(here.store, text.session_id)
        assert (answer.ok, answer.recalled) == (True, own)
        for prompt in (
            call_prompt("recall_cached_content", hash=foreign),
            call_prompt("recall_cached_content", hash=foreign[:8]),
            call_prompt("search_cached_content", query="the code there is 0815"),
        ):
            missed = await run(prompt)
            assert "0815" not in missed.text.replace("the code there is 0815", "")
            (answer,) = await outputs_in(here.store, missed.session_id)
            assert answer.recalled == ""
        sent = [
            b"0815\\n" in b"".join(request.received.body for request in rig.chat_requests)
            for rig in (here, there)
        ]
        assert sent == [False, True]
        assert (
            await there.conversation.subagents.run(call_prompt("recall_cached_content", hash=foreign))
        ).text
        assert await there.store.get(foreign)
        assert len(await there.workspace.sessions(there.conversation.session.id)) == 1


async def test_a_subagent_waits_for_the_summary_that_makes_room(tmp_path: Path) -> None:
    """At 95 %, which its parent's session says, as `run` prints it; then it goes on and brings its result."""
    assistant = Assistant(steps=12, words=900)
    gate = asyncio.Event()

    def script(request: dict[str, Any]) -> Reply:
        reply = assistant(request)
        if is_summary_request(request) and isinstance(reply, StreamedReply):
            return StreamedReply(Wait(gate), *reply.parts)
        return reply

    async with loop_rig(tmp_path, script, window=32_000) as rig:
        write_files(rig.root)
        before = list(rig.conversation.session.log)
        scope = TaskScope()
        task = scope.start(rig.conversation.subagents.run(ask(0)), "asked")
        await rig.wait_for_update(SummaryAwaited)
        waiting_at = assistant.step
        progress = rig.updates_of(SubagentProgress)[-1]
        assert progress.phase == "full"
        assert {update.subagent_title for update in rig.updates_of(SummaryAwaited)} >= {progress.title}
        gate.set()
        result = await task
        await scope.close()
        assert result.ended == "done"
        assert assistant.step == 13 > waiting_at
        assert [update.is_active for update in rig.updates_of(SummaryAwaited)][:2] == [True, False]
        events = [recorded.event for recorded in await rig.store.events(result.session_id)]
        assert {made.model for made in events if isinstance(made, HandoverMade)} == {"local/small"}
        assert rig.conversation.session.log == before


async def test_a_long_subagent_writes_no_checkpoints(tmp_path: Path) -> None:
    """None could ever be used: it ends with its task. Its history is long enough for one."""
    assistant = Assistant(steps=30, files=6)
    async with loop_rig(tmp_path, assistant, window=128_000, is_attended=True) as rig:
        write_files(rig.root)
        result = await rig.conversation.subagents.run(ask(0))
        transcript = Transcript(await rig.store.events(result.session_id))
        assert transcript.messages.full_total_tokens >= PROFILES["lean"].checkpoint_tokens
        assert transcript.checkpoints == {}
        assert rig.conversation.session.transcript.checkpoints == {}
        assert result.tokens == transcript.spending.tokens
