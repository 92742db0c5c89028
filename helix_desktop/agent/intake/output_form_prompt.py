"""The form prompt: asks the model once per batch which forms it wants, in a forked request not recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from helix_desktop.agent.intake.intake import ReceivedOutput
from helix_desktop.agent.models.completion import CallBill, complete
from helix_desktop.agent.ports.model import Model
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.provider_cache_hints import with_cache_hints
from helix_desktop.context.intake.output_form_choice import (
    FormChoice,
    LargeOutput,
    form_question,
    offer_full_form,
    parse_choices,
)
from helix_desktop.context.rewrites.planner import is_prompt_cache_cold
from helix_desktop.context.window import request_validation
from helix_desktop.context.window.provider_cache import next_request_cost
from helix_desktop.context.window.usage_gauge import measure_usage
from helix_desktop.context.window.window import project
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.domain.text_format import count_lines
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences

_text = TextContext("Agent")

_QUESTION = "You were asked whether this output stays as a preview"  # in a question that no later request has
CHOICE_TOO_LATE = f"{_QUESTION}; the answer came too late, so it does."
CHOICE_FAILED = f"{_QUESTION}; asking failed, so it does."
CHOICE_UNREADABLE = f"{_QUESTION}; the answer named no form for it, so it does."
log = logging.getLogger(__name__)


class HeldOutput(msgspec.Struct, frozen=True):
    """A held output: as it arrived, and the preview used if no form is chosen."""

    received: ReceivedOutput
    preview: ToolAnswered

    @property
    def extra_tokens(self) -> int:
        """Tokens that the full form takes beyond the preview."""
        return max(0, self.received.event.tokens - self.preview.tokens)


class FormDecision(msgspec.Struct, frozen=True):
    """The choices for a batch, in its order.

    `model` is the label of the model that was asked. `note` says to the user why none was made, `model_note`
    to the model.
    """

    choices: tuple[FormChoice, ...]
    model: str
    duration_ms: int = 0
    note: str = ""
    model_note: str = ""
    timed_out: bool = False


class ForkedRequest(msgspec.Struct, frozen=True):
    """The forked request, its tokens, and for which outputs it offers the full form.

    Of the tokens the provider should have `cached_tokens` in its cache.
    """

    request: ModelRequest
    tokens: int
    cached_tokens: int
    offers_full: tuple[bool, ...]


class FormPrompt:
    """The prompt that asks a model for the forms of large outputs."""

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime

    async def ask(
        self, model: Model, batch: Sequence[HeldOutput], deadline: float, bill: CallBill
    ) -> FormDecision:
        """Return a choice for each output by `deadline` (event loop time, in seconds); never raises.

        What asking costs is added to the bill.
        """
        default_choices, label = (FormChoice(),) * len(batch), model.info.label
        fork = await self._fork(model, batch)
        if fork is None:
            return FormDecision(default_choices, label, note=_text("There was no room to ask the agent."))
        started_at_ms = self._runtime.clock()

        def elapsed_ms() -> int:
            return self._runtime.elapsed_ms(started_at_ms)

        try:
            async with asyncio.timeout_at(deadline):
                answer = await complete(model, fork.request, bill, fork.tokens, fork.cached_tokens)
        except TimeoutError:
            seconds = self._runtime.policy.intake_deadline_s
            late = _text("{model} didn't choose within {seconds} s.", model=label, seconds=seconds)
            return FormDecision(
                default_choices,
                label,
                duration_ms=elapsed_ms(),
                note=join_sentences(late, not_asked_again(label)),
                model_note=CHOICE_TOO_LATE,
                timed_out=True,
            )
        except HelixError as error:
            return FormDecision(
                default_choices, label, duration_ms=elapsed_ms(), note=error.what, model_note=CHOICE_FAILED
            )
        except Exception as error:
            log.warning("asking about large outputs failed unexpectedly", exc_info=True)
            return FormDecision(
                default_choices,
                label,
                duration_ms=elapsed_ms(),
                note=f"{type(error).__name__}: {error}",
                model_note=CHOICE_FAILED,
            )
        choices = parse_choices(answer, fork.offers_full)
        note = (
            ""
            if all(choice.is_chosen_by_model for choice in choices)
            else _text("The agent didn't say how to keep it.")
        )
        return FormDecision(choices, label, elapsed_ms(), note, CHOICE_UNREADABLE)

    async def _fork(self, model: Model, batch: Sequence[HeldOutput]) -> ForkedRequest | None:
        """Return the next request with previews as answers, plus the question; None if it does not fit.

        Another model than the main one gets its system prompt, the newest user message and the newest step
        only: nothing of the rest is in a cache for it.
        """
        policy, frame = self._runtime.policy, self._runtime.frame
        forked = self._runtime.transcript.fork()
        for output in batch:
            forked.apply(RecordedEvent(forked.last_seq + 1, forked.last_event_at_ms, output.preview))
        window = project(forked, policy, frame)
        gauge = measure_usage(window, forked, policy, frame)
        available_tokens = int((policy.handover_at * gauge.window - gauge.used - gauge.reserve) / gauge.ratio)
        offers_full = offer_full_form([output.extra_tokens for output in batch], available_tokens - 1)
        text = form_question(
            self._runtime.prompts["intake"],
            [_describe_output(*pair) for pair in zip(batch, offers_full, strict=True)],
        )
        if model is not self._runtime.roles.main:
            return await self._short_fork(model, window.request, text, offers_full)
        tokens = await self._runtime.count_tokens(text)
        messages = (*window.request.messages, Message("user", text))
        if (
            request_validation.problems(messages)
            or gauge.used + tokens * gauge.ratio + gauge.reserve > gauge.window
        ):
            return None
        is_cold = is_prompt_cache_cold(forked, policy, frame.info.label, self._runtime.clock())
        return ForkedRequest(
            with_cache_hints(ModelRequest(messages, window.request.tools), window, self._runtime),
            round(gauge.used + tokens * gauge.ratio),
            next_request_cost(window, gauge, forked, frame.info, is_cold).cached,
            offers_full,
        )

    async def _short_fork(
        self, model: Model, request: ModelRequest, question: str, offers_full: tuple[bool, ...]
    ) -> ForkedRequest | None:
        messages = request.messages
        newest_step = next(at for at in reversed(range(len(messages))) if messages[at].role == "assistant")
        user_message = next(at for at in reversed(range(newest_step)) if messages[at].role == "user")
        fork = (messages[0], messages[user_message], *messages[newest_step:], Message("user", question))
        texts = [part for message in fork for part in (message.text, *(c.arguments for c in message.calls))]
        tokens = sum(await self._runtime.counter.count(texts)) + self._runtime.frame.tools_tokens
        if request_validation.problems(fork) or tokens + model.info.reserve > model.info.window:
            return None
        return ForkedRequest(ModelRequest(fork, request.tools), tokens, 0, offers_full)


def not_asked_again(model: str) -> TranslatableText:
    """Return that a model with this label missed the deadline, and where the user can change that."""
    return _text(
        "{model} isn't asked again until Helix restarts, or you choose Try again in Settings → Model roles.",
        model=model,
    )


def _describe_output(held_output: HeldOutput, offers_full: bool) -> LargeOutput:
    output, lines = held_output.received.event, count_lines(held_output.received.text)
    return LargeOutput(
        output.name, output.target, output.digest, output.tokens, lines, offers_full, output.exit_code
    )
