"""The intake's gate: a large output is stored at once, and committed in the form that the agent chooses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Literal

import msgspec

from helix_desktop.agent.extractor import Extractor
from helix_desktop.agent.intake import Intake, Taken
from helix_desktop.agent.intake_question import Chosen, IntakeQuestion, Waiting
from helix_desktop.agent.ports import Clock
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.update import IntakeMoved
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event import OutputHeld, ToolAnswered
from helix_desktop.context.extraction import Source
from helix_desktop.context.intake_choice import Choice
from helix_desktop.context.policy import Policy

log = logging.getLogger(__name__)
replace = msgspec.structs.replace


class IntakeGate:
    """Records the outputs of one session's calls: small ones as they come, large ones in a chosen form."""

    def __init__(
        self,
        session: Session,
        intake: Intake,
        question: IntakeQuestion,
        extractor: Extractor,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._session, self._intake, self._question = session, intake, question
        self._extractor, self._clock, self._settings = extractor, clock, settings

    async def arrived(self, taken: Taken, batch: list[Waiting]) -> None:
        """Record an output, or add a large one to `batch`: stored, its preview ready for want of a choice."""
        policy, frame, _ = self._settings()
        answer = taken.answer
        contents = taken.contents
        if self._intake.gated(taken, policy, frame.info.window):
            answer = await self._intake.previewed(taken, policy)
            if _asks(policy, frame.info.demo):
                batch.append(Waiting(taken, answer))
                await self._session.record(OutputHeld(answer), contents=contents)
                return
        await self._session.record(answer, contents=contents, recalls=[] if contents else [answer.digest])

    async def settle(self, batch: Sequence[Waiting]) -> None:
        """Let the agent choose the forms of a batch and record them, within the policy's deadline.

        Whatever goes wrong, each output is recorded, as a preview at least. Being cancelled records nothing:
        whoever ends the turn does it, from what was held.
        """
        if not batch:
            return
        policy, _, _ = self._settings()
        deadline = asyncio.get_running_loop().time() + policy.intake_deadline_s
        places = {call: place for place, call in enumerate(self._session.transcript.open_calls)}
        ordered = sorted(batch, key=lambda one: places.get(one.preview.call_id, 0))
        try:
            self._show("ask", ordered)
            chosen = await self._question.ask(ordered, deadline)
            compact = [
                one for one, choice in zip(ordered, chosen.choices, strict=True) if choice.form == "compact"
            ]
            if compact:
                self._show("extract", compact)
            answers = await self._formed(ordered, chosen, deadline)
        finally:
            self._session.publish(IntakeMoved("idle"))
        await self._session.record(*answers)

    def _show(self, phase: Literal["ask", "extract"], batch: Sequence[Waiting]) -> None:
        self._session.publish(IntakeMoved(phase, tuple(one.preview.call_id for one in batch)))

    async def _formed(self, batch: Sequence[Waiting], chosen: Chosen, deadline: float) -> list[ToolAnswered]:
        """The answers in their chosen forms, extracted side by side; the first bears the question's cost."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._form(one, choice, chosen, deadline))
                for one, choice in zip(batch, chosen.choices, strict=True)
            ]
        first, *others = [task.result() for task in tasks]
        first = replace(
            first,
            intake_tokens=first.intake_tokens + chosen.tokens,
            intake_cached=first.intake_cached + chosen.cached,
            intake_ms=first.intake_ms + chosen.ms,
            intake_cost=first.intake_cost + chosen.cost,
        )
        return [first, *others]

    async def _form(self, one: Waiting, choice: Choice, chosen: Chosen, deadline: float) -> ToolAnswered:
        if not choice.chosen:
            return replace(one.preview, chosen="timeout" if chosen.late else "rule", intake_note=chosen.note)
        match choice.form:
            case "full":
                return replace(one.taken.answer, chosen="agent")
            case "preview":
                return replace(one.preview, chosen="agent")
        began = self._clock()
        answer = await self._compact(one, choice.asked, deadline)
        return replace(answer, asked=choice.asked, intake_ms=max(0, self._clock() - began))

    async def _compact(self, one: Waiting, asked: str, deadline: float) -> ToolAnswered:
        """The extract, or the preview with the reason why there is none."""
        source = Source.of(one.taken.answer, one.taken.text, one.taken.full_tokens)
        try:
            async with asyncio.timeout_at(deadline):
                made = await self._extractor.extract(source, asked)
        except TimeoutError:
            note = "The extract was not there in time."
            return replace(one.preview, chosen="timeout", intake_note=note, intake_tokens=source.tokens)
        except HelixError as error:
            return replace(one.preview, intake_note=str(error))
        except Exception as error:
            log.warning("an extraction failed unexpectedly", exc_info=True)
            return replace(one.preview, intake_note=f"{type(error).__name__}: {error}")
        answer = replace(
            one.preview,
            intake_tokens=made.spent,
            intake_cached=made.cached,
            intake_model=made.model,
            intake_note=made.refused or made.fallback,
            intake_cost=made.cost,
        )
        if made.refused:
            return answer
        return replace(answer, text=made.text, tokens=made.tokens, form="compact", chosen="agent")


def _asks(policy: Policy, demo: bool) -> bool:
    """Whether the agent is asked at all; the offline demo answers from a script and cannot choose."""
    return policy.intake_ask and policy.intake_above > 0 and policy.intake_deadline_s > 0 and not demo
