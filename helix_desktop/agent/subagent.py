"""Subagents: tasks done in sessions of their own, of which the parent sees the result (CONTEXT.md 3.7)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol, get_args

import msgspec

from helix_desktop.agent.ports import Model, Tools
from helix_desktop.agent.session import Session
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.update import (
    CallStarted,
    CallWaiting,
    Doing,
    Happened,
    SubagentMoved,
    Trouble,
    TurnChanged,
    Update,
)
from helix_desktop.context.errors import SubagentFailed, ToolError
from helix_desktop.context.event import (
    NEW_TITLE,
    AssistantSpoke,
    Ended,
    Recorded,
    SessionStarted,
    TurnEnded,
)
from helix_desktop.context.message import ModelInfo, ToolCall, ToolSpec
from helix_desktop.context.policy import Policy
from helix_desktop.context.tool import ApprovalAsk, Decision, Progress, ToolResult, unheard

DELEGATE = "delegate"
"""The name of the tool that starts subagents; they themselves have no tool of that name."""
_TITLE_CAP = 60  # characters
_ENDS = get_args(Ended)


class SubagentResult(msgspec.Struct, frozen=True):
    """What a subagent brought back: its session, its last words, its model calls, how it ended.

    `tokens` went in and came out in those calls: reported by the provider, or else by our count.
    """

    session: str
    text: str
    steps: int
    tokens: int
    ended: Ended

    @property
    def output(self) -> ToolResult:
        """The result as a tool's output, to go through intake like any other."""
        calls = "1 model call" if self.steps == 1 else f"{self.steps} model calls"
        parts = [self.text, f"[The subagent's log: session {self.session}, {calls}]"]
        if self.ended != "done":
            parts.insert(0, "The subagent was stopped before it was done. Its last words:")
        text = "\n\n".join(part for part in parts if part)
        return ToolResult(text.encode("utf-8", "surrogatepass"), self.ended == "done", subagent=self.session)


class Child(Protocol):
    """What is needed of a subagent's conversation."""

    session: Session

    @property
    def asks(self) -> list[ApprovalAsk]:
        """The questions its calls wait with."""
        ...

    @property
    def model(self) -> ModelInfo:
        """The model that answers."""
        ...

    async def send(self, text: str) -> None:
        """Begin its turn."""
        ...

    def decide(self, call_id: str, decision: Decision) -> bool:
        """Answer a question; False when it is no longer open."""
        ...

    async def stop(self) -> None:
        """Stop its turn, and wait for the end."""
        ...

    async def close(self) -> None:
        """Interrupt whatever runs, and wait for the end."""
        ...


class Nursery(Protocol):
    """Where subagents get their conversations from: the room."""

    async def admit(self, policy: Policy | None, model: Model | None) -> Child:
        """A conversation without a log yet, under the room's policy and model where none is given."""
        ...

    async def release(self, session: str) -> None:
        """Let go of a subagent that has ended."""
        ...


class Subagents:
    """The subagents of one conversation. None outlives the turn that it works for."""

    def __init__(self, session: Session, scope: TaskScope, nursery: Nursery | None) -> None:
        """Without a nursery, because the session is a subagent's itself, every task is refused."""
        self._session, self._scope, self._nursery = session, scope, nursery
        self._running: dict[str, _Watch] = {}
        self.cut_off: Ended = "stopped"  # what those end by that are cancelled; closing the app interrupts

    async def run(
        self,
        task: str,
        policy: Policy | None = None,
        model: Model | None = None,
        title: str = "",
        call: str = "",
    ) -> SubagentResult:
        """Have a task done in a session of its own; `call` is the id of the call that asked for it.

        Being cancelled stops the subagent, and returns when its log is closed. Raises SubagentFailed with the
        session of its log; ToolError without a task, or where subagents are not allowed; StoreError.
        """
        nursery = self._allowed(task)
        child = await nursery.admit(policy, model)
        watch = self._running[child.session.id] = _Watch(child, self._session)
        try:
            named = " ".join(title.split())[:_TITLE_CAP] or NEW_TITLE
            await child.session.record(SessionStarted(named, self._session.id, call))
            if watch.wanted:
                await child.send(task)
                await watch.ended.wait()
            return _outcome(child, watch.trouble)
        finally:
            ending = self._scope.start(self._let_go(nursery, watch), f"subagent {child.session.id}")
            await asyncio.shield(ending)

    def _allowed(self, task: str) -> Nursery:
        if self._nursery is None:
            raise ToolError(
                "A subagent cannot start subagents.",
                "Only the session that a person works in can.",
                "Do this part yourself, or end with what is left to do.",
            )
        if not task.strip():
            raise ToolError("The subagent was given no task.", fix="Say what to do and what to bring back.")
        return self._nursery

    async def _let_go(self, nursery: Nursery, watch: _Watch) -> None:
        child = watch.child
        if not watch.ended.is_set():
            await self._end(child)
        watch.leave()
        del self._running[child.session.id]
        await nursery.release(child.session.id)

    async def _end(self, child: Child) -> None:
        await (child.stop() if self.cut_off == "stopped" else child.close())

    async def stop(self) -> None:
        """Stop all that run; returns when their logs are closed."""
        for watch in tuple(self._running.values()):
            watch.wanted = False
            await self._end(watch.child)

    @property
    def asks(self) -> list[ApprovalAsk]:
        """The questions that calls of subagents wait with, under ids of their own."""
        return [told for told, _, _ in self._asked()]

    def decide(self, call_id: str, decision: Decision) -> bool:
        """Answer one of `asks`; False when it is no longer open."""
        for told, child, ask in self._asked():
            if told.call_id == call_id:
                return child.decide(ask.call_id, decision)
        return False

    def _asked(self) -> Iterator[tuple[ApprovalAsk, Child, ApprovalAsk]]:
        for watch in self._running.values():
            for ask in watch.child.asks:
                yield _told(watch.child, ask), watch.child, ask


class _Watch:
    """Follows one subagent and tells its parent how it goes.

    `ended` is set when its turn is over; it is `wanted` until its parent stops it.
    """

    def __init__(self, child: Child, parent: Session) -> None:
        self.child, self._parent = child, parent
        self.ended = asyncio.Event()
        self.wanted = True
        self.trouble: Trouble | None = None
        self._told: SubagentMoved | None = None
        self._leave = child.session.listen(self._hear)

    def _hear(self, update: Update) -> None:
        match update:
            case CallWaiting(ask=ask):
                self._tell("waiting")
                self._parent.publish(CallWaiting(_told(self.child, ask)))
            case Happened(recorded=Recorded(event=TurnEnded(how=how))):
                self._tell(how)
            case Happened() | CallStarted():
                self._tell(self._doing())
            case Trouble():
                self.trouble = update
            case TurnChanged(running=False):
                self.ended.set()
            case _:
                pass

    def leave(self) -> None:
        """Hear no more; an end that could not be recorded is told all the same."""
        if self._told is not None and self._told.phase not in _ENDS:
            self._tell("failed" if self.trouble else "stopped")
        self._leave()

    def _doing(self) -> Doing:
        if self.child.asks:
            return "waiting"
        return "working" if self.child.session.transcript.open_calls else "thinking"

    def _tell(self, phase: Doing | Ended) -> None:
        session = self.child.session
        known, window = session.transcript, session.window or self.child.model.window
        moved = SubagentMoved(session.id, phase, session.used, window, known.steps, known.title)
        if moved != self._told:
            self._told = moved
            self._parent.publish(moved)


def _told(child: Child, ask: ApprovalAsk) -> ApprovalAsk:
    """A subagent's question as its parent's: two models may well give two calls one id."""
    return msgspec.structs.replace(ask, call_id=f"{child.session.id}/{ask.call_id}")


def _outcome(child: Child, trouble: Trouble | None) -> SubagentResult:
    log, session = child.session.log, child.session.id
    ended = next((one.event for one in reversed(log) if isinstance(one.event, TurnEnded)), None)
    if ended is None:  # it could not be recorded, or its turn never began
        ended = (
            TurnEnded("failed", trouble.what, trouble.why, trouble.fix) if trouble else TurnEnded("stopped")
        )
    if ended.how == "failed":
        why = " ".join(part for part in (ended.what, ended.why) if part)
        fix = " ".join(part for part in (ended.fix, f"Its log is session {session}.") if part)
        raise SubagentFailed("The subagent could not do its task.", session, why, fix)
    spoken = [one.event for one in log if isinstance(one.event, AssistantSpoke)]
    text = next((one.text for one in reversed(spoken) if one.text.strip()), "")
    return SubagentResult(session, text, len(spoken), sum(map(_tokens, spoken)), ended.how)


def _tokens(spoke: AssistantSpoke) -> int:
    usage = spoke.usage
    if usage is not None and usage.input > 0:  # some local servers report zeros
        return usage.input + usage.output
    return spoke.estimate + spoke.tokens


class WithoutDelegate:
    """A workspace's tools as subagents have them."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """All but the one that starts subagents."""
        return tuple(spec for spec in self._tools.specs if spec.name != DELEGATE)

    async def approval(self, call: ToolCall) -> ApprovalAsk | None:
        """The question a call raises before it may run. Raises ToolError."""
        _refuse(call)
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, told: Progress = unheard) -> ToolResult:
        """Run a call. Raises ToolError."""
        _refuse(call)
        return await self._tools.run(call, told)


def _refuse(call: ToolCall) -> None:
    if call.name == DELEGATE:
        raise ToolError("A subagent cannot start subagents.", fix="Do this part yourself.")
