"""The response stream: the model's answer while it comes, and the pending retry of the call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing, suppress

import msgspec

from helix_desktop.agent.session_runtime import SessionRuntime, with_cache_hints
from helix_desktop.agent.session_updates import ModelCalled, ResponseDelta, ResponseReset
from helix_desktop.context.rewrites.planner import is_prompt_cache_cold
from helix_desktop.context.window.provider_cache import next_request_cost
from helix_desktop.context.window.usage_gauge import measure_usage
from helix_desktop.context.window.window import Window
from helix_desktop.domain.cost import Spending, call_cost, spending_of, step_cost, step_unpriced, unused_calls
from helix_desktop.domain.errors import InvalidModelResponse, StoreError
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.messages import (
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RequestState,
    RetryScheduled,
    TextDelta,
    Usage,
    no_wait,
)
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")
_log = logging.getLogger(__name__)
_UNREPORTED = 0.8  # of our count of a request, what it has at least in the model's tokens
_SAVE_EVERY_MS = 1_000  # so much of an answer on screen a crash may take at most


class ResponseStream:
    """The answers of one session's main model, one at a time.

    `text` is what came so far of an answer that is not recorded yet; `waiting_since_ms` when the model was
    called, until it begins to answer, else 0; `sent_after` the last event before the newest request. What
    requests cost whose answer is not recorded is estimated, as no provider reports it. What came so far is
    saved in the session's draft, not as events: it is history only once the answer ends or is cut off.
    """

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime
        self.waiting_since_ms = 0
        self.text, self._reasoning = "", ""
        self._request = AssistantSpoke("", "", tokens=0, stop="stopped")  # as it counts without an answer
        self._is_sent, self._unrecorded = False, Spending()
        self.sent_after = 0
        self._retry: tuple[ResponseReset, float] | None = None  # with the event loop's time when it is due
        self._skip_wait: Callable[[], None] = no_wait
        self._saved_at_ms, self._is_saved = 0, False
        self._answered, self._read_events = dict[str, int](), 0  # by model, of so many events

    async def receive(self, window: Window, last_seq: int) -> ModelResponse:
        """Call the model, publish its answer as it comes, and return it. Raises ModelError.

        `last_seq` is the event of the session that the window was made after.
        """
        await self._record_lost()  # of a request that the model refused in the middle of its answer
        self.text, self._retry, self.sent_after = "", None, last_seq
        self._request = self._unanswered(window)
        request = with_cache_hints(window.request, window, self._runtime)
        request = msgspec.structs.replace(
            request, report_state=self._on_request_state, answered=self._largest_answered()
        )
        self.waiting_since_ms = self._saved_at_ms = self._runtime.clock()
        self._runtime.session.publish(ModelCalled())
        try:
            return await self._receive(request)
        finally:
            self.waiting_since_ms = 0

    def _largest_answered(self) -> int:
        """Return the largest input, in tokens of the model, that it has answered in this session.

        What no provider reported counts for less: our count may be above the model's.
        """
        log, label = self._runtime.session.log, self._runtime.frame.info.label
        for recorded in log[self._read_events :]:
            match recorded.event:
                case AssistantSpoke(usage=usage, estimate=estimate, ratio=ratio, model=model) as answer:
                    if answer.stop != "stopped":
                        tokens = usage.input if usage is not None else round(estimate * ratio * _UNREPORTED)
                        self._answered[model] = max(self._answered.get(model, 0), tokens)
        self._read_events = len(log)
        return self._answered.get(label, 0)

    async def _receive(self, request: ModelRequest) -> ModelResponse:
        session = self._runtime.session
        async with aclosing(self._runtime.roles.main.stream(request)) as items:
            async for item in items:
                self._retry, self.waiting_since_ms = None, 0
                match item:
                    case TextDelta(text=text):
                        self.text += text
                        session.publish(ResponseDelta(text))
                        await self._save_partial()
                    case ReasoningDelta(text=text):
                        self._reasoning += text
                        session.publish(ResponseDelta(text, is_reasoning=True))
                    case RetryScheduled() as retry:
                        await self._record_lost()
                        self._skip_wait = retry.skip
                        self._publish_retry(
                            ResponseReset(
                                retry.attempt, retry.wait_s, retry.reason, retry.patience_s, retry.remedies
                            )
                        )
                    case ModelResponse() as response if response.text.strip() or response.calls:
                        return response
        raise InvalidModelResponse(
            _text("Empty response from the model."),
            _text("It ended without text or a tool call."),
            _text("Send the message again, or choose another model."),
        )

    @property
    def retry_state(self) -> ResponseReset | None:
        """The pending retry of the model call with the seconds left; None once the model answers."""
        if self._retry is None:
            return None
        state, retries_at = self._retry
        return msgspec.structs.replace(state, wait_s=max(0.0, retries_at - asyncio.get_running_loop().time()))

    @property
    def retry_reason(self) -> str:
        """Why the model call is being repeated; empty if it isn't."""
        return self._retry[0].reason if self._retry is not None else ""

    def _publish_retry(self, retry_state: ResponseReset) -> None:
        self.waiting_since_ms = self._runtime.clock() + round(retry_state.wait_s * 1_000)
        self._retry = retry_state, asyncio.get_running_loop().time() + retry_state.wait_s
        self._runtime.session.publish(retry_state)

    def retry_now(self) -> None:
        """Skip the wait of a pending retry, if there is one."""
        if self._retry is not None:
            self._publish_retry(msgspec.structs.replace(self._retry[0], wait_s=0.0))
            self._skip_wait()

    def cancel_retry(self) -> None:
        """Drop the pending retry: the turn has ended."""
        self._retry = None

    def clear(self) -> None:
        """Drop the answer: it is being recorded."""
        self.text, self._reasoning, self._is_sent = "", "", False

    def take_unrecorded(self) -> Spending:
        """Return, once, what the requests cost since the last call whose answers are not recorded."""
        spent, self._unrecorded = self._unrecorded, Spending()
        return spent

    async def _on_request_state(self, state: RequestState) -> None:
        """Save that a request was sent: after a crash nothing else would say that it is billed."""
        self._is_sent = state == "sent"
        if self._is_sent:
            await self._save()
        else:
            await self.discard_saved()

    async def _record_lost(self) -> None:
        """Record what a lost answer cost while the turn goes on: a kill must not take it."""
        await self._count_lost()
        spent = self.take_unrecorded()
        if spent.tokens:
            lost = unused_calls(spent)
            try:
                await self._runtime.session.record(lost, ends_partial_answer=True)
            except StoreError:  # it is recorded with the end of the turn
                self._unrecorded += spent
            else:
                self.forget_saved()
        await self.discard_saved()

    async def _count_lost(self) -> None:
        """Count a request that was sent and what came of its answer, as that answer is not recorded."""
        if self._is_sent:
            answer = msgspec.structs.replace(self._partial_answer(), text=self._reasoning + self.text)
            self._unrecorded += spending_of(await self._counted(answer))
        self.clear()

    async def record_partial(self) -> None:
        """Record what came of an answer that was cut off, if anything did."""
        if self.text.strip():
            answer = await self._counted(self._partial_answer())
            self.clear()
            await self._runtime.session.record_decided(
                lambda: [self._with_reach(answer)], ends_partial_answer=True
            )
            self.forget_saved()
        elif self._is_sent:
            await self._count_lost()
            await self.discard_saved()
        elif self._is_saved:
            await self._runtime.session.drain()  # all of it may be on its way to the log
            await self.recover_partial()

    async def recover_partial(self) -> None:
        """Record what came of an answer before a crash, or before it could not be recorded."""
        self.text, session = "", self._runtime.session
        try:
            saved = await session.partial_answer()
        except StoreError as error:  # a damaged draft must not keep its session closed
            _log.warning("what a crash left of an answer cannot be read: %s", error)
            return
        if saved is not None and isinstance(saved.event, AssistantSpoke) and session.is_unanswered(saved.seq):
            self._is_saved, seq = True, saved.seq
            answer = await self._counted(saved.event)
            if answer.text.strip():
                await session.record_decided(
                    lambda: [self._with_reach(answer)] if session.is_unanswered(seq) else []
                )
            else:
                self._unrecorded += spending_of(answer)
        await self.discard_saved()

    def forget_saved(self) -> None:
        """Note that the commit that recorded the answer deleted what was saved of it."""
        self._is_saved = False

    async def discard_saved(self) -> None:
        """Delete what was saved of an answer: all of it is recorded now."""
        if self._is_saved:
            with suppress(StoreError):  # what stays is seen to be recorded
                await self._runtime.session.save_partial_answer(None)
            self._is_saved = False

    def estimated(self, answer: AssistantSpoke) -> AssistantSpoke:
        """Return the answer to the newest request; unreported, it counts as that request was shown."""
        if answer.usage is not None:
            return answer
        request, info = self._request, self._runtime.frame.info
        cost = request.cost + call_cost(info, Usage(0, answer.tokens))
        return msgspec.structs.replace(answer, ratio=request.ratio, cost=cost)

    async def _counted(self, answer: AssistantSpoke) -> AssistantSpoke:
        tokens, info = await self._runtime.count_tokens(answer.text), self._runtime.frame.info
        answer = msgspec.structs.replace(answer, tokens=tokens)
        if answer.model != info.label:  # the prices of another are not known
            return answer
        if not answer.cost:  # what a version before saved of an answer has no cost of its request
            return msgspec.structs.replace(answer, cost=step_cost(info, answer))
        return msgspec.structs.replace(answer, cost=answer.cost + call_cost(info, Usage(0, tokens)))

    def _with_reach(self, answer: AssistantSpoke) -> AssistantSpoke:
        reached = self._runtime.transcript.rewritten_after(answer.sent_after)
        return msgspec.structs.replace(answer, sent_after=reached)

    async def _save_partial(self) -> None:
        if self._runtime.elapsed_ms(self._saved_at_ms) >= _SAVE_EVERY_MS and self.text.strip():
            await self._save()

    async def _save(self) -> None:
        self._is_saved = True  # also if the turn is stopped meanwhile: the store goes on
        try:
            await self._runtime.session.save_partial_answer(self._partial_answer())
        except StoreError as error:  # the answer goes on; recording it reports what is wrong
            _log.warning("what came so far of an answer was not saved: %s", error)
        self._saved_at_ms = self._runtime.clock()

    def _partial_answer(self) -> AssistantSpoke:
        """Return what came so far of the answer, as one that was stopped; its tokens are not counted."""
        return msgspec.structs.replace(self._request, text=self.text)

    def _unanswered(self, window: Window) -> AssistantSpoke:
        """Return an empty answer: the request's tokens, and its cost by what the provider has cached."""
        runtime, transcript, frame = self._runtime, self._runtime.transcript, self._runtime.frame
        gauge = measure_usage(window, transcript, runtime.policy, frame)
        is_cold = is_prompt_cache_cold(transcript, runtime.policy, frame.info.label, runtime.clock())
        return AssistantSpoke(
            "",
            frame.info.label,
            tokens=0,
            estimate=window.estimate,
            stop="stopped",
            demo=frame.info.demo,
            window=frame.info.window,
            sent_after=self.sent_after,
            ratio=gauge.used / window.estimate if window.estimate else gauge.ratio,
            cost=next_request_cost(window, gauge, transcript, frame.info, is_cold).cost or 0.0,
            unpriced=step_unpriced(frame.info),
        )
