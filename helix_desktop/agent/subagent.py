"""Subagents: tasks done in sessions of their own, of which the parent sees the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec

from helix_desktop.agent.child import Child, Watch, told_as
from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import Session
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.update import SubagentMoved, Trouble
from helix_desktop.context.digest import title_line
from helix_desktop.context.errors import SubagentFailed, ToolError
from helix_desktop.context.event import (
    NEW_TITLE,
    AssistantSpoke,
    ModelChosen,
    ModelRole,
    SessionStarted,
    SubagentStarted,
    TurnEnded,
)
from helix_desktop.context.message import Ended
from helix_desktop.context.policy import Policy, fields_of
from helix_desktop.context.tool import ApprovalAsk, Delegated, Reply, ToolResult

AT_ONCE = 4
"""How many subagents of one conversation work at the same time; the others wait for a place."""


class SubagentResult(msgspec.Struct, frozen=True):
    """What a subagent brought back: its session, its last words, its model calls, how it ended.

    `tokens` went in and came out: reported by the provider, or else by our count; `cost` is in US dollars.
    """

    session: str
    text: str
    steps: int
    tokens: int
    ended: Ended
    cost: float = 0.0

    @property
    def output(self) -> ToolResult:
        """The result as a tool's output, to go through intake like any other."""
        calls = "1 model call" if self.steps == 1 else f"{self.steps} model calls"
        parts = [self.text, f"[The subagent's log: session {self.session}, {calls}]"]
        if self.ended != "done":
            parts.insert(0, "The subagent was stopped before it was done. Its last words:")
        text = "\n\n".join(part for part in parts if part)
        return ToolResult(
            text.encode("utf-8", "surrogatepass"),
            self.ended == "done",
            subagent=self.session,
            delegated=Delegated(self.ended, self.steps, self.tokens, self.cost),
        )


class Nursery(Protocol):
    """Where subagents get their conversations from: the room."""

    async def admit(self, policy: Policy | None, model: Model | None, role: ModelRole = "main") -> Child:
        """A conversation without a log yet, under the room's policy and its model of that role, or others."""
        ...

    async def release(self, session: str) -> None:
        """Let go of a subagent that has ended."""
        ...


class Subagents:
    """The subagents of one conversation. None outlives the turn that it works for."""

    def __init__(self, session: Session, scope: TaskScope, nursery: Nursery | None) -> None:
        """Without a nursery, because the session is a subagent's itself, every task is refused."""
        self._session, self._scope, self._nursery = session, scope, nursery
        self._running: dict[str, Watch] = {}
        self._places = asyncio.Semaphore(AT_ONCE)
        self.cut_off: Ended = "stopped"  # what those end by that are cancelled; closing the app interrupts

    async def run(
        self,
        task: str,
        policy: Policy | None = None,
        model: Model | None = None,
        title: str = "",
        call: str = "",
        role: ModelRole = "main",
    ) -> SubagentResult:
        """Have a task done in a session of its own; `call` is the id of the call that asked for it.

        While AT_ONCE of them work it waits for a place, and says so.

        Being cancelled stops the subagent, and returns when its log is closed. Raises SubagentFailed with the
        session of its log; ToolError without a task, or where subagents are not allowed; StoreError.
        """
        nursery = self._allowed(task)
        child = await nursery.admit(policy, model, role)
        watch = self._running[child.session.id] = Watch(child, self._session, call)
        try:
            await self._begin(child, title_line(" ".join(title.split())) or NEW_TITLE, call, role, policy)
            async with self._place(watch):
                if watch.wanted:
                    await child.send(task)
                    await watch.ended.wait()
            return _outcome(child, watch.trouble)
        finally:
            ending = self._scope.start(self._let_go(nursery, watch), f"subagent {child.session.id}")
            await asyncio.shield(ending)

    async def _begin(
        self, child: Child, title: str, call: str, role: ModelRole, policy: Policy | None
    ) -> None:
        """Put on record that it is there: in its own log, and in the parent's for the call that asked."""
        own = fields_of(policy) if policy is not None else {}
        await child.session.record(SessionStarted(title, self._session.id, call, role, own))
        chosen = self._session.transcript.chosen_model
        if chosen and child.model.label == chosen:  # so that it goes on with it when it is opened later
            await child.session.record(ModelChosen(chosen))
        if call:
            shown = "" if title == NEW_TITLE else title
            await self._session.record(SubagentStarted(call, child.session.id, shown, role))

    @asynccontextmanager
    async def _place(self, watch: Watch) -> AsyncIterator[None]:
        """One of the places to work in, as soon as one is free."""
        if self._places.locked():
            watch.tell("queued")
        async with self._places:
            yield

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

    async def _let_go(self, nursery: Nursery, watch: Watch) -> None:
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
    def sessions(self) -> tuple[str, ...]:
        """The sessions of those that run."""
        return tuple(self._running)

    @property
    def moves(self) -> list[SubagentMoved]:
        """How each that runs goes now, oldest first."""
        return [watch.told for watch in self._running.values() if watch.told is not None]

    @property
    def asks(self) -> list[ApprovalAsk]:
        """The questions that calls of subagents wait with, under ids of their own."""
        return [told for told, _, _ in self._asked()]

    def decide(self, call_id: str, reply: Reply) -> bool:
        """Answer one of `asks`; False when it is no longer open."""
        for told, child, ask in self._asked():
            if told.call_id == call_id:
                return child.decide(ask.call_id, reply)
        return False

    def _asked(self) -> Iterator[tuple[ApprovalAsk, Child, ApprovalAsk]]:
        for watch in self._running.values():
            for ask in watch.child.asks:
                yield told_as(watch.child, ask), watch.child, ask


def _outcome(child: Child, trouble: Trouble | None) -> SubagentResult:
    log, session, spent = child.session.log, child.session.id, child.session.transcript.spent
    ended = next((one.event for one in reversed(log) if isinstance(one.event, TurnEnded)), None)
    if ended is None:  # it could not be recorded, or its turn never began
        ended = (
            TurnEnded("failed", trouble.what, trouble.why, trouble.fix) if trouble else TurnEnded("stopped")
        )
    if ended.how == "failed":
        why = " ".join(part for part in (ended.what, ended.why) if part)
        fix = " ".join(part for part in (ended.fix, f"Its log is session {session}.") if part)
        took = Delegated("failed", child.session.transcript.steps, spent.tokens, spent.cost)
        raise SubagentFailed("The subagent could not do its task.", session, why, fix, took)
    spoken = [one.event for one in log if isinstance(one.event, AssistantSpoke)]
    text = next((one.text for one in reversed(spoken) if one.text.strip()), "")
    return SubagentResult(session, text, len(spoken), spent.tokens, ended.how, spent.cost)
