"""A running workspace on real parts whose model is a peer: LevelDB, tools on a real folder, HTTP."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Model, Tools
from helix_desktop.agent.session import ErrorRaised, Update
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import load_prompts
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, StreamItem
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.tools.workspace_tools import ToolSetup, create_workspace_tools
from tests.support.agent_rig import MemoryRules
from tests.support.conversation_rig import ConversationRig
from tests.support.message_linter import lint, lint_alternating, lint_items

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
WORKSPACE = "2f6f4f1e-7a0a-4a53-9d0b-6f6f1c1b7e55"

ModelFactory = Callable[[HttpClient], Model]


class RecordingModel:
    def __init__(self, model: Model) -> None:
        self.info = model.info
        self._model = model
        self.requests: list[ModelRequest] = []
        self.answers: list[ModelResponse] = []
        self.problems: list[str] = []
        self.is_recording = True
        self.request_count = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        self.request_count += 1
        if self.is_recording:
            self.requests.append(request)
        for rules in (lint, lint_alternating, lint_items):
            self.problems += [
                f"request {self.request_count}: {problem}" for problem in rules(request.messages)
            ]
        async with aclosing(self._model.stream(request)) as arrivals:
            async for arrival in arrivals:
                if self.is_recording and isinstance(arrival, ModelResponse):
                    self.answers.append(arrival)
                yield arrival


@dataclass
class PeerRig(ConversationRig):
    """A workspace, its folder and its store, with its updates and requests."""

    workspace: OpenWorkspace
    store: LevelDbStore
    root: Path
    model: RecordingModel
    updates: list[Update] = field(default_factory=list)

    async def run_turn(self, text: str) -> TurnEnded:
        ended = await self.conversation.run(text)
        await self.conversation.wait_for_background_work()
        return ended

    async def assert_consistent(self) -> None:
        """Assert valid requests, a log that agrees with the store, nothing open, and unchanged outputs."""
        assert self.model.problems == []
        session = self.conversation.session
        assert await self.store.events(session.id) == session.log
        assert not session.transcript.turn_open
        assert not session.transcript.open_calls
        assert not [update for update in self.updates if isinstance(update, ErrorRaised)]
        for answer in self.events(ToolAnswered):
            if answer.digest:
                await self.store.get(answer.digest)


@asynccontextmanager
async def peer_rig(
    folder: Path,
    make_model: ModelFactory,
    policy: ContextPolicy | None = None,
    timeouts: Timeouts | None = None,
    wrap_tools: Callable[[Tools], Tools] | None = None,
) -> AsyncIterator[PeerRig]:
    """A rig over `folder`, its conversation begun; closed with everything at the end of the block.

    `dress` may put something around the tools.
    """
    root = folder / "project"
    root.mkdir(parents=True, exist_ok=True)
    http = HttpClient(timeouts)
    store = await LevelDbStore.open(folder / "store", WORKSPACE)
    tools: Tools = create_workspace_tools(
        root, store, ToolSetup(RESOURCES / "prompts" / "tools", token_counter().count)
    )
    clock = itertools.count(1_750_000_000_000, 1_000)  # each reading advances it by a second
    parts = SessionServices(
        store,
        wrap_tools(tools) if wrap_tools else tools,
        token_counter(),
        MemoryRules(),
        lambda: next(clock),
        load_prompts(),
        FixedApprover("once"),
    )
    model = RecordingModel(make_model(http))
    workspace = OpenWorkspace("w", parts, policy or PROFILES["balanced"], model)
    rig = PeerRig(workspace, store, root, model)
    workspace.on(Update, lambda _, update: rig.updates.append(update))
    await rig.begin()
    try:
        yield rig
    finally:
        await workspace.close()
        await http.aclose()


@cache
def token_counter() -> TiktokenCounter:
    """Return one counter for all tests of a run: reading the vocabulary takes half a second."""
    return TiktokenCounter(RESOURCES / "tokenizers" / "o200k_base.tiktoken")


def small_model_info(name: str, window: int = 32_000) -> ModelInfo:
    return ModelInfo("peer", name, window, min(1_000, window // 8))
