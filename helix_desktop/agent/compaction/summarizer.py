"""Summaries: jobs that write one beside the turns, the wait for one, and the models asked in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import aclosing
from typing import Generic, TypeVar

import msgspec

from helix_desktop.agent.budget import ApproveSpending, SpendApprovals, approve_any, over_budget_warning
from helix_desktop.agent.model_roles import CallMeter, few_attempts, stream_with_retry_limit
from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import ErrorRaised, Session, SummaryAwaited
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.rewrites.compaction_due import SUMMARY_TOKENS
from helix_desktop.context.summaries.summary_task import (
    SummaryTask,
    full_request,
    merge_task,
    split_task,
    truncated_request,
)
from helix_desktop.context.window.used_tokens import tokenizer_ratio
from helix_desktop.domain.cost import BackgroundWork, CostEstimate, Spending, estimate_cost
from helix_desktop.domain.errors import (
    BudgetExhausted,
    CompactionRefused,
    ContextWindowExceeded,
    HelixError,
    InvalidModelResponse,
    ModelError,
    SummaryRefused,
)
from helix_desktop.domain.events.rewrite import SummaryProblem
from helix_desktop.domain.events.summary import HandoverFailed, ObservationsFailed
from helix_desktop.domain.messages import ModelRequest, ModelResponse, RetryScheduled, TextDelta
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    verbatim,
)

_text = TextContext("Agent")


MAX_WAIT_S = 300.0
"""How long a request waits for the summary that makes room for it, and a summary for a server."""
_NOT_ENDED: OptionalText = ""


class BackgroundJob:
    """Work of one kind that needs a model: it runs beside the turns, and may have to be approved first.

    A base of what does it.
    """

    def __init__(
        self, session: Session, work: BackgroundWork, approvals: SpendApprovals | None = None
    ) -> None:
        """With `approvals` it keeps to the session's budget."""
        self._session = session
        self._work = work
        self._approvals = approvals
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def is_blocked(self, subject: Hashable, size: int, refresh: bool) -> bool:
        """Return True if it must not be tried: see SpendApprovals."""
        return self._approvals is not None and self._approvals.is_blocked(self._work, subject, size, refresh)

    def require_approval(self, estimate: CostEstimate) -> None:
        """Raise SpendNotApproved while it may not start, BudgetExhausted if the budget has no room for it."""
        if self._approvals is not None:
            self._approvals.check(self._work, estimate)

    def require_confirmation(self, estimate: CostEstimate) -> None:
        """Raise SpendNotApproved until the user, who started it, has seen its price."""
        if self._approvals is not None:
            self._approvals.confirm(self._work, estimate)

    def _answer(self, allowed: bool) -> bool:
        return self._approvals is not None and self._approvals.answer(self._work, allowed)

    def withdraw_request(self) -> None:
        if self._approvals is not None:
            self._approvals.withdraw(self._work)

    def _start_job(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Run the work, unless some runs; an error is published, because no caller awaits it."""
        if self._task is None or self._task.done():
            name = f"{self._work} {self._session.id}"
            self._task = self._session.scope.start(self._run(work), name)

    async def _run(self, work: Callable[[], Awaitable[bool]]) -> None:
        try:
            await work()
        except BudgetExhausted as error:
            self._session.publish(over_budget_warning(self._work, error))
        except HelixError as error:
            self._session.publish(ErrorRaised.from_error(error))

    async def wait(self) -> None:
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call back once, when what runs has ended; at once if nothing does."""
        if self._task is None or self._task.done():
            callback()
        else:
            self._task.add_done_callback(lambda _: callback())

    def cancel(self) -> None:
        """Cancel what runs, or asks; nothing changes."""
        self.withdraw_request()
        if self._task is not None:
            self._task.cancel()


class SummaryWait:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.is_active = False
        self._ended = asyncio.Event()
        self._why_ended = _NOT_ENDED

    async def wait_for(self, job: BackgroundJob) -> OptionalText:
        """Wait until a job has ended, at most `MAX_WAIT_S`. Return why it was given up; empty if it was not.

        What is given up is canceled. Canceling the call, as the user's stop does, leaves the job running.
        """
        self._ended.clear()
        self._why_ended = _NOT_ENDED
        self._set_active(True)
        limit = self._session.scope.start(self._end_in_time(), f"wait {self._session.id}")
        job.on_end(self._ended.set)
        try:
            await self._ended.wait()
        finally:
            limit.cancel()
            self._set_active(False)
        if job.is_running:
            job.cancel()
            await job.wait()
        return self._why_ended

    def continue_without_model(self) -> None:
        if self.is_active:
            self._end(_text("You continued without a model."))

    async def _end_in_time(self) -> None:
        await self._session.wait_s(MAX_WAIT_S)
        self._end(
            _text.plural(
                round(MAX_WAIT_S / 60),
                "The model took more than %n minute.",
                "The model took more than %n minutes.",
            )
        )

    def _end(self, why: OptionalText) -> None:
        self._why_ended = why
        self._ended.set()

    def _set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        self._session.publish(SummaryAwaited(is_active))


T = TypeVar("T")
F = TypeVar("F", HandoverFailed, ObservationsFailed)
OnPartialText = Callable[[str], None]
"""Called with the partial text of the answer so far."""

_MAX_ANSWERS = 3  # that are read for one summary: why one is not used is said with the next request
_MAX_DEPTH = 4  # how often a record is split again before giving up
_MAX_CALLS = 40
_MAX_CUTS = 3  # tries with the middle left out, each in half the capacity, while the server says overflow
_MARGIN = 0.9  # share of a capacity that is filled, because characters are not tokens
_MAX_ERROR_LENGTH = 200  # characters of an error that are kept


class SummaryReader(Generic[T]):
    """Reads what models write. A base; by itself it takes any text that `parse` does not refuse."""

    def __init__(self, parse: Callable[[str], T]) -> None:
        self.parse = parse
        """Return the value of a text. Raise CompactionRefused if it is no summary."""

    def doubt(self, text: str, value: T) -> OptionalText:
        """Return why a better text is asked for, although this one can be used; empty if it is good."""
        return ""


class SummaryResult(msgspec.Struct, Generic[T], frozen=True):
    """The result of a summary attempt: a value, its model, the calls made, and what they spent.

    `fallback_reason` says how and why it deviates from one call of the first model;
    `value` is None if no model could; `rejection` is the last summary that said too little, then `model` is
    the one that wrote it. `doubt` says why the value may say too little, where the user is to judge it.
    """

    value: T | None
    model: str = ""
    is_demo: bool = False
    calls: int = 0
    spent: Spending = Spending()
    fallback_reason: str = ""
    rejection: SummaryRefused | None = None
    doubt: OptionalText = ""

    @property
    def rejected_text(self) -> str:
        """The text that a model wrote and was not used; empty if there is none."""
        return self.rejection.text if self.rejection is not None else ""


class Summarizer:
    """Has models write summaries. What the newest attempt took is known also if it failed.

    `spent` is its cost, `has_text` says whether any request brought text, `approved` is the estimate once a
    model was called.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.spent = Spending()
        self.has_text = False
        self.approved: CostEstimate | None = None

    async def summarize(
        self,
        task: SummaryTask,
        reader: SummaryReader[T],
        on_partial_text: OnPartialText,
        approve: ApproveSpending = approve_any,
    ) -> SummaryResult[T]:
        """Return the parsed summary of a task: by the first model that fits it, in parts, or truncated.

        A text that is refused is asked for again with the reason, until three have come; one that is in
        doubt is used if no better one comes. While a server does not answer, it is tried for five minutes.
        `approve` gets the cost estimate before the first call, and may raise. Canceling ends the running
        call.
        """
        roles = self._session.roles
        attempt = _Attempt(self._session, reader, on_partial_text)

        def on_estimate(estimate: CostEstimate) -> None:
            approve(estimate)
            self.approved = estimate

        try:
            return await attempt.run(task, roles.summary_models, on_estimate)
        finally:
            self.spent = attempt.spent
            self.has_text = attempt.has_text

    def failure(self, event: type[F], error: CompactionRefused, upto: int) -> F:
        """Return the event of a failed attempt to read up to an event, with what the newest one spent."""
        refusal = error if isinstance(error, SummaryRefused) else None
        approved = self.approved
        return event(
            error.what,
            error.why,
            self.spent.tokens,
            self.spent.cost,
            problem=refusal.problem if refusal else None,
            refused=refusal.text if refusal else "",
            estimated=self.spent.estimated,
            unpriced=self.spent.unpriced,
            upto=upto if self.has_text else 0,
            read=approved.tokens if approved is not None else 0,
        )

    async def estimate(self, task: SummaryTask) -> CostEstimate:
        """Return the cost estimate for the first model that fits, else for the largest, in parts."""
        attempt = _Attempt(self._session, SummaryReader(str), lambda _: None)
        request = await asyncio.to_thread(full_request, task)
        tokens = await attempt.count_tokens(request)
        return await attempt.estimate(task, request, tokens, self._session.roles.summary_models)


class _DoubtfulAnswer(msgspec.Struct, Generic[T], frozen=True):
    value: T
    model: Model
    outcome: TranslatableText


class _Attempt(Generic[T]):
    def __init__(self, session: Session, reader: SummaryReader[T], on_partial_text: OnPartialText) -> None:
        self._session = session
        self._reader = reader
        self._on_partial_text = on_partial_text
        self._started_at_ms = session.clock()
        self._waited_s = 0.0
        self._calls = 0
        self._answers = 0
        self.has_text = False
        self.spent = Spending()
        self._problems: list[TranslatableText] = []
        self._doubtful: _DoubtfulAnswer[T] | None = None
        self._rejection: SummaryRefused | None = None
        self._rejected_model = ""
        self._is_rejected_demo = False
        self._capacities: dict[str, int] = {}
        self._is_followed = False  # whether another model is asked if this one does not answer
        self._was_cut = False  # whether the newest answer ended before it was whole

    async def run(
        self, task: SummaryTask, models: tuple[Model, ...], on_estimate: Callable[[CostEstimate], None]
    ) -> SummaryResult[T]:
        """Try each model with the whole record; then the too small ones in parts, then truncated."""
        request = await asyncio.to_thread(full_request, task)
        tokens = await self.count_tokens(request)
        on_estimate(await self.estimate(task, request, tokens, models))
        density = _size(request) / max(1, tokens)
        result = await self._ask_models(task, tokens, density, models)
        if result is not None:
            return result
        if self._doubtful is not None:
            return self._result(self._doubtful.value, self._doubtful.model, self._doubtful.outcome)
        why = join_sentences(_text("No model could write it."), *dict.fromkeys(self._problems))
        return SummaryResult(
            None, self._rejected_model, self._is_rejected_demo, self._calls, self.spent, why, self._rejection
        )

    async def _ask_models(
        self, task: SummaryTask, tokens: int, density: float, models: tuple[Model, ...]
    ) -> SummaryResult[T] | None:
        """Return the first good answer; None once three answers have come, or no model gave one."""
        too_small: list[Model] = []
        roles = self._session.roles
        usual = [model for model in models if not roles.is_only_long(model, roles.summary)]
        for model in models:
            if self._has_all_answers or (model not in usual and not too_small):
                continue
            label = model.info.label
            self._capacities[label] = _input_capacity(model, self._session.transcript)
            self._is_followed = model in usual[:-1]
            outcome = _text("{model} wrote it.", model=label)
            value = await self._ask_whole(model, task, tokens, too_small, outcome)
            if value is not None:
                return self._result(value, model, outcome)
        self._is_followed = False
        too_small.sort(key=lambda model: self._capacities[model.info.label], reverse=True)
        for model in too_small:
            outcome = _text("{model} read it in parts.", model=model.info.label)
            value = await self._ask_in_parts(model, task, density, outcome)
            if value is not None:
                return self._result(value, model, outcome, is_deviation=True)
        for model in too_small:
            outcome = _text("{model} read a shortened version.", model=model.info.label)
            value = await self._ask_shortened(model, task, density, outcome)
            if value is not None:
                return self._result(value, model, outcome, is_deviation=True)
        return None

    @property
    def _has_all_answers(self) -> bool:
        return self._answers >= _MAX_ANSWERS

    @property
    def _can_ask_again(self) -> bool:
        """True if the same model may answer again: the last answer is left to the model behind it, if any."""
        return self._answers < _MAX_ANSWERS - int(self._is_followed)

    def _read(self, model: Model, text: str, outcome: TranslatableText) -> T | TranslatableText:
        """Return the value of an answer, or why another one is asked for."""
        self._answers += 1
        try:
            if not text.strip():
                raise CompactionRefused(_text("The model sent no text."))
            value = self._reader.parse(text)
        except CompactionRefused as error:
            why = error.why or error.what
            if not isinstance(error, SummaryRefused):
                error = SummaryRefused(SummaryProblem.UNSPECIFIC, text, why)
            self._note_error(model, error)
            self._rejection = error
            self._rejected_model = model.info.label
            self._is_rejected_demo = model.info.demo
            return why
        doubt = self._reader.doubt(text, value)
        if self._was_cut and not doubt:
            doubt = _text("It ended before it was whole: write a shorter one.")
        if not doubt:
            return value
        self._doubtful = _DoubtfulAnswer(value, model, outcome)
        self._problems.append(_text("{model}: {reason}", model=model.info.label, reason=doubt))
        return doubt

    async def estimate(
        self, task: SummaryTask, request: ModelRequest, tokens: int, models: tuple[Model, ...]
    ) -> CostEstimate:
        model = _choose_model(models, tokens, self._session.transcript)
        input_tokens = tokens
        calls = 1
        capacity = _input_capacity(model, self._session.transcript)
        if tokens > capacity:
            density = _size(request) / max(1, tokens)
            parts = await asyncio.to_thread(split_task, task, int(capacity * density * _MARGIN))
            input_tokens = min(input_tokens, capacity)
            if len(parts) > 1:
                sizes = await asyncio.to_thread(lambda: [_size(full_request(part)) for part in parts])
                input_tokens = int(sum(sizes) / density)
                calls = len(parts)
            if len(parts) > 1 and task.merge_title:
                input_tokens = input_tokens + calls * SUMMARY_TOKENS + int(task.fixed_chars / density)
                calls = calls + 1
        ratio = tokenizer_ratio(self._session.transcript, model.info.label)
        return estimate_cost(model.info, round(input_tokens * ratio), calls * SUMMARY_TOKENS, calls)

    def _result(
        self, value: T, model: Model, outcome: TranslatableText, is_deviation: bool = False
    ) -> SummaryResult[T]:
        problems = dict.fromkeys(self._problems)
        fallback = join_sentences(outcome, *problems) if is_deviation or problems else ""
        info = model.info
        return SummaryResult(value, info.label, info.demo, self._calls, self.spent, fallback, self._rejection)

    async def count_tokens(self, request: ModelRequest) -> int:
        counts = await self._session.counter.count([message.text for message in request.messages])
        return sum(counts) + FRAMING_TOKENS * len(counts)

    async def _ask_whole(
        self,
        model: Model,
        task: SummaryTask,
        tokens: int,
        too_small: list[Model],
        outcome: TranslatableText,
    ) -> T | None:
        label = model.info.label
        if tokens > self._capacities[label]:
            ratio = tokenizer_ratio(self._session.transcript, label)
            self._problems.append(
                _text(
                    "{model} has room for {capacity} of {tokens} tokens.",
                    model=label,
                    capacity=round(max(0, self._capacities[label]) * ratio),
                    tokens=round(tokens * ratio),
                )
            )
            too_small.append(model)
            return None
        try:
            return await self._ask_until_good(model, task, outcome)
        except ContextWindowExceeded as error:
            self._reduce_capacity(model, tokens)
            too_small.append(model)
            self._note_error(model, error)
        except ModelError as error:
            self._note_error(model, error)
        return None

    async def _ask_until_good(self, model: Model, task: SummaryTask, outcome: TranslatableText) -> T | None:
        """Return a good answer to a task that fits; None if no more may be asked for. Raises ModelError."""
        while True:
            request = await asyncio.to_thread(full_request, task)
            tokens = await self.count_tokens(request)
            answer = self._read(model, await self._stream_text(model, request, tokens), outcome)
            if not isinstance(answer, TranslatableText):
                return answer
            if not self._can_ask_again:
                return None
            task = task.corrected(answer)

    def _reduce_capacity(self, model: Model, tokens: int) -> None:
        """Halve the assumed capacity: the server rejected a request that should have fit."""
        label = model.info.label
        self._capacities[label] = min(self._capacities[label], tokens) // 2

    def _note_error(self, model: Model, error: HelixError) -> None:
        reason = join_sentences(error.what, error.why, error.details)
        if len(reason) > _MAX_ERROR_LENGTH:
            reason = verbatim(reason[: _MAX_ERROR_LENGTH - 1] + "…")
        self._problems.append(_text("{model}: {reason}", model=model.info.label, reason=reason))

    async def _ask_in_parts(
        self, model: Model, task: SummaryTask, density: float, outcome: TranslatableText
    ) -> T | None:
        """Return a good answer from the parts of a record; only their merging is asked for again."""
        if self._has_all_answers:
            return None
        try:
            texts = await self._ask_parts(model, task, density, 1)
            while True:
                answer = self._read(model, await self._merge(model, task, texts, density, 1), outcome)
                if not isinstance(answer, TranslatableText):
                    return answer
                if not (task.merge_title and self._can_ask_again):
                    return None
                task = task.corrected(answer)
        except ModelError as error:
            self._note_error(model, error)
        return None

    async def _split_and_merge(self, model: Model, task: SummaryTask, density: float, depth: int) -> str:
        """Summarize the parts of a task that is too large, and merge them. Raises ModelError."""
        texts = await self._ask_parts(model, task, density, depth)
        return await self._merge(model, task, texts, density, depth)

    async def _ask_parts(self, model: Model, task: SummaryTask, density: float, depth: int) -> list[str]:
        max_chars = int(self._capacities[model.info.label] * density * _MARGIN)
        parts = await asyncio.to_thread(split_task, task, max_chars)
        if len(parts) < 2 or depth > _MAX_DEPTH:  # noqa: PLR2004 - one part is no smaller
            raise ContextWindowExceeded(_text("The parts don't fit either."))
        return [await self._ask_part(model, part, density, depth) for part in parts]

    async def _merge(
        self, model: Model, task: SummaryTask, texts: list[str], density: float, depth: int
    ) -> str:
        if not task.merge_title:
            return "\n".join(texts)
        return await self._ask_part(model, merge_task(task, texts), density, depth)

    async def _ask_part(self, model: Model, task: SummaryTask, density: float, depth: int) -> str:
        request = await asyncio.to_thread(full_request, task)
        tokens = await self.count_tokens(request)
        if tokens <= self._capacities[model.info.label]:
            try:
                return await self._stream_some_text(model, request, tokens)
            except ContextWindowExceeded:
                self._reduce_capacity(model, tokens)
        return await self._split_and_merge(model, task, density, depth + 1)

    async def _ask_shortened(
        self, model: Model, task: SummaryTask, density: float, outcome: TranslatableText
    ) -> T | None:
        cuts = 0
        while cuts < _MAX_CUTS and not self._has_all_answers:
            capacity = self._capacities[model.info.label]
            request_and_tokens = await self._fit_request(task, model.info.label, density)
            if request_and_tokens is None:
                return None
            try:
                answer = self._read(model, await self._stream_text(model, *request_and_tokens), outcome)
            except ContextWindowExceeded as error:
                self._reduce_capacity(model, capacity)
                self._note_error(model, error)
                cuts += 1
                continue
            except ModelError as error:
                self._note_error(model, error)
                return None
            if not isinstance(answer, TranslatableText):
                return answer
            task = task.corrected(answer)
        return None

    async def _fit_request(
        self, task: SummaryTask, label: str, density: float
    ) -> tuple[ModelRequest, int] | None:
        """Return the request truncated to what fits a model, with its tokens; None if it cannot fit.

        A text denser than average is truncated again.
        """
        capacity = self._capacities[label]
        characters = capacity * density
        for _ in range(_MAX_CUTS):
            characters *= _MARGIN
            request = await asyncio.to_thread(truncated_request, task, int(characters))
            if request is None:
                break
            tokens = await self.count_tokens(request)
            if tokens <= capacity:
                return request, tokens
            characters *= capacity / tokens
        exceeded = round(capacity * tokenizer_ratio(self._session.transcript, label))
        self._problems.append(_text("Even a shortened request exceeds {tokens} tokens.", tokens=exceeded))
        return None

    async def _stream_some_text(self, model: Model, request: ModelRequest, tokens: int) -> str:
        """Return a model's answer as `_stream_text` does. Raises ModelError also if it is empty."""
        text = await self._stream_text(model, request, tokens)
        if not text.strip():
            raise InvalidModelResponse(_text("The model sent no text."))
        return text

    async def _stream_text(self, model: Model, request: ModelRequest, tokens: int) -> str:
        """Return a model's answer to a request of `tokens` tokens, maybe empty. Raises ModelError."""
        if self._calls >= _MAX_CALLS:
            raise InvalidModelResponse(_text("It took more than {count} calls.", count=_MAX_CALLS))
        self._calls += 1
        partial_text = ""
        ratio = tokenizer_ratio(self._session.transcript, model.info.label)
        meter = CallMeter(model.info, round(tokens * ratio))
        self._on_partial_text(partial_text)
        try:
            stream = stream_with_retry_limit(model, request, meter, self._may_retry)
            async with aclosing(stream) as items:
                async for item in items:
                    match item:
                        case TextDelta(text=text):
                            partial_text += text
                            self._on_partial_text(partial_text)
                        case RetryScheduled():
                            partial_text = ""
                            self._on_partial_text(partial_text)
                        case ModelResponse(text=text, stop=stop):
                            partial_text = text
                            self._was_cut = stop in ("length", "context")
                        case _:
                            pass
        finally:
            self.has_text = self.has_text or bool(partial_text.strip())
            self.spent += await meter.spent(self._session.counter)
        return partial_text

    def _may_retry(self, retry: RetryScheduled) -> bool:
        """Let a server be tried until five minutes are over; a few times if another model can be asked."""
        if self._is_followed and not few_attempts(retry):
            return False
        elapsed_s = self._session.elapsed_ms(self._started_at_ms) / 1000
        self._waited_s += retry.wait_s
        return max(elapsed_s + retry.wait_s, self._waited_s) <= MAX_WAIT_S


def _choose_model(models: Sequence[Model], tokens: int, transcript: Transcript) -> Model:
    """Return the first model that a request of so many tokens fits, by our count; else the largest."""
    fitting = (model for model in models if tokens <= _input_capacity(model, transcript))
    return next(fitting, None) or max(models, key=lambda model: _input_capacity(model, transcript))


def _input_capacity(model: Model, transcript: Transcript) -> int:
    """Return the largest request to this model, in tokens as we count them."""
    return int((model.info.window - model.info.reserve) / tokenizer_ratio(transcript, model.info.label))


def _size(request: ModelRequest) -> int:
    return sum(len(message.text) for message in request.messages)
