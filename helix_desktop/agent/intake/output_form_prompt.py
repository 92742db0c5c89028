"""The form prompt: asks the model once per batch which forms it wants, in a forked request not recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from helix_desktop.agent.intake.intake import ReceivedOutput
from helix_desktop.agent.models.completion import CallBill, complete
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
from helix_desktop.context.window.request_cost import next_request_cost
from helix_desktop.context.window.usage_gauge import measure_usage
from helix_desktop.context.window.window import project
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.domain.text_format import count_lines
from helix_desktop.domain.translatable_text import TextContext

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

    `note` says to the user why none was made, `model_note` to the model.
    """

    choices: tuple[FormChoice, ...]
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
    """The prompt that asks the main model for the forms of large outputs."""

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime

    async def ask(self, batch: Sequence[HeldOutput], deadline: float, bill: CallBill) -> FormDecision:
        """Return a choice for each output by `deadline` (event loop time, in seconds); never raises.

        What asking costs is added to the bill.
        """
        default_choices = (FormChoice(),) * len(batch)
        fork = await self._fork(batch)
        if fork is None:
            return FormDecision(default_choices, note=_text("There was no room to ask the agent."))
        roles = self._runtime.roles
        started_at_ms = self._runtime.clock()

        def elapsed_ms() -> int:
            return self._runtime.elapsed_ms(started_at_ms)

        try:
            async with asyncio.timeout_at(deadline):
                answer = await complete(roles.main, fork.request, bill, fork.tokens, fork.cached_tokens)
        except TimeoutError:
            return FormDecision(
                default_choices,
                duration_ms=elapsed_ms(),
                note=_text("The agent didn't choose in time."),
                model_note=CHOICE_TOO_LATE,
                timed_out=True,
            )
        except HelixError as error:
            return FormDecision(
                default_choices, duration_ms=elapsed_ms(), note=error.what, model_note=CHOICE_FAILED
            )
        except Exception as error:
            log.warning("asking about large outputs failed unexpectedly", exc_info=True)
            return FormDecision(
                default_choices,
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
        return FormDecision(choices, elapsed_ms(), note, CHOICE_UNREADABLE)

    async def _fork(self, batch: Sequence[HeldOutput]) -> ForkedRequest | None:
        """Return the next request with previews as answers, plus the question; None if it does not fit."""
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


def _describe_output(held_output: HeldOutput, offers_full: bool) -> LargeOutput:
    output, lines = held_output.received.event, count_lines(held_output.received.text)
    return LargeOutput(
        output.name, output.target, output.digest, output.tokens, lines, offers_full, output.exit_code
    )
