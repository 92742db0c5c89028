"""The replayer: the live engine, fed with a recorded session message by message.

Nothing here decides about the window: the content of a request comes from the same session, intake and
compaction that run in the app, on a store in memory, with a summary writer that calls no model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from helix_desktop.agent.compaction.context_compaction import ContextCompaction
from helix_desktop.agent.intake import Intake
from helix_desktop.agent.model_roles import ModelRoles, RunSettingsSource
from helix_desktop.agent.ports import TokenCounter
from helix_desktop.agent.session import Session, TurnChanged
from helix_desktop.agent.session_services import split_versions
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX
from helix_desktop.domain.errors import DigestUnknown, InvalidInput
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    StreamItem,
    ToolCall,
    Usage,
)
from helix_desktop.domain.tools import ToolResult
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.providers.demo.model import write_summary
from helix_desktop.replay.recording import SessionFacts, parse_arguments, recording_facts
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.store.memory import MemoryStore
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.tools.workspace_tools import create_cache_tools

_text = TextContext("Replay")

T = TypeVar("T")
MODEL_CALL_MS = 10_000  # virtual time of a model call
TURN_MS = 60_000  # virtual time between turns
STARTED_AT_MS = 1_767_225_600_000  # 2026-01-01, in milliseconds since 1970


class MechanismCounts(msgspec.Struct, frozen=True):
    sweeps: int = 0
    folds: int = 0
    handovers: int = 0
    observations: int = 0
    reflections: int = 0
    fallbacks: int = 0
    checkpoints: int = 0


class SummaryWriter:
    """A model for summaries that extracts instead of composing; `input_tokens` are those of each request.

    Those of a checkpoint, while `is_for_checkpoint`, are in `checkpoint_tokens`.
    """

    def __init__(self, info: ModelInfo, counter: MessageTokenCounter) -> None:
        self.info = info
        self.input_tokens: list[int] = []
        self.checkpoint_tokens: list[int] = []
        self.is_for_checkpoint: Callable[[], bool] = lambda: False
        self._counter = counter

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        counts = await self._counter.count([message.text for message in request.messages])
        tokens = self.checkpoint_tokens if self.is_for_checkpoint() else self.input_tokens
        tokens.append(sum(counts))
        text = write_summary(request.messages[-1].text)
        (output_tokens,) = await self._counter.count([text])
        yield ModelResponse(text, usage=Usage(sum(counts), output_tokens))


class ReplaySession(Session):
    """A session that starts empty, and is stored nowhere but in memory."""

    def __init__(
        self, counter: TokenCounter, clock: ClockMs, scope: TaskScope, settings: RunSettingsSource
    ) -> None:
        prompts, versions = split_versions(load_prompts())
        self.memory = MemoryStore(clock)
        super().__init__(
            "0" * 32,
            self.memory,
            counter,
            clock,
            scope,
            [],
            Transcript(),
            settings,
            prompts=prompts,
            prompt_versions=versions,
        )


class Replayer:
    """One recorded session under a policy, with a window in tokens.

    Messages have the shape of the recordings: `role` and `content`, an assistant's `tool_calls` (`id`,
    `name`, `arguments`), a tool's `tool_call_id` and `name`. The clock is virtual: 10 s per model call, 60 s
    at the end of a turn; the provider's cache never goes cold; summaries are ready at the next call, a
    checkpoint that is begun between two results with the next of them. Use it from one thread that runs no
    event loop. `facts` say what is known besides the messages. Raises InvalidInput for an unknown policy.
    """

    def __init__(
        self,
        policy: str | ContextPolicy = "balanced",
        window: int = 128_000,
        facts: SessionFacts | None = None,
    ) -> None:
        facts = facts or recording_facts(window)
        self._info = facts.info
        self._policy = _policy(policy).scaled(facts.info.window)
        self._loop = asyncio.new_event_loop()
        self._clock = STARTED_AT_MS
        self._counter = MessageTokenCounter.bundled()
        self._writer = SummaryWriter(self._info, self._counter)
        self._frame = PromptFrame(self._info, "", (), 0, facts.fixed_tokens, facts.ratio)
        self._calls: dict[str, ToolCall] = {}
        self._request: tuple[Message, ...] | None = None
        self._estimate = 0
        self._raw_by_id: dict[int, tuple[Message, dict[str, Any]]] = {}
        self._fed = False
        self._run(self._open())

    async def _open(self) -> None:
        self._scope = TaskScope()
        self.session = ReplaySession(self._counter, lambda: self._clock, self._scope, self.settings)
        self._intake = Intake(self._counter)
        self._compaction = ContextCompaction(self.session)
        self._checkpoints = self._compaction.checkpoints
        self._writer.is_for_checkpoint = lambda: self._checkpoints.is_running
        await self.session.record(SessionStarted("Replay"))

    def settings(self) -> tuple[ContextPolicy, PromptFrame, ModelRoles]:
        return self._policy, self._frame, ModelRoles(self._writer)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(coroutine)

    def feed(self, message: Mapping[str, Any]) -> None:
        """Add the next message of the session. Raises InvalidInput if it cannot follow the last one."""
        self._run(self._feed(message))
        self._request = None

    async def _feed(self, message: Mapping[str, Any]) -> None:
        text = message["content"]
        match message["role"]:
            case "system":
                if self._fed:
                    raise InvalidInput(
                        _text("A system message came late."), _text("It must be the first message.")
                    )
                (tokens,) = await self._counter.count([text])
                self._frame = msgspec.structs.replace(self._frame, system=text, system_tokens=tokens)
            case "user":
                (tokens,) = await self._counter.count([text])
                self.session.publish(TurnChanged(running=True))
                short, contents = await self._intake.shorten(text, self._policy.handle_digits, tokens)
                await self.session.record(UserSpoke(text, tokens, short=short), contents=contents)
            case "assistant":
                await self._feed_answer(text, message.get("tool_calls") or ())
            case "tool":
                await self._feed_output(message["tool_call_id"], text)
            case role:
                raise InvalidInput(
                    _text("Unknown role: {role}.", role=repr(role)),
                    fix=_text("Use one of {roles}.", roles=("system", "user", "assistant", "tool")),
                )
        self._fed = True

    async def _feed_answer(self, text: str, calls: Any) -> None:
        await self._wait_for_summaries()
        tool_calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in calls)
        if not (text.strip() or tool_calls):
            return
        self._clock += MODEL_CALL_MS
        answer = ModelResponse(text, tool_calls)
        event, contents = await self._intake.from_response(
            answer, self._info, self._estimate, MODEL_CALL_MS, self._policy.handle_digits
        )
        await self.session.record(event, contents=contents)
        if tool_calls:
            await self._compaction.early_rewrites.make()
        self._calls = {call.id: call for call in tool_calls}

    async def _feed_output(self, call_id: str, text: str) -> None:
        call = self._calls.get(call_id)
        if call is None:
            raise InvalidInput(_text("No open call has the id {id}.", id=repr(call_id)))
        result = await self._recall_result(call, text) or ToolResult(text.encode("utf-8", "surrogatepass"))
        received = await self._intake.from_tool_result(call, result, digits=self._policy.handle_digits)
        answer = received.event
        await self._checkpoints.wait()
        if self._intake.needs_choice(received, self.session.transcript, self._policy, self._frame):
            answer = await self._intake.as_preview(received, self._policy)
        contents = [received.content] if received.content is not None else []
        await self.session.record(answer, contents=contents)

    async def _recall_result(self, call: ToolCall, text: str) -> ToolResult | None:
        """Return the result of a recall from this store, with the text as fed; None for other calls."""
        if call.name != RecallCachedContent.name:
            return None
        try:
            arguments = parse_arguments(call.arguments)
            handle = str(arguments.get("hash", "")) if isinstance(arguments, dict) else ""
            digest = await self._resolve(handle)
            return ToolResult(await self.session.memory.get(digest), model_text=text, recalled=digest)
        except DigestUnknown:
            return None

    def end_turn(self) -> None:
        """End the turn: the agent has answered, or was stopped; the next message is the user's."""
        self._run(self._end_turn())

    async def _end_turn(self) -> None:
        if self.session.transcript.turn_open:
            await self.session.record(TurnEnded("done"))
        self.session.publish(TurnChanged(running=False))
        self._compaction.after_turn()
        await self._wait_for_summaries()
        self._clock += TURN_MS

    async def _wait_for_summaries(self) -> None:
        await self._checkpoints.wait()
        await self._compaction.wait_for_background_work()

    def request(self) -> list[dict[str, Any]]:
        """Return the request that would be sent now; the same each time until the next message.

        Raises RequestTooLarge if it cannot be made to fit, and RequestInvalid.
        """
        return self._raw_messages(self.prepare_request())

    def prepare_request(self) -> tuple[Message, ...]:
        """Make the request as the app does before a model call. Raises as `request`."""
        if self._request is None:
            window = self._run(self._compaction.prepare_window())
            self._estimate = window.estimate
            self._request = window.request.messages
        return self._request

    def _raw_messages(self, messages: tuple[Message, ...]) -> list[dict[str, Any]]:
        """Convert messages to the shape of the recordings; unchanged ones are converted once."""
        by_id = self._raw_by_id  # each pair keeps its message alive, so no other has this id
        pairs = [by_id.get(id(message)) or (message, _raw(message)) for message in messages]
        self._raw_by_id = {id(pair[0]): pair for pair in pairs}
        return [raw.copy() for _, raw in pairs]

    def recall(self, handle: str) -> bytes:
        """Return the original bytes of a handle: a digest, or its first digits, 8 at least.

        Raises DigestUnknown, also if several contents begin alike.
        """
        return self._run(self._content(handle))

    async def _content(self, handle: str) -> bytes:
        return await self.session.memory.get(await self._resolve(handle))

    async def _resolve(self, handle: str) -> str:
        """Return the digest of a handle. Raises DigestUnknown."""
        digests = (
            await self.session.memory.find(handle, 2) if MIN_PREFIX <= len(handle) < HEX_DIGITS else [handle]
        )
        if len(digests) != 1:
            raise DigestUnknown(_text("No single content begins with {handle}.", handle=handle))
        return digests[0]

    def call_cache_tool(self, name: str, arguments: Mapping[str, object]) -> str:
        """Return what the model would get from a call of a tool on the cache now. Raises ToolError.

        Nothing is added to the session.
        """
        result = self._run(self._cache_tools.run(ToolCall("", name, json.dumps(arguments))))
        return result.model_text or result.content.decode("utf-8", "replace")

    @cached_property
    def _cache_tools(self) -> ToolRegistry:
        descriptions = resources_dir() / "prompts" / "tools"
        return create_cache_tools(self.session.memory, descriptions, self._counter.count, self.session)

    @property
    def summaries(self) -> list[int]:
        """The input tokens of each summarizing call so far."""
        return list(self._writer.input_tokens)

    @property
    def checkpoints(self) -> list[int]:
        """The input tokens of each call for a checkpoint so far."""
        return list(self._writer.checkpoint_tokens)

    @property
    def longest_stretch(self) -> int:
        """The most tokens of history, outputs in full, without a handover or checkpoint, up to now."""
        transcript = self.session.transcript
        seqs = sorted((*transcript.rewrites.handovers, *transcript.checkpoints))
        left = [transcript.messages.full_tokens_after(seq) for seq in (0, *seqs)]
        return max(before - after for before, after in pairwise([*left, 0]))

    @property
    def counts(self) -> MechanismCounts:
        events = [record.event for record in self.session.log]
        observations = [event for event in events if isinstance(event, ObservationsMade)]
        return MechanismCounts(
            sweeps=_count(events, SweepMade),
            folds=_count(events, FoldMade),
            handovers=_count(events, HandoverMade),
            checkpoints=len(self.session.transcript.checkpoints),
            observations=sum(not event.reflection for event in observations),
            reflections=sum(event.reflection for event in observations),
            fallbacks=sum(
                bool(event.fallback) for event in events if isinstance(event, HandoverMade | ObservationsMade)
            ),
        )

    def close(self) -> None:
        if not self._loop.is_closed():
            self._run(self._scope.close())
            self._loop.close()


def _count(events: list[Event], event_type: type[object]) -> int:
    return sum(isinstance(event, event_type) for event in events)


def _policy(policy: str | ContextPolicy) -> ContextPolicy:
    if isinstance(policy, ContextPolicy):
        return policy
    if policy not in PROFILES:
        raise InvalidInput(
            _text("Profile {name} not found.", name=repr(policy)),
            fix=_text("Use one of {profiles}.", profiles=tuple(PROFILES)),
        )
    return PROFILES[policy]


def _raw(message: Message) -> dict[str, Any]:
    raw: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        raw["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.calls
        ]
    if message.role == "tool":
        raw |= {"tool_call_id": message.call_id, "name": message.name}
    return raw
