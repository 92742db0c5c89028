"""A conversation with large outputs: tools with scripted outputs, and a model for each role."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.agent.session import Update
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ModelInfo, ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import PROMPTS, AgentRig, GatedStore, ScriptedTools
from tests.support.scripted_model import (
    Script,
    ScriptedModel,
    ScriptedReply,
    SendingModel,
    WordCounter,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

MAIN = ModelInfo("test", "main", window=20_000, reserve=400)
FAST = ModelInfo("test", "fast", window=20_000, reserve=400)
POLICY = msgspec.structs.replace(PROFILES["balanced"], intake_above=500, preview_tokens=100)


class OutputTools(ScriptedTools):
    """Tools whose outputs are set by name; the others are scripted."""

    def __init__(self) -> None:
        super().__init__()
        self.results: dict[str, ToolResult] = {}

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        if call.name in self.results:
            self.executed_calls.append(call.id)
            return self.results[call.name]
        return await super().run(call, on_output)


class IntakeRig(AgentRig):
    """A conversation that calls the named outputs in one step, and its results."""

    def __init__(
        self, policy: ContextPolicy = POLICY, fast_model: ScriptedModel | None = None, info: ModelInfo = MAIN
    ) -> None:
        super().__init__(SendingModel(replies_in_order(), info), policy)
        self.policy = policy
        self.fast_model = fast_model or SendingModel(replies_in_order(), FAST)
        self.roles = ModelRoles(self.model, fast=self.fast_model)
        self.output_tools = OutputTools()
        self.tools = self.output_tools
        self.scopes: list[TaskScope] = []

    def settings(self) -> tuple[ContextPolicy, PromptFrame, ModelRoles]:
        return (
            self.policy,
            PromptFrame(self.model.info, PROMPTS["system"], self.tools.specs, 5, 20),
            self.roles,
        )

    async def begin(self) -> Conversation:
        conversation = await self.open(self.store)
        await conversation.session.record(SessionStarted("New session"))
        return conversation

    async def open(self, store: GatedStore) -> Conversation:
        log = await store.events("s")
        services = SessionServices(
            store, self.tools, WordCounter(), self.rules, self.clock, PROMPTS, self._approver
        )
        session = services.create_session("s", log, Transcript(log), self.settings)
        session.on(Update, self.updates.append)
        self._conversation = Conversation(session, services)
        await session.close_interrupted(Spending())
        return self._conversation

    def script_calls(self, *tool_calls: tuple[str, dict[str, Any]] | str) -> None:
        """Let the model call these side by side, then say that it is done."""
        calls = [(call, {}) if isinstance(call, str) else call for call in tool_calls]
        self.model.script = replies_in_order(tool_call_reply(*calls, text="I look."))

    def set_output(self, name: str, text: str, exit_code: int | None = None, target: str = "") -> bytes:
        data = text.encode()
        self.output_tools.results[name] = ToolResult(data, exit_code in (None, 0), exit_code, target or name)
        return data

    def script_choices(self, choices: str) -> None:
        """Let the model answer the question so."""
        self.model.question_script = lambda _: text_reply(choices)

    def script_extracts(self, script: Script) -> None:
        """Let the fast model extract so."""
        self.fast_model.extract_script = script

    @property
    def tool_answers(self) -> list[ToolAnswered]:
        """The recorded answers, in the order of their calls."""
        return sorted(self.events(ToolAnswered), key=lambda answer: answer.call_id)

    async def assert_recallable(self) -> None:
        """Each large output that came can be read back byte for byte."""
        for answer in self.tool_answers:
            if answer.name in self.output_tools.results and answer.outcome == "ran":
                assert await self.store.get(answer.digest) == self.output_tools.results[answer.name].content

    @property
    def forms(self) -> list[tuple[str, str]]:
        """Form and chooser of each large output, in the order of the calls."""
        return [
            (answer.form, answer.chosen)
            for answer in self.tool_answers
            if answer.name in self.output_tools.results
        ]


def advance_loop_clock(seconds: float) -> None:
    """Advance the running loop's clock: what is due by then runs in its next iteration."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]  # its clock, for this test


def large_output(name: str, lines: int = 300) -> str:
    """Return an output of four words a line without the word error."""
    return "\n".join(f"{name} row {number} here" for number in range(lines))


def three_large_outputs(choices: str, policy: ContextPolicy = POLICY) -> IntakeRig:
    """Return a batch of three large outputs and a small one, and the model's choice about them."""
    rig = IntakeRig(policy)
    for name in ("one", "two", "three"):
        rig.set_output(name, large_output(name), exit_code=1 if name == "two" else None)
    rig.script_calls("one", "two", "say", "three")
    rig.script_choices(choices)
    return rig


def never_answer() -> ScriptedReply:
    return [asyncio.Event()]


async def run_loop_iterations(times: int) -> None:
    """Let the loop go round so often."""
    for _ in range(times):
        await asyncio.sleep(0)
