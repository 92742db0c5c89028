"""The intake gate: stores a large output at once, and records it in the form that the agent chooses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from helix_desktop.agent.intake.extractor import Extractor
from helix_desktop.agent.intake.intake import Intake, ReceivedOutput
from helix_desktop.agent.intake.output_form_prompt import (
    FormDecision,
    FormPrompt,
    HeldOutput,
    not_asked_again,
)
from helix_desktop.agent.models.completion import CallBill
from helix_desktop.agent.models.roles import SlowModels
from helix_desktop.agent.ports.model import Model
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import IntakeProgress
from helix_desktop.context.intake.output_form_choice import FormChoice, OutputSource
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.cost import Spending, unused_calls
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.conversation import OutputHeld, ToolAnswered
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, join_sentences

text = TextContext("Agent")

EXTRACT_TOO_LATE = "it was not ready in time"
EXTRACT_FAILED = "it could not be made"
_SHOWN_INSTRUCTIONS = 200  # characters of what the agent asked for
log = logging.getLogger(__name__)
replace = msgspec.structs.replace


class IntakeGate:
    """The recorder of one session's outputs: small ones as they come, large ones in a chosen form.

    A model that was not done by the policy's deadline is added to `slow_models`, and those are not asked.
    """

    def __init__(self, runtime: SessionRuntime, extractor: Extractor, slow_models: SlowModels) -> None:
        self._runtime, self._extractor, self._slow_models = runtime, extractor, slow_models
        self._intake, self._form_prompt = Intake(runtime.counter), FormPrompt(runtime)

    async def receive(self, received: ReceivedOutput, batch: list[HeldOutput]) -> None:
        """Record an output, or store a large one and add it to `batch` with a preview as the default."""
        policy, frame = self._runtime.policy, self._runtime.frame
        output = received.event
        contents = received.contents
        if self._intake.needs_choice(received, policy, frame.info.window):
            output = await self._intake.as_preview(received, policy)
            if _should_ask(policy) and self._choice_model() is None:
                output = self._without_question(output)
            elif _should_ask(policy):
                batch.append(HeldOutput(received, output))
                await self._runtime.session.record(OutputHeld(output), contents=contents)
                return
        await self._runtime.session.record(
            output, contents=contents, recalls=[] if contents else [output.digest]
        )

    async def record_batch(self, batch: Sequence[HeldOutput]) -> None:
        """Ask a model for the forms of a batch and record them, by the policy's deadline.

        On any error, each output is recorded as a preview. Canceling records only what the calls cost:
        ending the turn then records the held previews.
        """
        if not batch:
            return
        deadline = asyncio.get_running_loop().time() + self._runtime.policy.intake_deadline_s
        positions = {call: position for position, call in enumerate(self._runtime.transcript.open_calls)}
        ordered = sorted(batch, key=lambda output: positions.get(output.preview.call_id, 0))
        bills = [CallBill(self._runtime.counter) for _ in ordered]
        model = self._choice_model()
        if model is None:  # another batch was too late since these outputs were held
            await self._runtime.session.record(
                *(self._without_question(output.preview) for output in ordered)
            )
            return
        try:
            self._publish_phase("ask", ordered)
            decision = await self._form_prompt.ask(model, ordered, deadline, bills[0])
            if decision.timed_out:
                self._slow_models.add(decision.model, self._runtime.policy.intake_deadline_s)
            compact = [
                output
                for output, choice in zip(ordered, decision.choices, strict=True)
                if choice.form == "compact"
            ]
            if compact:
                self._publish_phase("extract", compact)
            answers = await self._apply_forms(ordered, decision, deadline, bills)
        except asyncio.CancelledError:
            await self._record_unused(sum((bill.spent for bill in bills), Spending()))
            raise
        finally:
            self._runtime.session.publish(IntakeProgress("idle"))
        await self._runtime.session.record(*answers)

    async def _record_unused(self, spent: Spending) -> None:
        if spent.tokens:
            with suppress(StoreError):  # the turn ends, and says what is wrong with the disk
                unused = unused_calls(spent)
                await self._runtime.session.record(unused)

    def _is_slow(self, model: Model) -> bool:
        return self._slow_models.is_slow(model.info.label, self._runtime.policy.intake_deadline_s)

    def _choice_model(self) -> Model | None:
        """Return the model to ask for the forms: the main one, the fast one if that is slow, or None."""
        models = self._runtime.roles.choice_models
        return next((model for model in models if not self._is_slow(model)), None)

    def _without_question(self, preview: ToolAnswered) -> ToolAnswered:
        return replace(preview, intake_slow_model=self._runtime.roles.main.info.label)

    def _publish_phase(self, phase: Literal["ask", "extract"], batch: Sequence[HeldOutput]) -> None:
        call_ids = tuple(output.preview.call_id for output in batch)
        self._runtime.session.publish(IntakeProgress(phase, call_ids))

    async def _apply_forms(
        self,
        batch: Sequence[HeldOutput],
        decision: FormDecision,
        deadline: float,
        bills: Sequence[CallBill],
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
        started_at_ms = self._runtime.clock()
        output = await self._extract(held_output, choice.instructions, decision, deadline, bill)
        if output.form != "compact":
            late = output.chosen == "timeout"
            note = extract_note(choice.instructions, EXTRACT_TOO_LATE if late else EXTRACT_FAILED)
            output = await self._with_model_note(output, note)
        return replace(output, asked=choice.instructions, intake_ms=self._runtime.elapsed_ms(started_at_ms))

    async def _with_model_note(self, preview: ToolAnswered, reason: str) -> ToolAnswered:
        """Return a preview that says at its end why it is not in the form that the model chose."""
        if not reason:
            return preview
        note = f"\n[{reason}]"
        tokens = preview.tokens + await self._runtime.count_tokens(note)
        return replace(preview, text=preview.text + note, tokens=tokens)

    async def _extract(
        self,
        held_output: HeldOutput,
        instructions: str,
        decision: FormDecision,
        deadline: float,
        bill: CallBill,
    ) -> ToolAnswered:
        """Return the extract, or the preview with the reason why there is none."""
        source = OutputSource.from_answer(
            held_output.received.event, held_output.received.text, held_output.received.full_tokens
        )
        try:
            async with asyncio.timeout_at(deadline):
                extract = await self._extractor.extract(source, instructions, bill, self._is_slow)
        except TimeoutError:
            deadline_s = self._runtime.policy.intake_deadline_s
            took_most = decision.duration_ms * 2 > deadline_s * 1_000
            slow_model = decision.model if took_most else bill.model or decision.model
            self._slow_models.add(slow_model, deadline_s)
            late = text("The extract wasn't ready within {seconds} s.", seconds=deadline_s)
            note = join_sentences(late, not_asked_again(slow_model))
            return replace(held_output.preview, chosen="timeout", intake_note=note)
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
    """Return True if the agent is asked."""
    return policy.intake_ask and policy.intake_above > 0 and policy.intake_deadline_s > 0
