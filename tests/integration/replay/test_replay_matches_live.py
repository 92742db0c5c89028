"""A replay is the live engine: one recording through both gives the same bytes in every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from helix_desktop.agent.conversation import Conversation, SessionServices
from helix_desktop.agent.models.roles import ModelRoles
from helix_desktop.agent.session import Session
from helix_desktop.config.prompts import load_prompts
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    StreamItem,
    ToolCall,
    ToolSpec,
)
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.replay import Replayer
from helix_desktop.replay.message_tokens import MessageTokenCounter
from helix_desktop.replay.replayer import MODEL_CALL_MS, STARTED_AT_MS, TURN_MS, SummaryWriter
from helix_desktop.store.memory.store import MemoryStore
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import MemoryRules
from tests.support.synthetic_recordings import make_session as recording

WINDOW = 12_000
CASES = [
    ("balanced", PROFILES["balanced"]),
    ("lean", PROFILES["lean"]),
    ("classic", PROFILES["classic"]),
    ("plain", PROFILES["plain"]),
    ("handovers", msgspec.structs.replace(PROFILES["classic"], handover_at=0.4, handover_least_messages=4)),
    ("observations", msgspec.structs.replace(PROFILES["lean"], observe_at=0.1, observe_place_at=0.12)),
]


class Told:
    """A model and tools that say what was recorded; `sent` are the requests the model got."""

    def __init__(self, info: ModelInfo, messages: list[dict[str, Any]]) -> None:
        self.info = info
        self.specs: tuple[ToolSpec, ...] = ()
        self.sent: list[tuple[Message, ...]] = []
        self.now = STARTED_AT_MS
        self.talk: Conversation | None = None
        self._answers = [one for one in messages if one["role"] == "assistant"]
        self._outputs = {one["tool_call_id"]: one["content"] for one in messages if one["role"] == "tool"}

    def clock(self) -> int:
        """The virtual time."""
        return self.now

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """The next recorded answer, once what runs beside has ended."""
        self.sent.append(request.messages)
        assert self.talk is not None
        await self.talk.wait_for_background_work()
        self.now += MODEL_CALL_MS
        told = self._answers.pop(0)
        calls = tuple(ToolCall(**call) for call in told.get("tool_calls", ()))
        yield ModelResponse(told["content"], calls)

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """None is needed."""
        return None

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """The recorded output."""
        return ToolResult(self._outputs[call.id].encode())


async def live(messages: list[dict[str, Any]], policy: ContextPolicy) -> list[tuple[Message, ...]]:
    """The requests of the recording, run by the conversation that the app runs."""
    info = ModelInfo("replay", "recorded", WINDOW, reserve=0)
    told, counter, scope = Told(info, messages), MessageTokenCounter.bundled(), TaskScope()
    store = MemoryStore(told.clock)
    system = messages[0]["content"]
    (tokens,) = await counter.count([system])
    policy, frame = policy.scaled(WINDOW), PromptFrame(info, system, (), tokens, 0)
    roles = ModelRoles(told, summary=SummaryWriter(info, counter))
    parts = SessionServices(store, told, counter, MemoryRules(), told.clock, load_prompts())
    session = Session("0" * 32, store, told.clock, scope, [], Transcript())
    told.talk = Conversation(session, scope, parts, lambda: (policy, frame, roles))
    await session.record(SessionStarted("Replay"))
    for message in messages:
        if message["role"] == "user":
            ended = await told.talk.run(message["content"])
            assert ended.how == "done", ended
            await told.talk.wait_for_background_work()
            told.now += TURN_MS
    await told.talk.close()
    return told.sent


def replayed(
    messages: list[dict[str, Any]], policy: ContextPolicy
) -> tuple[list[list[dict[str, Any]]], Replayer]:
    """The requests of the recording, replayed."""
    replayer = Replayer(policy, WINDOW)
    sent = []
    for message in messages:
        if message["role"] == "assistant":
            sent.append(replayer.request())
        replayer.feed(message)
        if message["role"] == "assistant" and not message.get("tool_calls"):
            replayer.end_turn()
    return sent, replayer


def raw(message: Message) -> dict[str, Any]:
    """A message in the shape of the recordings."""
    shape: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        shape["tool_calls"] = [
            {"id": one.id, "name": one.name, "arguments": one.arguments} for one in message.calls
        ]
    if message.role == "tool":
        shape |= {"tool_call_id": message.call_id, "name": message.name}
    return shape


@pytest.mark.parametrize(("name", "policy"), CASES, ids=[name for name, _ in CASES])
def test_live_and_replay_send_the_same(name: str, policy: ContextPolicy) -> None:
    """Every request of one session is the same byte for byte, whoever runs it."""
    messages = recording(7, 150)
    # A replay's stand-in always takes the preview, and a replay asks nobody.
    policy = msgspec.structs.replace(policy, ask_above=0, intake_ask=False)
    sent, replayer = replayed(messages, policy)
    try:
        with asyncio.Runner() as runner:
            told = runner.run(live(messages, policy))
        assert len(told) == len(sent)
        for ours, theirs in zip(sent, told, strict=True):
            assert ours == [raw(message) for message in theirs]
        counts = replayer.counts
        acted = {"handovers": counts.handovers, "observations": counts.observations}.get(name, counts.sweeps)
        assert acted, counts
    finally:
        replayer.close()
