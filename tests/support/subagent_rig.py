"""A conversation whose agent can start subagents: a small real tool, and a model scripted per task."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.ports import Approver, Model
from helix_desktop.agent.session_updates import SubagentProgress
from helix_desktop.agent.subagents.delegate_tool import delegate_spec
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.messages import ModelRequest, ToolCall, ToolSpec
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.registry import parse_description
from tests.support.agent_rig import GatedStore, Rig, ToldTools, unasked
from tests.support.linter import lint
from tests.support.scripted_model import Play, Script, ScriptedModel, called, in_turn, said

PARENT = "Go."
"""What the person says to the parent: its script's name."""


class Delegating(ToldTools):
    """The told tools and `delegate`, which gives its `task` to a subagent under `policy` and `model`."""

    def __init__(self) -> None:
        super().__init__()
        self.specs = (*self.specs, ToolSpec("delegate", "Starts a subagent.", {"type": "object"}))
        self.talk: Conversation | None = None
        self.policy: ContextPolicy | None = None
        self.model: Model | None = None

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Delegate, or do as told."""
        if call.name != "delegate":
            return await super().run(call, on_output)
        assert self.talk is not None
        given: dict[str, Any] = json.loads(call.arguments)
        title = str(given.get("title", ""))
        result = await self.talk.subagents.run(
            given["task"], self.policy and unasked(self.policy), self.model, title, call.id
        )
        return result.output


class Family(Rig):
    """A parent and its subagents. Each follows the script that goes by the first words said to it."""

    def __init__(
        self,
        scripts: dict[str, Script],
        policy: ContextPolicy | None = None,
        store: GatedStore | None = None,
        approver: Approver | None = None,
    ) -> None:
        self.scripts = scripts
        super().__init__(ScriptedModel(self.play), policy, store, approver)
        self.tools = self.delegating = Delegating()
        self.room = self.new_room(self.store, policy or PROFILES["balanced"])

    def play(self, request: ModelRequest) -> Play:
        """What the agent of this request does next."""
        script = self.scripts.get(opening(request))
        return script(request) if script is not None else said("Done.")

    async def begin(self) -> Conversation:
        """Begin the parent's conversation."""
        self.delegating.talk = await super().begin()
        return self.delegating.talk

    def requests(self, words: str) -> list[ModelRequest]:
        """The requests of the agent to whom these were the first words."""
        return [one for one in self.model.requests if opening(one) == words]

    def moves(self, child: str) -> list[SubagentProgress]:
        """What the parent told of a subagent."""
        return [one for one in self.told(SubagentProgress) if one.session_id == child]

    async def children(self) -> list[str]:
        """The subagents' sessions by title."""
        listed = await self.room.sessions(self.talk.session.id)
        return [one.id for one in sorted(listed, key=lambda one: one.title)]

    async def log(self, session: str) -> list[RecordedEvent]:
        """A session's log as the store has it."""
        return await self.store.events(session)

    async def sound(self) -> None:
        """The parent is sound, and every subagent's log is that of a session in which nothing is open."""
        await super().sound()
        for child in await self.children():
            room = self.new_room(self.store, PROFILES["balanced"])
            before = await self.log(child)
            talk = await room.open_session(child)
            assert talk.session.log == before, "there was nothing to mend"
            assert talk.session.transcript.parent == self.talk.session.id


class Household(Family):
    """A family whose parent has the tool `delegate` that ships."""

    delegate = delegate_spec(*parse_description((resources_dir() / "prompts/tools/delegate.md").read_text()))

    def __init__(self, scripts: dict[str, Script], policy: ContextPolicy | None = None) -> None:
        super().__init__(scripts, policy)
        self.tools = ToldTools()
        self.room = self.new_room(self.store, policy or PROFILES["balanced"])


def opening(request: ModelRequest) -> str:
    """The first words said to the agent of a request."""
    return next(one.text for one in request.messages if one.role == "user")


def words_in(requests: list[ModelRequest]) -> str:
    """Everything that stands in requests, as one text."""
    return msgspec.json.encode(requests).decode()


def valid(requests: list[ModelRequest]) -> bool:
    """Whether a strict server would take them all."""
    return all(lint(one.messages) == [] for one in requests)


def delegating(*tasks: str) -> Script:
    """A parent that gives out these tasks in one step, and then says that it is done."""
    return in_turn(called(*(("delegate", {"task": one, "title": one}) for one in tasks), text="I delegate."))


def waiting(words: str) -> Script:
    """A subagent that waits for the gate, says words and brings some back."""
    return in_turn(called(("wait", {"text": words}), key=f"{words}-"), said(f"{words} found"))


async def started(family: Family, subagents: int) -> None:
    """Begin the parent's turn, and let it come to where so many subagents wait for the gate."""
    await family.begin()
    await family.talk.send(PARENT)
    await family.when(lambda: sum(one.endswith("-0") for one in family.tools.ran) >= subagents)
