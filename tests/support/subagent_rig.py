"""A conversation whose agent can start subagents: a small real tool, and a model scripted per task."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.ports import Approver, Model
from helix_desktop.agent.session import SubagentProgress
from helix_desktop.agent.subagents import delegate_spec
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ModelRequest, ToolCall, ToolSpec
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.tool import parse_description
from tests.support.agent_rig import WITHOUT_CHECKPOINTS, AgentRig, GatedStore, ScriptedTools
from tests.support.message_linter import lint
from tests.support.scripted_model import (
    Script,
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

PARENT_PROMPT = "Go."
"""What the user says to the parent: its script's name."""


class DelegatingTools(ScriptedTools):
    """The scripted tools and `delegate`, which passes its `task` to a subagent under `policy` and `model`."""

    def __init__(self) -> None:
        super().__init__()
        self.specs = (*self.specs, ToolSpec("delegate", "Starts a subagent.", {"type": "object"}))
        self.conversation: Conversation | None = None
        self.policy: ContextPolicy | None = None
        self.model: Model | None = None

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        if call.name != "delegate":
            return await super().run(call, on_output)
        assert self.conversation is not None
        arguments: dict[str, Any] = json.loads(call.arguments)
        title = str(arguments.get("title", ""))
        result = await self.conversation.subagents.run(
            arguments["task"], self.policy, self.model, title, call.id
        )
        return result.output


class SubagentRig(AgentRig):
    """A parent and its subagents. Each follows the script of its first user message."""

    def __init__(
        self,
        scripts: dict[str, Script],
        policy: ContextPolicy | None = None,
        store: GatedStore | None = None,
        approver: Approver | None = None,
    ) -> None:
        self.scripts = scripts
        super().__init__(ScriptedModel(self.next_play), policy, store, approver)
        self.tools = self.delegating_tools = DelegatingTools()
        self.workspace = self.create_workspace(self.store, policy or WITHOUT_CHECKPOINTS)

    def next_play(self, request: ModelRequest) -> ScriptedReply:
        script = self.scripts.get(first_user_text(request))
        return script(request) if script is not None else text_reply("Done.")

    async def begin(self) -> Conversation:
        self.delegating_tools.conversation = await super().begin()
        return self.delegating_tools.conversation

    def requests_of(self, prompt: str) -> list[ModelRequest]:
        """Return the requests of the agent with this first message."""
        return [request for request in self.model.requests if first_user_text(request) == prompt]

    def progress_of(self, session_id: str) -> list[SubagentProgress]:
        """Return the parent's updates about a subagent."""
        return [
            progress for progress in self.updates_of(SubagentProgress) if progress.session_id == session_id
        ]

    async def subagent_sessions(self) -> list[str]:
        listed = await self.workspace.sessions(self.conversation.session.id)
        return [session.id for session in sorted(listed, key=lambda session: session.title)]

    async def stored_log(self, session_id: str) -> list[RecordedEvent]:
        return await self.store.events(session_id)

    async def assert_consistent(self) -> None:
        """The parent is sound, and every subagent's log is that of a session in which nothing is open."""
        await super().assert_consistent()
        is_left_unsound = self.is_left_unsound
        for child in await self.subagent_sessions():
            workspace = self.create_workspace(self.store, WITHOUT_CHECKPOINTS)
            before = await self.stored_log(child)
            conversation = await workspace.open_session(child)
            assert conversation.session.log == before, "there was nothing to mend"
            assert conversation.session.transcript.parent == self.conversation.session.id
        self.is_left_unsound = is_left_unsound  # they only read


class DelegateToolRig(SubagentRig):
    """A family whose parent has the tool `delegate` that ships."""

    delegate_tool_spec = delegate_spec(
        *parse_description((resources_dir() / "prompts/tools/delegate.md").read_text())
    )

    def __init__(self, scripts: dict[str, Script], policy: ContextPolicy | None = None) -> None:
        super().__init__(scripts, policy)
        self.tools = ScriptedTools()
        self.workspace = self.create_workspace(self.store, policy or WITHOUT_CHECKPOINTS)


def first_user_text(request: ModelRequest) -> str:
    return next(message.text for message in request.messages if message.role == "user")


def requests_text(requests: list[ModelRequest]) -> str:
    return msgspec.json.encode(requests).decode()


def are_valid(requests: list[ModelRequest]) -> bool:
    """Return True if a strict server would accept them all."""
    return all(lint(request.messages) == [] for request in requests)


def delegate_script(*tasks: str) -> Script:
    """Return a parent's script that delegates these tasks in one step, and then says that it is done."""
    return replies_in_order(
        tool_call_reply(*(("delegate", {"task": task, "title": task}) for task in tasks), text="I delegate.")
    )


def waiting_script(text: str) -> Script:
    return replies_in_order(
        tool_call_reply(("wait", {"text": text}), id_prefix=f"{text}-"), text_reply(f"{text} found")
    )


async def start_subagents(rig: SubagentRig, count: int) -> None:
    """Begin the parent's turn, and let it come to where so many subagents wait for the gate."""
    await rig.begin()
    await rig.conversation.send(PARENT_PROMPT)
    await rig.wait_until(lambda: sum(call.endswith("-0") for call in rig.tools.executed_calls) >= count)
