"""The replayer: the live engine, fed with a recorded session message by message.

Nothing here decides about the window: what stands in a request comes from the same session, intake and
steward that run in the app, over a store in memory, with a writer of summaries that asks no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

from helix_desktop.agent.compactor import Compactor
from helix_desktop.agent.intake import Intake
from helix_desktop.agent.observer import Observer
from helix_desktop.agent.roles import Roles
from helix_desktop.agent.session import Session
from helix_desktop.agent.steward import Steward
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.upkeep import Upkeep
from helix_desktop.config.prompts import prompts
from helix_desktop.context.errors import DigestUnknown, InputUnusable
from helix_desktop.context.event import Event, SessionStarted, TurnEnded, UserSpoke
from helix_desktop.context.event_rewrite import FoldMade, SweepMade
from helix_desktop.context.event_summary import HandoverMade, ObservationsMade
from helix_desktop.context.message import Answer, Message, ModelInfo, ToolCall
from helix_desktop.context.policy import PROFILES, Policy
from helix_desktop.context.prompt import without_versions
from helix_desktop.context.tool import ToolResult
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import Frame
from helix_desktop.replay.counting import RecordedCounter
from helix_desktop.replay.ports import Counts
from helix_desktop.replay.writer import SummaryWriter
from helix_desktop.store.memory import MemoryStore

T = TypeVar("T")
RECALL = "recall_cached_content"
_SESSION = "0" * 32
CALL_MS, TURN_MS = 10_000, 60_000  # virtual time of a model call, and between turns
BEGAN = 1_767_225_600_000  # 2026-01-01, in milliseconds since 1970


class Replayer:
    """One recorded session under a policy, in a window of so many tokens.

    Messages have the shape of the recordings: `role` and `content`, an assistant's `tool_calls` (`id`,
    `name`, `arguments`), a tool's `tool_call_id` and `name`. The clock is virtual: 10 s a model call, 60 s at
    the end of a turn; the provider's cache never goes cold; summaries are ready at the next call. To be used
    from one thread that runs no event loop. Raises InputUnusable for a policy that is none.
    """

    def __init__(self, policy: str | Policy = "balanced", window: int = 128_000) -> None:
        self._info = ModelInfo("replay", "recorded", window, reserve=0)
        self._policy = _policy(policy).scaled(window)
        self._loop = asyncio.new_event_loop()
        self._clock = BEGAN
        self._counter = RecordedCounter()
        self._writer = SummaryWriter(self._info, self._counter)
        self._store = MemoryStore(self._now)
        self._frame = Frame(self._info, "")
        self._calls: dict[str, ToolCall] = {}
        self._request: tuple[Message, ...] | None = None
        self._estimate = 0
        self._raws: dict[int, tuple[Message, dict[str, Any]]] = {}
        self._fed = False
        self._run(self._open())

    async def _open(self) -> None:
        self._scope = TaskScope()
        self.session = Session(_SESSION, self._store, self._now, self._scope, [], Transcript())
        self._intake = Intake(self._counter)
        upkeep = Upkeep(self.session, self._counter, self._now, self.settings)
        told, versions = without_versions(prompts())
        counter, now = self._counter, self._now
        compactor = Compactor(
            self.session, counter, now, told["handover"], self.settings, versions["handover"]
        )
        observer = Observer(self.session, counter, now, upkeep, told, versions, self.settings)
        self._steward = Steward(self.session, upkeep, compactor, observer, now, self._scope, self.settings)
        await self.session.record(SessionStarted("Replay"))

    def _now(self) -> int:
        return self._clock

    def settings(self) -> tuple[Policy, Frame, Roles]:
        """Policy, frame and models of the replay."""
        return self._policy, self._frame, Roles(self._writer)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def feed(self, message: Mapping[str, Any]) -> None:
        """Take the next message of the session. Raises InputUnusable when it cannot follow the last."""
        self._run(self._feed(message))
        self._request = None

    async def _feed(self, message: Mapping[str, Any]) -> None:
        text = message["content"]
        match message["role"]:
            case "system":
                if self._fed:
                    raise InputUnusable("A system message came late.", "It must be the first message.")
                (tokens,) = await self._counter.count([text])
                self._frame = Frame(self._info, text, (), tokens, 0)
            case "user":
                (tokens,) = await self._counter.count([text])
                await self.session.record(UserSpoke(text, tokens))
            case "assistant":
                await self._spoken(text, message.get("tool_calls") or ())
            case "tool":
                await self._answered(message["tool_call_id"], message.get("name", ""), text)
            case role:
                raise InputUnusable(
                    f"There is no role {role!r}.", fix="Roles: system, user, assistant, tool."
                )
        self._fed = True

    async def _spoken(self, text: str, calls: Any) -> None:
        await self._steward.settle()
        made = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in calls)
        if not (text.strip() or made):
            return
        self._clock += CALL_MS
        answer = Answer(text, made)
        spoken, contents = await self._intake.spoken(answer, self._info, self._estimate, CALL_MS)
        await self.session.record(spoken, contents=contents)
        self._calls = {call.id: call for call in made}

    async def _answered(self, call_id: str, name: str, text: str) -> None:
        call = self._calls.get(call_id)
        if call is None:
            raise InputUnusable(f"The output {call_id!r} answers no open call.")
        result = await self._recalled(call, text) or ToolResult(text.encode("utf-8", "surrogatepass"))
        taken = await self._intake.taken(call, result)
        answer = taken.answer
        if self._intake.gated(taken, self._policy, self._info.window):
            answer = await self._intake.previewed(taken, self._policy)
        contents = [taken.content] if taken.content is not None else []
        await self.session.record(answer, contents=contents)

    async def _recalled(self, call: ToolCall, text: str) -> ToolResult | None:
        """The result of a recall of what this session holds, shown as it was fed; None for other calls."""
        if call.name != RECALL:
            return None
        digest = _hash_in(call.arguments)
        try:
            return ToolResult(await self._store.get(digest), shown=text, recalled=digest)
        except DigestUnknown:
            return None

    def end_turn(self) -> None:
        """The agent has answered, or was stopped; the next message is a person's."""
        self._run(self._end_turn())

    async def _end_turn(self) -> None:
        if self.session.transcript.turn_open:
            await self.session.record(TurnEnded("done"))
        self._steward.after_turn()
        await self._steward.settle()
        self._clock += TURN_MS

    def request(self) -> list[dict[str, Any]]:
        """What would be sent to the model now; the same each time until the next message.

        Raises RequestTooLarge when it cannot be made to fit, and RequestInvalid.
        """
        if self._request is None:
            window = self._run(self._steward.ready())
            self._estimate = window.estimate
            self._request = window.request.messages
        return self._raw_messages(self._request)

    def _raw_messages(self, messages: tuple[Message, ...]) -> list[dict[str, Any]]:
        """The messages in the shape of the recordings; those that stay the same are converted once."""
        kept: dict[int, tuple[Message, dict[str, Any]]] = {}
        for message in messages:
            key = id(message)  # of a message that the former request holds, so that no other can have it
            kept[key] = self._raws.get(key) or (message, _raw(message))
        self._raws = kept
        return [dict(kept[id(message)][1]) for message in messages]

    def recall(self, handle: str) -> bytes:
        """The original bytes behind a handle of 64 hex digits. Raises DigestUnknown."""
        return self._run(self._store.get(handle))

    @property
    def summaries(self) -> list[int]:
        """The input tokens of each summarising call made so far."""
        return list(self._writer.asked)

    @property
    def counts(self) -> Counts:
        """What has happened so far."""
        events = [one.event for one in self.session.log]
        observed = [one for one in events if isinstance(one, ObservationsMade)]
        return Counts(
            sweeps=_count(events, SweepMade),
            folds=_count(events, FoldMade),
            handovers=_count(events, HandoverMade),
            observations=sum(not one.reflection for one in observed),
            reflections=sum(one.reflection for one in observed),
            fallbacks=sum(bool(getattr(one, "fallback", "")) for one in events),
        )

    def close(self) -> None:
        """End it, and give back what it holds."""
        if not self._loop.is_closed():
            self._run(self._scope.close())
            self._loop.close()


def _hash_in(arguments: str) -> str:
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ""
    return str(given.get("hash", "")) if isinstance(given, dict) else ""


def _count(events: list[Event], kind: type[object]) -> int:
    return sum(isinstance(one, kind) for one in events)


def _policy(policy: str | Policy) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if policy not in PROFILES:
        raise InputUnusable(f"There is no profile {policy!r}.", fix=f"Profiles: {', '.join(PROFILES)}.")
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
