"""A room at work on real parts whose model is a peer: LevelDB, tools on a real folder, HTTP."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from helix_desktop.agent.approval import AlwaysAnswers
from helix_desktop.agent.conversation import Parts
from helix_desktop.agent.ports import Model, Tools
from helix_desktop.agent.room import Room
from helix_desktop.agent.update import Trouble, Update
from helix_desktop.config.prompts import prompts
from helix_desktop.context.event import ToolAnswered, TurnEnded
from helix_desktop.context.message import Answer, Arrival, ModelInfo, Request
from helix_desktop.context.policy import PROFILES, Policy
from helix_desktop.providers.http import Http, Timeouts
from helix_desktop.providers.token_counter import TokenCounter
from helix_desktop.store.leveldb import LevelStore
from helix_desktop.tools.toolbox import Toolbox
from tests.support.agent_rig import Rules
from tests.support.linter import lint, lint_alternating, lint_items
from tests.support.talking import Talking

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
WORKSPACE = "2f6f4f1e-7a0a-4a53-9d0b-6f6f1c1b7e55"

MakeModel = Callable[[Http], Model]


class Overheard:
    """A model whose every request is looked at on its way out, and whose answers are kept."""

    def __init__(self, model: Model) -> None:
        self.info = model.info
        self._model = model
        self.requests: list[Request] = []
        self.answers: list[Answer] = []
        self.faulty: list[str] = []
        self.keep = True
        self.asked = 0

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """What the model streams."""
        self.asked += 1
        if self.keep:
            self.requests.append(request)
        for rules in (lint, lint_alternating, lint_items):
            self.faulty += [f"request {self.asked}: {problem}" for problem in rules(request.messages)]
        async with aclosing(self._model.stream(request)) as arrivals:
            async for arrival in arrivals:
                if self.keep and isinstance(arrival, Answer):
                    self.answers.append(arrival)
                yield arrival


@dataclass
class PeerRig(Talking):
    """A room, its folder and its store, and what was told and asked in it."""

    room: Room
    store: LevelStore
    root: Path
    model: Overheard
    updates: list[Update] = field(default_factory=list)

    async def turn(self, text: str) -> TurnEnded:
        """Run one turn, and what runs on beside it, to their end."""
        ended = await self.talk.run(text)
        await self.talk.settle()
        return ended

    async def sound(self) -> None:
        """Every request was valid, log and store agree, nothing is open, each output is what it was."""
        assert self.model.faulty == []
        session = self.talk.session
        assert await self.store.events(session.id) == session.log
        assert not session.transcript.turn_open
        assert not session.transcript.open_calls
        assert not [one for one in self.updates if isinstance(one, Trouble)]
        for answer in self.events(ToolAnswered):
            if answer.digest:
                await self.store.get(answer.digest)


@asynccontextmanager
async def peer_rig(
    folder: Path,
    make: MakeModel,
    policy: Policy | None = None,
    timeouts: Timeouts | None = None,
    dress: Callable[[Tools], Tools] | None = None,
) -> AsyncIterator[PeerRig]:
    """A rig over `folder`, its conversation begun; closed with everything at the end of the block.

    `dress` may put something around the tools.
    """
    root = folder / "project"
    root.mkdir(parents=True, exist_ok=True)
    http = Http(timeouts)
    store = await LevelStore.open(folder / "store", WORKSPACE)
    tools: Tools = Toolbox(root, store, RESOURCES / "prompts" / "tools", counter().count)
    clock = itertools.count(1_750_000_000_000, 1_000)  # a second passes each time somebody looks
    parts = Parts(
        store,
        dress(tools) if dress else tools,
        counter(),
        Rules(),
        lambda: next(clock),
        prompts(),
        AlwaysAnswers("once"),
    )
    model = Overheard(make(http))
    room = Room("w", parts, policy or PROFILES["balanced"], model)
    rig = PeerRig(room, store, root, model)
    room.listen(lambda _, update: rig.updates.append(update))
    await rig.begin()
    try:
        yield rig
    finally:
        await room.close()
        await http.aclose()


@cache
def counter() -> TokenCounter:
    """One for all tests of a run: reading the vocabulary takes half a second."""
    return TokenCounter(RESOURCES / "tokenizers" / "o200k_base.tiktoken")


def small(name: str, window: int = 32_000) -> ModelInfo:
    """A model with a small window."""
    return ModelInfo("peer", name, window, min(1_000, window // 8))
