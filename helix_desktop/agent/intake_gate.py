"""Asking the agent which form a large output enters the context in, within a deadline."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.chosen_forms import Extractor
from helix_desktop.agent.intake import Intake, ReceivedOutput
from helix_desktop.agent.model_roles import CallBill, SlowModels, complete
from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import IntakeProgress, Session, with_cache_hints
from helix_desktop.context.intake.output_forms import (
    FormChoice,
    LargeOutput,
    OutputSource,
    form_question,
    max_extract_words,
    offer_full_form,
    parse_choices,
)
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites.caching import PROVIDER_CACHED_PRICE
from helix_desktop.context.rewrites.sweep_plans import is_prompt_cache_cold
from helix_desktop.context.window import request_validation
from helix_desktop.context.window.provider_cache import next_request_cost
from helix_desktop.context.window.used_tokens import measure_usage
from helix_desktop.context.window.window import project
from helix_desktop.domain.cost import Spending, unused_calls
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.conversation import OutputHeld, ToolAnswered
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.domain.text_format import count_lines, ellipsize
from helix_desktop.domain.translatable_text import TextContext, join_sentences

_text = TextContext("Agent")

log = logging.getLogger(__name__)

_QUESTION = "You were asked whether this output stays as a preview"  # in a question that no later request has
CHOICE_TOO_LATE = f"{_QUESTION}; the answer came too late, so it does."
CHOICE_FAILED = f"{_QUESTION}; asking failed, so it does."
CHOICE_UNREADABLE = f"{_QUESTION}; the answer named no form for it, so it does."


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

    @property
    def price(self) -> float:
        """What asking costs, in uncached input tokens."""
        return self.tokens - (1 - PROVIDER_CACHED_PRICE) * self.cached_tokens


class FormPrompt:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def ask(
        self, model: Model, batch: Sequence[HeldOutput], deadline: float, bill: CallBill
    ) -> FormDecision:
        """Return a choice for each output by `deadline` (event loop time, in seconds); never raises.

        What asking costs is added to the bill. It isn't asked where that is more than the outputs themselves.
        """
        default_choices = (FormChoice(),) * len(batch)
        label = model.info.label
        fork = await self._fork(model, batch)
        if fork is None:
            return FormDecision(
                default_choices, label, note=_text("There was no room to ask the agent which part to send.")
            )
        if fork.price > sum(output.extra_tokens for output in batch) * self._session.frame.ratio:
            return FormDecision(default_choices, label)
        started_at_ms = self._session.clock()

        def elapsed_ms() -> int:
            return self._session.elapsed_ms(started_at_ms)

        try:
            async with asyncio.timeout_at(deadline):
                answer = await complete(model, fork.request, bill, fork.tokens, fork.cached_tokens)
        except TimeoutError:
            seconds = self._session.policy.intake_deadline_s
            late = _text(
                "{model} didn't say within {seconds} s which part to send.", model=label, seconds=seconds
            )
            return FormDecision(
                default_choices,
                label,
                duration_ms=elapsed_ms(),
                note=late,
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
            else _text("The agent didn't say which part to send.")
        )
        return FormDecision(choices, label, elapsed_ms(), note, CHOICE_UNREADABLE)

    async def _fork(self, model: Model, batch: Sequence[HeldOutput]) -> ForkedRequest | None:
        """Return the next request with previews as answers, plus the question; None if it does not fit.

        Or the system prompt, the newest user message and the newest step of it, where that costs less: to
        another model than the main one, and where the provider has little of the rest in its cache.
        """
        policy = self._session.policy
        frame = self._session.frame
        forked = self._session.transcript.fork_with(*(output.preview for output in batch))
        window = project(forked, policy, frame)
        gauge = measure_usage(window, forked, policy, frame)
        available_tokens = int((gauge.handover_threshold - gauge.used) / gauge.ratio)
        free_tokens = available_tokens - 1
        offers_full = offer_full_form([output.extra_tokens for output in batch], free_tokens)
        largest = max(output.received.full_tokens for output in batch)
        text = form_question(
            self._session.prompts["intake"],
            [
                LargeOutput(held.received.event, count_lines(held.received.text), is_offered)
                for held, is_offered in zip(batch, offers_full, strict=True)
            ],
            free_tokens,
            max_extract_words(policy.preview_tokens, largest),
            policy.intake_deadline_s,
        )
        if model is not self._session.roles.main:
            return await self._short_fork(model, window.request, text, offers_full)
        is_cold = is_prompt_cache_cold(forked, policy, frame.info.label, self._session.clock())
        cached = next_request_cost(window, gauge, forked, frame.info, is_cold).cached
        short = await self._short_fork(model, window.request, text, offers_full, cached)
        tokens = round(gauge.used + await self._session.count_tokens(text) * gauge.ratio)
        messages = (*window.request.messages, Message("user", text))
        if request_validation.problems(messages) or tokens + gauge.reserve > gauge.model_window:
            return short
        request = with_cache_hints(ModelRequest(messages, window.request.tools), window, self._session)
        whole = ForkedRequest(request, tokens, cached, offers_full)
        if short is None or len(short.request.messages) == len(messages):
            return whole
        return min(whole, short, key=lambda fork: fork.price)

    async def _short_fork(
        self,
        model: Model,
        request: ModelRequest,
        question: str,
        offers_full: tuple[bool, ...],
        cached: int = 0,
    ) -> ForkedRequest | None:
        """Return the request without what lies before the newest step, but the user's newest message.

        `cached` are the tokens that the provider has of the whole one.
        """
        messages = request.messages
        newest_step = next(at for at in reversed(range(len(messages))) if messages[at].role == "assistant")
        user_message = next(at for at in reversed(range(newest_step)) if messages[at].role == "user")
        fork = (messages[0], messages[user_message], *messages[newest_step:], Message("user", question))
        texts = [part for message in fork for part in (message.text, *(c.arguments for c in message.calls))]
        frame = self._session.frame
        tokens = round((sum(await self._session.counter.count(texts)) + frame.tools_tokens) * frame.ratio)
        if request_validation.problems(fork) or tokens + model.info.reserve > model.info.window:
            return None
        cached = min(cached, round(frame.fixed_tokens * frame.ratio))
        return ForkedRequest(ModelRequest(fork, request.tools), tokens, cached, offers_full)


EXTRACT_TOO_LATE = "it was not ready in time"
EXTRACT_FAILED = "it could not be made"
_SHOWN_INSTRUCTIONS = 200  # characters of what the agent asked for


class IntakeGate:
    """The recorder of one session's outputs: small ones as they come, large ones in a chosen form.

    A model that was not done by the policy's deadline is added to `slow_models`, and those are not asked.
    """

    def __init__(self, session: Session, extractor: Extractor, slow_models: SlowModels) -> None:
        self._session = session
        self._extractor = extractor
        self._slow_models = slow_models
        self._intake = Intake(session.counter)
        self._form_prompt = FormPrompt(session)

    async def receive(self, received: ReceivedOutput, batch: list[HeldOutput]) -> None:
        """Record an output, or store a large one and add it to `batch` with a preview as the default."""
        policy = self._session.policy
        frame = self._session.frame
        output = received.event
        contents = received.contents
        if self._intake.needs_choice(received, self._session.transcript, policy, frame):
            output = await self._intake.as_preview(received, policy)
            if _should_ask(policy) and self._choice_model() is None:
                output = self._without_question(output)
            elif _should_ask(policy):
                batch.append(HeldOutput(received, output))
                await self._session.record(OutputHeld(output), contents=contents)
                return
        await self._session.record(output, contents=contents, recalls=[] if contents else [output.digest])

    async def record_batch(self, batch: Sequence[HeldOutput]) -> None:
        """Ask a model for the forms of a batch and record them, by the policy's deadline.

        On any error, each output is recorded as a preview. Canceling records only what the calls cost:
        ending the turn then records the held previews.
        """
        if not batch:
            return
        deadline = asyncio.get_running_loop().time() + self._session.policy.intake_deadline_s
        positions = {call: position for position, call in enumerate(self._session.transcript.open_calls)}
        ordered = sorted(batch, key=lambda output: positions.get(output.preview.call_id, 0))
        bills = [CallBill(self._session.counter) for _ in ordered]
        model = self._choice_model()
        if model is None:  # another batch was too late since these outputs were held
            await self._session.record(*(self._without_question(output.preview) for output in ordered))
            return
        try:
            self._publish_progress(ordered)
            decision = await self._form_prompt.ask(model, ordered, deadline, bills[0])
            if decision.timed_out:
                self._slow_models.add(decision.model, self._session.policy.intake_deadline_s)
            compact = [
                output
                for output, choice in zip(ordered, decision.choices, strict=True)
                if choice.form == "compact"
            ]
            if compact:
                self._publish_progress(compact)
            answers = await self._apply_forms(ordered, decision, deadline, bills)
        except asyncio.CancelledError:
            spent = sum((bill.spent for bill in bills), Spending())
            if spent.tokens:
                with suppress(StoreError):  # the turn ends, and says what is wrong with the disk
                    await self._session.record(unused_calls(spent))
            raise
        finally:
            self._session.publish(IntakeProgress())
        await self._session.record(*answers)

    def _is_slow(self, model: Model) -> bool:
        return self._slow_models.is_slow(model.info.label, self._session.policy.intake_deadline_s)

    def _choice_model(self) -> Model | None:
        """Return the model to ask for the forms: the main one, the fast one if that is slow, or None."""
        models = self._session.roles.choice_models
        return next((model for model in models if not self._is_slow(model)), None)

    def _without_question(self, preview: ToolAnswered) -> ToolAnswered:
        return replace(preview, intake_slow_model=self._session.roles.main.info.label)

    def _publish_progress(self, batch: Sequence[HeldOutput]) -> None:
        self._session.publish(IntakeProgress(tuple(output.preview.call_id for output in batch)))

    async def _apply_forms(
        self, batch: Sequence[HeldOutput], decision: FormDecision, deadline: float, bills: Sequence[CallBill]
    ) -> list[ToolAnswered]:
        """Return the answers in the chosen forms, extracts in parallel; the first bears the prompt's cost."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._apply_form(output, choice, decision, deadline, bill))
                for output, choice, bill in zip(batch, decision.choices, bills, strict=True)
            ]
        first, *others = [
            _with_cost(task.result(), bill.spent) for task, bill in zip(tasks, bills, strict=True)
        ]
        return [replace(first, intake_ms=first.intake_ms + decision.duration_ms), *others]

    async def _apply_form(
        self,
        held_output: HeldOutput,
        choice: FormChoice,
        decision: FormDecision,
        deadline: float,
        bill: CallBill,
    ) -> ToolAnswered:
        if not choice.is_chosen_by_model:
            preview = replace(
                held_output.preview,
                chosen="timeout" if decision.timed_out else "rule",
                intake_note=decision.note,
            )
            return await self._with_model_note(preview, decision.model_note)
        match choice.form:
            case "full":
                return replace(held_output.received.event, chosen="agent")
            case "preview":
                return replace(held_output.preview, chosen="agent")
        started_at_ms = self._session.clock()
        output = await self._extract(held_output, choice.instructions, decision, deadline, bill)
        if output.form != "compact":
            late = output.chosen == "timeout"
            note = extract_note(choice.instructions, EXTRACT_TOO_LATE if late else EXTRACT_FAILED)
            output = await self._with_model_note(output, note)
        return replace(output, asked=choice.instructions, intake_ms=self._session.elapsed_ms(started_at_ms))

    async def _with_model_note(self, preview: ToolAnswered, reason: str) -> ToolAnswered:
        if not reason:
            return preview
        note = f"\n[{reason}]"
        tokens = preview.tokens + await self._session.count_tokens(note)
        return replace(preview, text=preview.text + note, tokens=tokens)

    async def _extract(
        self,
        held_output: HeldOutput,
        instructions: str,
        decision: FormDecision,
        deadline: float,
        bill: CallBill,
    ) -> ToolAnswered:
        """Return the extract, or the preview with the reason why there is none.

        A model that took most of the time to choose would be late with the longer extract: it isn't asked.
        """
        source = OutputSource.from_answer(
            held_output.received.event, held_output.received.text, held_output.received.full_tokens
        )
        deadline_s = self._session.policy.intake_deadline_s
        models = self._session.roles.extraction_models
        took_most = decision.duration_ms * 2 > deadline_s * 1_000
        model = next((model for model in models if not self._is_slow(model)), models[0])
        is_given_up = took_most and model.info.label == decision.model
        try:
            if is_given_up:
                raise TimeoutError
            async with asyncio.timeout_at(deadline):
                extract = await self._extractor.extract(source, instructions, bill, self._is_slow)
        except TimeoutError:
            slow_model = decision.model if took_most else bill.model or decision.model
            self._slow_models.add(slow_model, deadline_s)
            late = _text(
                "The part that the agent asked for wasn't ready in time: {model} was too slow.",
                model=slow_model,
            )
            return replace(held_output.preview, chosen="timeout", intake_note=late)
        except HelixError as error:
            note = join_sentences(error.what, error.why, error.details, error.fix)
            return replace(held_output.preview, intake_note=note)
        except Exception as error:
            log.warning("an extraction failed unexpectedly", exc_info=True)
            return replace(held_output.preview, intake_note=f"{type(error).__name__}: {error}")
        output = replace(
            held_output.preview,
            intake_model=extract.model,
            intake_note=extract.rejection or extract.fallback_reason,
        )
        if extract.rejection:
            return output
        return replace(output, text=extract.text, tokens=extract.tokens, form="compact", chosen="agent")


def _with_cost(output: ToolAnswered, spent: Spending) -> ToolAnswered:
    return replace(
        output,
        intake_tokens=spent.tokens,
        intake_cached=spent.cached,
        intake_cost=spent.cost,
        intake_estimated=spent.estimated,
        intake_unpriced=spent.unpriced if spent.tokens else None,
    )


def extract_note(instructions: str, reason: str) -> str:
    """Return why a preview stands where the agent asked for an extract, which no later request shows."""
    return (
        f"You asked for an extract of this output ({ellipsize(instructions, _SHOWN_INSTRUCTIONS)}); {reason}."
    )


def _should_ask(policy: ContextPolicy) -> bool:
    return policy.intake_ask and policy.intake_above > 0 and policy.intake_deadline_s > 0
