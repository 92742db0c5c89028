"""Runs the calls of one step: approve, run, store, record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.agent.approval import Approvals
from helix_desktop.agent.ports import Clock, Counter, Model, Tools
from helix_desktop.agent.session import Session
from helix_desktop.agent.update import CallStarted, CallWaiting
from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of, first_line
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event import ApprovalGiven, ToolAnswered
from helix_desktop.context.intake import preview
from helix_desktop.context.message import ToolCall
from helix_desktop.context.policy import Policy
from helix_desktop.context.tool import ApprovalAsk, ToolResult
from helix_desktop.context.window import Frame, marker_of

DENIED = "The user did not allow this call. Do not repeat it; ask what to do instead, or go on without it."
log = logging.getLogger(__name__)


class ToolRunner:
    """Answers every call of a step. Reading calls run side by side; calls that need a yes run one by one."""

    def __init__(
        self,
        session: Session,
        tools: Tools,
        approvals: Approvals,
        counter: Counter,
        clock: Clock,
        settings: Callable[[], tuple[Policy, Frame, Model]],
    ) -> None:
        self._session, self._tools, self._approvals = session, tools, approvals
        self._counter, self._clock, self._settings = counter, clock, settings
        self._one_by_one = asyncio.Lock()

    async def answer(self, calls: Sequence[ToolCall]) -> None:
        """Record an answer to each call; returns when all have one. Cancelling ends what runs."""
        try:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(self._answer(call), name=f"tool {call.name}")
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from failed

    async def _answer(self, call: ToolCall) -> None:
        try:
            ask = await self._tools.approval(call)
        except HelixError as error:
            await self._record(call, _failed(error), self._clock())
            return
        except Exception as error:
            log.warning("asking about tool %s failed unexpectedly", call.name, exc_info=True)
            await self._record(call, _crashed(call, error), self._clock())
            return
        if ask is None:
            await self._run(call)
            return
        async with self._one_by_one:
            if await self._allowed(ask):
                await self._run(call)
            else:
                await self._deny(call)

    async def _allowed(self, ask: ApprovalAsk) -> bool:
        self._session.publish(CallWaiting(ask))
        decision, rule = await self._approvals.decide(self._session.id, ask)
        await self._session.record(ApprovalGiven(ask.call_id, ask.tool, ask.subject, decision, rule))
        return decision != "deny"

    async def _deny(self, call: ToolCall) -> None:
        (tokens,) = await self._counter.count([DENIED])
        answer = ToolAnswered(
            call.id, call.name, DENIED, "", 0, tokens, tokens, first_line="denied", ok=False, outcome="denied"
        )
        await self._session.record(answer)

    async def _run(self, call: ToolCall) -> None:
        self._session.publish(CallStarted(call))
        began = self._clock()
        try:
            result = await self._tools.run(call)
        except HelixError as error:
            result = _failed(error)
        except Exception as error:
            log.warning("tool %s failed unexpectedly", call.name, exc_info=True)
            result = _crashed(call, error)
        await self._record(call, result, began)

    async def _record(self, call: ToolCall, result: ToolResult, began: int) -> None:
        text, digest = await asyncio.to_thread(_read, result)  # 60 MB of output must not hold up the window
        size = len(result.content)
        shown, tokens, full_tokens = await self._shown(result, text, digest)
        answer = ToolAnswered(
            call_id=call.id,
            name=call.name,
            text=shown,
            digest=digest,
            size=size,
            tokens=tokens,
            marker_tokens=0,
            target=result.target,
            first_line=first_line(text),
            ok=result.ok,
            exit_code=result.exit_code,
            duration_ms=max(0, self._clock() - began),
            whole=shown == text and not result.recalled,
            recalled=result.recalled,
        )
        (marked,) = await self._counter.count([marker_of(answer)])
        answer = msgspec.structs.replace(answer, marker_tokens=marked)
        if result.recalled:
            await self._session.record(answer, recalls=[digest])
            return
        content = Content(digest, result.content, call.name, result.target, answer.first_line, full_tokens)
        await self._session.record(answer, contents=[content])

    async def _shown(self, result: ToolResult, text: str, digest: str) -> tuple[str, int, int]:
        """The shown form, its tokens, and the tokens of the whole output."""
        shown = result.shown or text
        counts = await self._counter.count([text] if shown == text else [shown, text])
        tokens, full = counts[0], counts[-1]
        policy, frame, _ = self._settings()
        if tokens > frame.info.window * policy.preview_above and policy.enabled and not result.recalled:
            budget = policy.preview_tokens
            shown = await asyncio.to_thread(preview, text, digest, budget)
            (tokens,) = await self._counter.count([shown])
            if tokens > budget:  # denser than text usually is: one more try, in proportion
                smaller = budget * budget // (tokens + tokens // 4)
                shown = await asyncio.to_thread(preview, text, digest, smaller)
                (tokens,) = await self._counter.count([shown])
        return shown, tokens, full


def _read(result: ToolResult) -> tuple[str, str]:
    """An output's text and digest."""
    return result.content.decode("utf-8", "replace"), result.recalled or digest_of(result.content)


def _crashed(call: ToolCall, error: Exception) -> ToolResult:
    return _failed(HelixError(f"{call.name} failed.", f"{type(error).__name__}: {error}"))


def _failed(error: HelixError) -> ToolResult:
    return ToolResult(str(error).encode(), ok=False)
