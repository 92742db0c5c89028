"""Runs the calls of one step: approve, run, store, record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from helix_desktop.agent.approval import Answered, Approvals
from helix_desktop.agent.intake import Intake
from helix_desktop.agent.intake_gate import IntakeGate
from helix_desktop.agent.intake_question import Waiting
from helix_desktop.agent.ports import Clock, Counter, Tools
from helix_desktop.agent.running_calls import RunningCalls
from helix_desktop.agent.session import Session
from helix_desktop.agent.update import CallProgress, CallStarted, CallWaiting, Trouble
from helix_desktop.context.errors import HelixError, SubagentFailed
from helix_desktop.context.event import ApprovalGiven, ToolAnswered
from helix_desktop.context.forgetting import mark_of
from helix_desktop.context.message import ToolCall
from helix_desktop.context.tool import ApprovalAsk, Rule, ToolResult

WITHHELD = (
    "The output is one that the user had removed for good: it is neither shown nor stored. Do not try to get "
    "it in another way; ask the user if you cannot go on without it."
)
log = logging.getLogger(__name__)


class ToolRunner:
    """Answers every call of a step. Reading calls run side by side; calls that need a yes run one by one.

    Their questions are asked together, so that a person sees all that waits.
    """

    def __init__(
        self,
        session: Session,
        tools: Tools,
        approvals: Approvals,
        counter: Counter,
        clock: Clock,
        gate: IntakeGate,
    ) -> None:
        self._session, self._tools, self._approvals = session, tools, approvals
        self._counter, self._clock, self._gate = counter, clock, gate
        self._intake = Intake(counter)
        self._one_by_one = asyncio.Lock()
        self.running = RunningCalls(clock)

    async def answer(self, calls: Sequence[ToolCall]) -> None:
        """Record an answer to each call; returns when all have one. Cancelling ends what runs."""
        held: list[Waiting] = []
        known = [asyncio.Event() for _ in calls]
        try:
            async with asyncio.TaskGroup() as group:
                for place, call in enumerate(calls):
                    work = self._answer(call, held, known[: place + 1])
                    group.create_task(work, name=f"tool {call.name}")
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        await self._gate.settle(held)

    async def _answer(self, call: ToolCall, held: list[Waiting], known: Sequence[asyncio.Event]) -> None:
        """`known` tells, of this call at last and of those before it, that what is asked is on screen."""
        ask = await self._question(call)
        if not isinstance(ask, ApprovalAsk):
            known[-1].set()
        if isinstance(ask, ToolResult):
            await self._record(call, ask, self._clock(), held)
            return
        if ask is None:
            await self._run(call, held)
            return
        for former in known[:-1]:
            await former.wait()
        answered = await self._approved(ask, known[-1])
        if answered.decision == "deny":
            await self._deny(call, answered.told)
            return
        async with self._one_by_one:
            await self._run(call, held)

    async def _question(self, call: ToolCall) -> ApprovalAsk | ToolResult | None:
        """What has to be asked about a call; its result when it is refused before that."""
        try:
            return await self._tools.approval(call)
        except HelixError as error:
            return _failed(error)
        except Exception as error:
            log.warning("asking about tool %s failed unexpectedly", call.name, exc_info=True)
            return _crashed(call, error)

    async def _approved(self, ask: ApprovalAsk, known: asyncio.Event) -> Answered:
        def asked(question: ApprovalAsk) -> None:
            self._session.publish(CallWaiting(question))
            known.set()

        answered = await self._approvals.decide(self._session.id, ask, asked)
        known.set()
        saved = await self._kept(answered.saved)
        await self._session.record(
            ApprovalGiven(
                *(ask.call_id, ask.tool, ask.subject, answered.decision, answered.rule),
                *(answered.mode, answered.words, saved),
            )
        )
        return answered

    async def _kept(self, rule: Rule | None) -> str:
        """Keep the rule of an answer, if it has one; its text, empty when it could not be kept."""
        if rule is None:
            return ""
        try:
            await self._approvals.keep(rule)
        except HelixError as error:  # the call itself was answered all the same
            self._session.publish(Trouble(error.what, error.why, error.fix))
            return ""
        return rule.text

    async def _deny(self, call: ToolCall, told: str) -> None:
        (tokens,) = await self._counter.count([told])
        answer = ToolAnswered(
            call.id, call.name, told, "", 0, tokens, tokens, first_line="denied", ok=False, outcome="denied"
        )
        await self._session.record(answer)

    async def _run(self, call: ToolCall, held: list[Waiting]) -> None:
        self._session.publish(CallStarted(call))
        began = self._clock()
        running = self.running.begin(call)

        def told(text: str) -> None:
            running.hear(text)
            self._session.publish(CallProgress(call.id, text))

        try:
            result = await self.running.run(running, self._tools.run(call, told))
        except HelixError as error:
            result = _failed(error)
        except Exception as error:
            log.warning("tool %s failed unexpectedly", call.name, exc_info=True)
            result = _crashed(call, error)
        if running.stopped and not result.ok:
            result = msgspec.structs.replace(result, stopped=True)
        await self._record(call, result, began, held)

    async def _record(self, call: ToolCall, result: ToolResult, began: int, held: list[Waiting]) -> None:
        taken = await self._intake.taken(call, result, max(0, self._clock() - began))
        if taken.content is not None and (at := await self._session.forgotten(taken.content.digest)):
            # It must not come back by running again what had made it.
            taken = await self._intake.taken(call, _withheld(result, at), taken.answer.duration_ms)
        await self._gate.arrived(taken, held)


def _withheld(result: ToolResult, at: int) -> ToolResult:
    return msgspec.structs.replace(result, content=f"{mark_of(at)} {WITHHELD}".encode(), shown="")


def _crashed(call: ToolCall, error: Exception) -> ToolResult:
    return _failed(HelixError(f"{call.name} failed.", f"{type(error).__name__}: {error}"))


def _failed(error: HelixError) -> ToolResult:
    if isinstance(error, SubagentFailed):
        return ToolResult(str(error).encode(), False, subagent=error.session, delegated=error.delegated)
    return ToolResult(str(error).encode(), ok=False)
