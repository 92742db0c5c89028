"""Real, small parts for a conversation: scripted tools, saved rules, a store that can fail."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, ClassVar

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Approver, InstructionSource, Store, TokenCounter
from helix_desktop.agent.session import Update
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import HelixError, StoreWriteFailed, ToolError
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.messages import ModelInfo, ToolCall, ToolSpec
from helix_desktop.domain.question import ASK_USER, Question
from helix_desktop.domain.store import Commit
from helix_desktop.domain.tools import (
    TURN_ENDED,
    ApprovalRequest,
    OutputCallback,
    PermissionRule,
    ToolResult,
    ignore_output,
)
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.permissions.rules import suggest_command_rules, suggest_edit_rules
from helix_desktop.store.memory import MemoryStore
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.tools.workspace_tools import AskUser
from tests.support.conversation_rig import ConversationRig
from tests.support.memory_file_history import MemoryFileHistory
from tests.support.memory_files import MemoryFiles
from tests.support.message_linter import lint
from tests.support.scripted_model import Script, ScriptedModel, ScriptedReply, WordCounter, replies_in_order

_TIMEOUT_S = 300.0  # only a test that fails waits for it
PROMPTS = {
    **load_prompts(),
    "system": "You are an agent.",
    "handover": "Write a handover.",
    "subagent": "Only your last words count.",
}


SWEEPING = msgspec.structs.replace(
    PROFILES["plain"], protect_steps=2, least_saving=1, previous_turn_share=0.0
)
"""Outputs go as early as they may."""


WITHOUT_CHECKPOINTS = msgspec.structs.replace(PROFILES["balanced"], checkpoint_tokens=0)
"""The default but for checkpoints, which would be due all the time in the small window of the script."""


class SteppedClock:
    """Milliseconds that only a test moves on."""

    def __init__(self) -> None:
        self.now = 1_750_000_000_000
        self._advanced = asyncio.Event()

    def __call__(self) -> int:
        return self.now

    def advance_s(self, seconds: int) -> None:
        self.now += seconds * 1000
        self._advanced.set()
        self._advanced = asyncio.Event()

    async def wait_s(self, seconds: float) -> None:
        """Wait until the test has let so many seconds go by."""
        end = self.now + round(seconds * 1000)
        while self.now < end:
            await self._advanced.wait()


class ScriptedTools:
    """One tool per possible outcome of a call; `started` and `gate` let a test pause a call."""

    def __init__(self) -> None:
        self.specs: tuple[ToolSpec, ...] = (ToolSpec("say", "Says words.", {"type": "object"}),)
        self.started = asyncio.Event()
        self.gate = asyncio.Event()
        self._real_tools = ToolRegistry([AskUser()], resources_dir() / "prompts" / "tools")
        self.executed_calls: list[str] = []
        self.canceled_calls: list[str] = []

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        """Return what is asked: `ask` needs a yes, `forbidden` is always denied, `broken` fails.

        So does `read_file` of a `link`, which another call has to make before.
        """
        if call.name == ASK_USER:
            return await self._real_tools.approval(call)
        if call.name == "forbidden":
            raise ToolError("That is outside the workspace.")
        if call.name == "broken":
            raise KeyError("path")
        is_link = call.name == "read_file" and "link" in call.arguments and bool(self.executed_calls)
        if call.name != "ask" and not is_link:
            return None
        return self.approval_request(call)

    def approval_request(self, call: ToolCall) -> ApprovalRequest:
        """Return the request of `ask`: about nothing in particular, or of its `kind` about `subject`."""
        arguments: dict[str, Any] = json.loads(call.arguments)
        subject = str(arguments.get("subject", call.arguments))
        offers = {
            "command": tuple(
                msgspec.structs.replace(rule, tool="ask")
                for rule in suggest_command_rules(subject, bool(arguments.get("confined")))
            ),
            "edit": suggest_edit_rules(subject),
        }.get(str(arguments.get("kind")), (PermissionRule("ask", "*"),))
        return ApprovalRequest(
            *(call.id, call.name, subject, "Run it?", subject, offers[0]),
            kind=arguments.get("kind", "other"),
            confined=bool(arguments.get("confined")),
            suggested_rules=offers,
            is_reading=bool(arguments.get("is_reading")),
            claims_read_only=bool(arguments.get("claims_read_only")),
            asked_parts=tuple(arguments.get("asked_parts", ())),
            lasting_refusal=arguments.get("lasting_refusal", ""),
        )

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call: `say` returns `times` words, `fail` and `crash` fail.

        `wait` waits for the gate or, if it `has_output`, for its turn's end; if it `ends_slowly`, it waits
        for the gate also once it is stopped.
        """
        arguments: dict[str, Any] = json.loads(call.arguments)
        self.executed_calls.append(call.id)
        match call.name:
            case "ask_user":
                return await self._real_tools.run(call)
            case "wait":
                on_output("waiting ")
                on_output("for the gate")
                await self._wait(
                    call,
                    has_output="has_output" in arguments,
                    ends_slowly="ends_slowly" in arguments,
                )
            case "fail":
                raise ToolError("No such file.", "It is not there.", "List the folder.")
            case "crash":
                raise ZeroDivisionError("division by zero")
        text = f"{arguments.get('text', 'ok')} {call.id} " * int(arguments.get("times", 1))
        return ToolResult(text.strip().encode(), target=str(arguments.get("target", "")))

    async def _wait(self, call: ToolCall, *, has_output: bool = False, ends_slowly: bool = False) -> None:
        self.started.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError as canceled:
            self.canceled_calls.append(call.id)
            if ends_slowly:
                await self.gate.wait()
            elif not (has_output and canceled.args == (TURN_ENDED,)):
                raise


class MemoryRules:
    """Saved approvals, for as long as the test runs."""

    def __init__(self) -> None:
        self._rules: list[PermissionRule] = []
        self.is_broken = False

    def rules(self, demo: bool = False) -> tuple[PermissionRule, ...]:
        return tuple(self._rules)

    def offers_demo_calls(self) -> bool:
        """No call is allowed by another's answer."""
        return False

    def allow_demo_calls(self) -> bool:
        """Nothing is saved."""
        return False

    async def add(self, rule: PermissionRule) -> None:
        """One more, unless the disk refuses."""
        if self.is_broken:
            raise StoreWriteFailed(
                verbatim("The rule was not saved."), verbatim("The disk is full."), verbatim("Make room.")
            )
        self._rules.append(rule)


class GatedStore(MemoryStore):
    """A store whose disk can be filled and whose writes can be delayed by a test."""

    def __init__(self, clock: ClockMs = wall_clock_ms) -> None:
        super().__init__(clock)
        self.first_failing_write = 10**9  # number of the first write that is refused
        self.write_count = 0
        self.yields_per_write = 0  # how often a write yields to the loop before it is done
        self.gated_event_types: tuple[type[Event], ...] = ()  # writes with such an event wait for the gate
        self.gate_reached = asyncio.Event()
        self.gate = asyncio.Event()

    async def commit(self, commit: Commit) -> None:
        """Commit, late or not at all as the test wants it."""
        if any(isinstance(event.event, self.gated_event_types) for event in commit.events):
            self.gate_reached.set()
            await self.gate.wait()
        for _ in range(self.yields_per_write):
            await asyncio.sleep(0)
        self.write_count += 1
        if self.write_count >= self.first_failing_write:
            raise StoreWriteFailed(
                verbatim("The disk is full."), verbatim("Nothing was stored."), verbatim("Make room.")
            )
        await super().commit(commit)


class ConfiguredByLabel(dict[str, ScriptedModel]):
    def is_configured(self, label: str) -> bool:
        """Return True if a model is set up."""
        return label in self

    async def roles(self, label: str) -> ModelRoles:
        if label not in self:
            raise HelixError(verbatim(f"There is no model {label}."))
        return ModelRoles(self[label])


class AgentRig(ConversationRig):
    """A workspace with one conversation, and every update it sent."""

    delegate_tool_spec: ToolSpec | None = None
    instructions: InstructionSource | None = None
    counter: TokenCounter = WordCounter()
    all_of_test: ClassVar[list[AgentRig] | None] = None
    """Those that the tests of the agent look over at their end (see their conftest)."""
    is_left_unsound = False  # another workspace wrote its log, or the test wants it so

    def __init__(
        self,
        model: ScriptedModel,
        policy: ContextPolicy | None = None,
        store: GatedStore | None = None,
        approver: Approver | None = None,
        tools: ScriptedTools | None = None,
        has_history: bool = False,
    ) -> None:
        if self.all_of_test is not None:
            self.all_of_test.append(self)
        self.files = MemoryFiles()
        self.history = MemoryFileHistory(self.files) if has_history else None
        self.model = model
        self.tools = tools or ScriptedTools()
        self.rules = MemoryRules()
        self.clock = SteppedClock()
        self.store = store or GatedStore()
        self.updates: list[Update] = []
        self.is_trusted = True
        self.wants_titles = False
        self._approver = approver
        self.configured_models = ConfiguredByLabel()
        self.workspace = self.create_workspace(self.store, policy or WITHOUT_CHECKPOINTS)

    def create_workspace(self, store: Store, policy: ContextPolicy) -> OpenWorkspace:
        """Create another workspace on the same model and tools, as after a restart."""
        self.is_left_unsound = self._conversation is not None
        parts = SessionServices(
            *(store, self.tools, self.counter, self.rules, self.clock, PROMPTS, self._approver),
            is_trusted=lambda: self.is_trusted,
            delegate_spec=self.delegate_tool_spec,
            file_checker=self.files,
            instructions=self.instructions,
            file_history=self.history,
            wait_s=self.clock.wait_s,
            wants_titles=lambda: self.wants_titles,
        )
        workspace = OpenWorkspace(
            "w",
            parts,
            policy,
            self.model,
            configured_models=self.configured_models,
        )
        workspace.on(Update, lambda _, update: self.updates.append(update))
        return workspace

    async def wait_for_updates(self, kind: type[Update], count: int = 1) -> None:
        """Run the loop until `count` updates of a kind have arrived."""
        await self.wait_until(lambda: len(self.updates_of(kind)) >= count)

    async def wait_until(self, condition: Any) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline, "it never came to that"
            await asyncio.sleep(0)

    async def passes_until_idle(self) -> int:
        """Return the passes of the loop until the turn has ended by itself."""
        passes = 0
        while self.conversation.is_running:
            await asyncio.sleep(0)
            passes += 1
        return passes

    async def run_first(self, text: str = "Go.") -> Conversation:
        """Begin a conversation, and run a turn."""
        conversation = await self.begin()
        await conversation.run(text)
        return conversation

    async def send_first(self, text: str = "Go.") -> Conversation:
        """Begin a conversation, and a turn."""
        conversation = await self.begin()
        await conversation.send(text)
        return conversation

    async def say(self, *texts: str) -> None:
        """Run a turn for each of these messages."""
        for text in texts:
            await self.conversation.run(text)

    async def run_and_wait(self, *texts: str) -> None:
        """Run a turn for each of these messages, with all that follows it."""
        for text in texts:
            await self.conversation.run(text)
            await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        """Let turns, handovers, observations and checkpoints end."""
        while True:
            await self.wait_until(lambda: not self.conversation.is_running)
            await self.conversation.wait_for_background_work()
            await self.conversation.checkpoints.wait()
            if not self.conversation.is_running:
                return

    async def assert_consistent(self) -> None:
        """State, log and store say the same, no call is open outside a turn, and every request was valid."""
        session = self.conversation.session
        assert await self.store.events(session.id) == session.log
        assert session.transcript.last_seq == len(session.log)
        if not self.conversation.is_running:
            assert not session.transcript.turn_open
            assert not session.transcript.open_calls
        for request in (*self.model.requests, *self.model.summary_requests, *self.model.question_requests):
            assert lint(request.messages) == []


async def begin_with(
    *replies: ScriptedReply,
    script: Script | None = None,
    summary: Script | None = None,
    observe: Script | None = None,
    info: ModelInfo | None = None,
    policy: ContextPolicy | None = None,
    store: GatedStore | None = None,
    approver: Approver | None = None,
    tools: ScriptedTools | None = None,
    has_history: bool = False,
) -> tuple[AgentRig, Conversation]:
    """Begin a conversation whose model gives these replies, one after the other, and then says `Done.`

    Or it answers by `script`, and summaries and observations by theirs.
    """
    model = ScriptedModel(script or replies_in_order(*replies), info, summary, observe)
    rig = AgentRig(model, policy, store, approver, tools, has_history)
    return rig, await rig.begin()
