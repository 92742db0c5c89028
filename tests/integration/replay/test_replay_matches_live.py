"""A replay matches the live engine: one recording through both gives the same bytes in every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.config.paths import load_prompts
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import HandoverMade
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
from helix_desktop.replay.replayer import MODEL_CALL_MS, STARTED_AT_MS, TURN_MS, SummaryWriter
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.store.memory import MemoryStore
from tests.support.agent_rig import MemoryRules
from tests.support.synthetic_recordings import make_session as recording

WINDOW = 12_000
# How many steps each needs: in 90, "balanced" makes no handover, and "observations" refines none.
CASES = [
    ("balanced", PROFILES["balanced"], 150),
    ("lean", PROFILES["lean"], 90),
    ("classic", PROFILES["classic"], 90),
    ("plain", PROFILES["plain"], 90),
    (
        "handovers",
        msgspec.structs.replace(PROFILES["classic"], handover_at=0.4, handover_least_messages=4),
        90,
    ),
    (
        "observations",
        msgspec.structs.replace(
            PROFILES["lean"], fold_after_steps=0, observe_at=0.1, observe_place_at=0.1, reflect_at=0.05
        ),
        150,
    ),
]


class RecordedModel:
    """A model and tools that replay a recording; `sent` are the requests to the model."""

    def __init__(self, info: ModelInfo, messages: list[dict[str, Any]]) -> None:
        self.info = info
        self.specs: tuple[ToolSpec, ...] = ()
        self.sent: list[tuple[Message, ...]] = []
        self.now = STARTED_AT_MS
        self.conversation: Conversation | None = None
        self._answers = [message for message in messages if message["role"] == "assistant"]
        self._outputs = {
            message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"
        }

    def clock(self) -> int:
        return self.now

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Stream the next recorded answer, once background work has ended."""
        self.sent.append(request.messages)
        assert self.conversation is not None
        await self.conversation.checkpoints.wait()
        await self.conversation.wait_for_background_work()
        self.now += MODEL_CALL_MS
        answer = self._answers.pop(0)
        calls = tuple(ToolCall(**call) for call in answer.get("tool_calls", ()))
        yield ModelResponse(answer["content"], calls)

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        return None

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """The recorded output, one after the other; as in a replay, a checkpoint is ready with the next."""
        assert self.conversation is not None
        open_calls = self.conversation.session.transcript.open_calls
        while next(iter(open_calls)) != call.id:  # noqa: ASYNC110 - the runner records each result in turn
            await asyncio.sleep(0)
        await self.conversation.checkpoints.wait()
        return ToolResult(self._outputs[call.id].encode())


async def live(messages: list[dict[str, Any]], policy: ContextPolicy) -> list[tuple[Message, ...]]:
    """The requests of the recording, run by the conversation that the app runs."""
    info = ModelInfo("replay", "recorded", WINDOW, reserve=0)
    model = RecordedModel(info, messages)
    counter = MessageTokenCounter.bundled()
    store = MemoryStore(model.clock)
    system = messages[0]["content"]
    (tokens,) = await counter.count([system])
    policy = policy.scaled(WINDOW)
    frame = PromptFrame(info, system, (), tokens, 0)
    roles = ModelRoles(model, summary=SummaryWriter(info, counter))
    services = SessionServices(store, model, counter, MemoryRules(), model.clock, load_prompts())

    def settings() -> tuple[ContextPolicy, PromptFrame, ModelRoles]:
        return policy, frame, roles

    session = services.create_session("0" * 32, [], Transcript(), settings)
    model.conversation = Conversation(session, services)
    await session.record(SessionStarted("Replay"))
    for message in messages:
        if message["role"] == "user":
            ended = await model.conversation.run(message["content"])
            assert ended.how == "done", ended
            await model.conversation.checkpoints.wait()
            await model.conversation.wait_for_background_work()
            model.now += TURN_MS
    await model.conversation.close()
    return model.sent


def replayed(
    messages: list[dict[str, Any]], policy: ContextPolicy
) -> tuple[list[list[dict[str, Any]]], Replayer]:
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
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.calls
        ]
    if message.role == "tool":
        shape |= {"tool_call_id": message.call_id, "name": message.name}
    return shape


@pytest.mark.parametrize(("name", "policy", "steps"), CASES, ids=[name for name, _, _ in CASES])
def test_live_and_replay_send_the_same(name: str, policy: ContextPolicy, steps: int) -> None:
    """Every request of one session is the same byte for byte, whoever runs it."""
    messages = recording(7, steps)
    # A replay always takes the preview, and asks no model.
    policy = msgspec.structs.replace(policy, intake_ask=False)
    sent, replayer = replayed(messages, policy)
    try:
        with asyncio.Runner() as runner:
            recorded = runner.run(live(messages, policy))
        assert len(recorded) == len(sent)
        for ours, theirs in zip(sent, recorded, strict=True):
            assert ours == [raw(message) for message in theirs]
        counts = replayer.counts
        acted = {"handovers": counts.handovers, "observations": counts.observations}.get(name, counts.sweeps)
        assert acted, counts
        # Each call of a summary model is paid for; putting a checkpoint in place as it was took none.
        made = (recorded.event for recorded in replayer.session.log)
        handovers = sum(event.calls for event in made if isinstance(event, HandoverMade))
        assert len(replayer.summaries) >= counts.observations + counts.reflections + handovers
        assert name != "observations" or counts.reflections
    finally:
        replayer.close()
