"""What a model is asked beside the turns: the user's side questions and a session's title.

No window ever contains question or answer.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress

import msgspec

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.model_roles import CallBill, CallMeter, complete, stream_with_retry_limit
from helix_desktop.agent.session import PreparationProgress, Session, SideQuestionProgress, with_cache_hints
from helix_desktop.agent.trust import IsTrusted, require_trust
from helix_desktop.context.rewrites.sweep_plans import is_prompt_cache_cold
from helix_desktop.context.window import request_validation
from helix_desktop.context.window.provider_cache import next_request_cost
from helix_desktop.context.window.side_question_text import TITLE_OPENING, side_question_text
from helix_desktop.context.window.used_tokens import UsageGauge, measure_usage
from helix_desktop.context.window.window import Window, project
from helix_desktop.domain.cost import Spending, estimate_cost, unused_calls
from helix_desktop.domain.errors import (
    HelixError,
    InvalidInput,
    InvalidModelResponse,
    RequestTooLarge,
    StoreError,
)
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    SideQuestionAnswered,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import SessionRenamed
from helix_desktop.domain.events.summary import FailedPreparation
from helix_desktop.domain.messages import Message, ModelRequest, ModelResponse, RetryScheduled, TextDelta
from helix_desktop.domain.text_format import plain_line
from helix_desktop.domain.translatable_text import TextContext, join_sentences, verbatim
from helix_desktop.domain.typed_text import typed_text
from helix_desktop.domain.unicode_safety import is_hidden, repair_surrogates

_text = TextContext("Agent")
_log = logging.getLogger(__name__)


STILL_RUNNING = "(This call still runs.)"


class SideQuestions:
    """Asks the session's model beside the turns, one question at a time.

    The request begins as the next one of the session does, tools included, so that the provider reads most
    of it from its cache. `progress` is the newest state.
    """

    def __init__(
        self, session: Session, budget: SessionBudget, rewriter: WindowRewriter, is_trusted: IsTrusted
    ) -> None:
        self._session = session
        self._budget = budget
        self._rewriter = rewriter
        self._is_trusted = is_trusted
        self._task: asyncio.Task[SideQuestionAnswered | HelixError] | None = None
        self.progress = SideQuestionProgress()

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def ask(self, question: str) -> SideQuestionAnswered | None:
        """Ask, record the answer and return it; None if it was canceled before any word came.

        Raises InvalidInput for an empty question or while another is answered, RequestTooLarge,
        BudgetExhausted, ModelError, WorkspaceUntrusted, ModelNotChosen, StoreError.
        """
        require_trust(self._is_trusted)
        self._session.model_choice.require()
        question = repair_surrogates(question).strip()
        if not question:
            raise InvalidInput(_text("The side question is empty."), fix=_text("Type what you want to know."))
        if self.is_running:
            raise InvalidInput(
                _text("Another side question is being answered."), fix=_text("Wait for it, or cancel it.")
            )
        name = f"side question {self._session.id}"
        task = self._task = self._session.scope.start(self._run(question), name)
        await asyncio.wait([task])
        outcome = None if task.cancelled() else task.result()
        if isinstance(outcome, HelixError):
            raise outcome
        return outcome

    async def cancel(self) -> None:
        """Cancel what is being answered, and wait; what came of the answer is recorded."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self, question: str) -> SideQuestionAnswered | HelixError:
        self._publish(SideQuestionProgress(question, is_running=True))
        try:
            return await self._answer(question)
        except HelixError as error:  # a value, not a failed task: the caller expects it
            return error
        finally:
            self._publish(SideQuestionProgress())

    async def _answer(self, question: str) -> SideQuestionAnswered:
        await self._budget.ensure_available()
        request, tokens, cached = await self._request(question)
        info = self._session.frame.info
        started_at_ms = self._session.clock()
        meter = CallMeter(info, tokens, cached)
        try:
            response, is_stopped = await self._receive(request, meter)
        except (asyncio.CancelledError, HelixError):
            with suppress(StoreError):  # it is recorded with the next change
                await self._session.unused.record(await meter.spent(self._session.counter))
            raise
        spending = await meter.spent(self._session.counter)
        event = SideQuestionAnswered(
            question,
            response.text,
            info.label,
            usage=response.usage,
            spent=spending.tokens,
            cost=spending.cost,
            duration_ms=self._session.elapsed_ms(started_at_ms),
            demo=info.demo,
            stopped=is_stopped,
            estimated=spending.estimated,
            unpriced=spending.unpriced,
        )
        await self._session.record(event)
        return event

    async def _receive(self, request: ModelRequest, meter: CallMeter) -> tuple[ModelResponse, bool]:
        """Return the answer, and True if it was canceled after some words. Raises ModelError."""
        answer = ""
        try:
            async with aclosing(stream_with_retry_limit(self._session.roles.main, request, meter)) as items:
                async for item in items:
                    match item:
                        case TextDelta(text=text):
                            answer += text
                        case RetryScheduled():
                            answer = ""
                        case ModelResponse() as response if response.text.strip():
                            return response, False
                        case _:
                            continue
                    self._publish(msgspec.structs.replace(self.progress, answer=answer))
        except asyncio.CancelledError:
            if not answer.strip():
                raise
            return ModelResponse(answer, stop="stopped"), True
        raise InvalidModelResponse(
            _text("The model didn't answer the side question."),
            _text("It sent no text, or tried to use a tool."),
            _text("Ask again, or send it as a message."),
        )

    async def _request(self, question: str) -> tuple[ModelRequest, int, int]:
        """Return the session's next request with the question behind it.

        Also its tokens as the model counts, and those of them that the provider should have in its cache.
        Raises RequestTooLarge.
        """
        window, gauge = self._window()
        text = side_question_text(self._session.prompts["side_question"], question)
        tokens = gauge.used + round(await self._session.count_tokens(text) * gauge.ratio)
        if tokens + gauge.reserve > gauge.model_window:
            used = gauge.used
            size = gauge.model_window
            raise RequestTooLarge(
                _text("The side question doesn't fit the context window."),
                _text("The conversation uses {used} of {window} tokens.", used=used, window=size),
                _text("Compact the conversation, then ask again."),
                remedies=("choose_model",),
            )
        messages = (*window.request.messages, Message("user", text))
        if request_validation.problems(messages):
            messages = request_validation.repair_request(messages)
        request = with_cache_hints(ModelRequest(messages, window.request.tools), window, self._session)
        session = self._session
        transcript = self._session.transcript
        info = self._session.frame.info
        is_cold = is_prompt_cache_cold(transcript, session.policy, info.label, session.clock())
        cached = next_request_cost(window, gauge, transcript, info, is_cold).cached
        return request, tokens, cached

    def _window(self) -> tuple[Window, UsageGauge]:
        """Return the present window; a call that still runs has an answer that says so."""
        transcript = self._session.transcript
        if not transcript.open_calls:
            return self._rewriter.measure()
        answers = (
            transcript.pending_outputs.get(call.id)
            or ToolAnswered(call.id, call.name, STILL_RUNNING, "", 0, 8, 8)
            for call in transcript.open_calls.values()
        )
        forked = transcript.fork_with(*answers)
        policy = self._session.policy
        frame = self._session.frame
        window = project(forked, policy, frame)
        return window, measure_usage(window, forked, policy, frame)

    def _publish(self, progress: SideQuestionProgress) -> None:
        self.progress = progress
        self._session.publish(progress)


_MAX_TITLE = 60  # characters
_MAX_READ = 2_000  # characters of the message, and of the answer
_TITLE_TOKENS = 20  # that an answer is taken to have
_LABEL = re.compile(r"(?:title|session title)\s*:\s*", re.IGNORECASE)
_QUOTES = "\"'\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb`*_# "


class SessionTitles:
    """Asks for a title of one session when its first turn that is done ends, and its first message names it.

    Nothing waits for it. What the user types meanwhile stays; a failure is recorded, and not repeated. None
    is asked for where the policy prepares nothing early. The demo model has a title where it follows a
    script, and costs nothing.
    """

    def __init__(self, session: Session, is_trusted: IsTrusted, is_enabled: Callable[[], bool]) -> None:
        self._session = session
        self._is_trusted = is_trusted
        self._is_enabled = is_enabled
        session.on(TurnEnded, self._on_turn_ended)

    def _on_turn_ended(self, ended: TurnEnded) -> None:
        if ended.how == "done" and self._is_due():
            self._session.scope.start(self._run(), f"title {self._session.id}")

    def _is_due(self) -> bool:
        transcript = self._session.transcript
        if transcript.titled_by != "message" or transcript.parent:
            return False
        ends = sum(
            isinstance(recorded.event, TurnEnded) and recorded.event.how == "done"
            for recorded in self._session.log
        )
        is_wanted = self._is_enabled() and self._session.policy.prepare_early
        return ends == 1 and is_wanted and self._is_trusted()

    async def _run(self) -> None:
        try:
            await self._title()
        except StoreError as error:
            _log.info("the title of session %s was not recorded: %s", self._session.id, error)
        finally:
            self._session.publish(PreparationProgress("title"))

    async def _title(self) -> None:
        """Ask for a title, and record it or the failure. Raises StoreError."""
        session = self._session
        model = session.roles.fast or session.roles.main
        request = self._request()
        bill = CallBill(session.counter)
        read = sum(await session.counter.count([message.text for message in request.messages]))
        session.publish(PreparationProgress("title", estimate_cost(model.info, read, _TITLE_TOKENS)))
        try:
            answer = await complete(model, request, bill, read)
        except asyncio.CancelledError:
            with suppress(StoreError):  # it is recorded with the next change
                await session.unused.record(bill.spent)
            raise
        except HelixError as error:
            if model.info.demo:
                return
            why = verbatim(join_sentences(error.what, error.why))
            await self._record(lambda: [_failed_title(bill.spent, why, read)], bill.spent)
            return
        title = clean_title(answer)
        await self._record(lambda: self._events(title, bill, read), bill.spent)

    async def _record(self, decide: Callable[[], Sequence[Event]], spent: Spending) -> None:
        """Record what came of the request; where the disk refuses it, at least what it spent, later."""
        try:
            await self._session.record_decided(decide)
        except StoreError:
            with suppress(StoreError):
                await self._session.unused.record(spent)
            raise

    def _events(self, title: str, bill: CallBill, read: int) -> list[Event]:
        """Return the title, or what the call took where the user has typed one meanwhile, or none came."""
        spent = bill.spent
        if not title:
            return [_failed_title(spent, verbatim(_text("The model sent no title.")), read)]
        if self._session.transcript.titled_by != "message":
            return [unused_calls(spent)] if spent.tokens else []
        return [
            SessionRenamed(
                title,
                "model",
                bill.model,
                self._session.prompt_versions["title"],
                spent=spent.tokens,
                cost=spent.cost,
                estimated=spent.estimated,
                unpriced=spent.unpriced,
                read=read,
            )
        ]

    def _request(self) -> ModelRequest:
        log = [recorded.event for recorded in self._session.log]
        said = (typed_text(event.text) for event in log if isinstance(event, UserSpoke))
        message = next(filter(None, said), "")
        answer = next(
            (event.text for event in reversed(log) if isinstance(event, AssistantSpoke) and event.text), ""
        )
        code = secrets.token_hex(4)  # the texts can't close what they stand between
        parts = (
            part
            for name, text in (("message", message), ("answer", answer))
            for part in (f"<{name} {code}>", text[:_MAX_READ], f"</{name} {code}>")
        )
        system = Message("system", self._session.prompts["title"])
        return ModelRequest((system, Message("user", "\n".join((TITLE_OPENING, *parts)))))


def _failed_title(spent: Spending, why: str, read: int) -> Event:
    failed = FailedPreparation("title", why, read=read)
    return msgspec.structs.replace(unused_calls(spent), failed=failed)


def clean_title(answer: str) -> str:
    """Return a model's answer as a title: its first line without marks and hidden characters, cut at a word.

    Empty if no letter or digit is left.
    """
    for line in repair_surrogates(answer).splitlines():
        shown = "".join(
            " " if char.isspace() else char for char in line if not is_hidden(char) or char == "\t"
        )
        text = " ".join(_LABEL.sub("", plain_line(shown), count=1).strip(_QUOTES).split()).removesuffix(".")
        if not any(char.isalnum() for char in text):
            continue
        if len(text) <= _MAX_TITLE:
            return text
        cut = text[:_MAX_TITLE]
        return (cut[: cut.rindex(" ")] if " " in cut else cut[:-1]) + "…"
    return ""
