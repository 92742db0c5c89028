"""The compactor: a handover in three phases, during which the person and the agent go on (CONTEXT.md 3.3)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports import Clock, Counter, Model
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.update import CompactionMoved, Phase
from helix_desktop.context import planner, sweep
from helix_desktop.context.budget import Gauge, gauge
from helix_desktop.context.content import Content
from helix_desktop.context.cut import Cut
from helix_desktop.context.digest import digest_of
from helix_desktop.context.errors import CompactionRefused, ModelError, ModelNonsense
from helix_desktop.context.event import (
    Event,
    HandoverFailed,
    HandoverMade,
    Recorded,
    Section,
    SweepMade,
    Trigger,
)
from helix_desktop.context.extract import extract
from helix_desktop.context.handover import covered_by, fresh_in, parse, render
from helix_desktop.context.index import index_over
from helix_desktop.context.layout import Item
from helix_desktop.context.ledger import ledger_of
from helix_desktop.context.message import Answer, Retrying, TextArrived
from helix_desktop.context.policy import Policy
from helix_desktop.context.summary import summary_request
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import Frame, project

NO_MODEL = "no model (ledger and extracts)"


class Reading(msgspec.Struct, frozen=True):
    """What the first phase saw: the messages to cover, the handover that held then, and the use before."""

    cut: Cut
    fresh: tuple[Item, ...]
    covered: tuple[Item, ...]
    former_seq: int
    former: HandoverMade | None
    gauge: Gauge


class Summary(msgspec.Struct, frozen=True):
    """What the second phase made, by whom, and why not by the model if so."""

    sections: tuple[Section, ...]
    model: str
    demo: bool = False
    fallback: str = ""


class Compactor:
    """Writes handovers of one session, one at a time."""

    def __init__(
        self,
        session: Session,
        counter: Counter,
        clock: Clock,
        prompt: str,
        settings: Settings,
    ) -> None:
        self._session, self._counter, self._clock = session, counter, clock
        self._prompt, self._settings = prompt, settings
        self.running = False

    async def run(self, trigger: Trigger, cut: Cut, focus: str = "", ask_model: bool = True) -> bool:
        """Make a handover of everything up to `cut`; whether it was made.

        A refusal is recorded with its reason and changes nothing. Cancelling records nothing.
        """
        if self.running:
            return False
        self.running = True
        began = self._clock()
        try:
            self._show("read")
            reading = self._read(cut)
            summary = await self._summarise(reading, focus, ask_model)
            self._show("check")
            return await self._write(reading, summary, trigger, focus, began)
        except CompactionRefused as refused:
            await self._session.record(HandoverFailed(refused.what, refused.why))
            return False
        finally:
            self.running = False
            self._show("idle")

    def _show(self, phase: Phase, text: str = "") -> None:
        self._session.publish(CompactionMoved(phase, text))

    def _read(self, cut: Cut) -> Reading:
        transcript = self._session.transcript
        policy, frame, _ = self._settings()
        now = gauge(project(transcript, policy, frame), transcript, policy, frame)
        if not planner.worth(transcript, policy, now, cut):
            raise CompactionRefused("No handover was made.", "It would free less than it costs.")
        held = transcript.handover
        fresh = tuple(fresh_in(transcript, cut.upto, cut.kept))
        covered = tuple(covered_by(transcript, cut.upto, cut.kept))
        return Reading(cut, fresh, covered, held[0] if held else 0, held[1] if held else None, now)

    async def _summarise(self, reading: Reading, focus: str, ask_model: bool) -> Summary:
        """Ask the model; without one, or when its answer is no use, take ledger and extracts."""
        _, frame, roles = self._settings()
        reason = ""
        if ask_model:
            try:
                sections = await self._asked(reading, focus, roles.summarising[0], frame)
                return Summary(sections, frame.info.label, frame.info.demo)
            except (ModelError, CompactionRefused) as error:
                reason = str(error)
        sections = await asyncio.to_thread(extract, reading.fresh, reading.former)
        return Summary(sections, NO_MODEL, fallback=reason)

    async def _asked(self, reading: Reading, focus: str, model: Model, frame: Frame) -> tuple[Section, ...]:
        room = int(frame.info.window * 0.8 / max(reading.gauge.ratio, 1.0)) - frame.info.reserve
        request = await asyncio.to_thread(
            summary_request, self._prompt, reading.fresh, reading.former, room, focus
        )
        self._show("summarise")
        said = ""
        async with aclosing(model.stream(request)) as arrivals:
            async for arrival in arrivals:
                match arrival:
                    case TextArrived(text=text):
                        said += text
                        self._show("summarise", said)
                    case Retrying():
                        said = ""
                    case Answer(text=text):
                        said = text
                    case _:
                        pass
        if not said.strip():
            raise ModelNonsense("The model sent no summary.")
        return parse(said, frozenset(item.seq for item in reading.covered))

    async def _write(
        self, reading: Reading, summary: Summary, trigger: Trigger, focus: str, began: int
    ) -> bool:
        """Third phase: everything is built beside the log, checked against it, and recorded in one piece."""
        policy, frame, _ = self._settings()
        text, entries = index_over(self._session.transcript, 0, reading.cut.upto, reading.cut.kept)
        ledger = await asyncio.to_thread(ledger_of, reading.covered)
        index = text.encode("utf-8", "surrogatepass")
        made = HandoverMade(
            upto=reading.cut.upto,
            kept=reading.cut.kept,
            sections=summary.sections,
            ledger=ledger.text(policy.ledger_tokens),
            index=digest_of(index),
            index_entries=entries,
            tokens=0,
            before=reading.gauge.used,
            after=0,
            messages=len(reading.covered),
            model=summary.model,
            trigger=trigger,
            former=reading.former_seq,
            fallback=summary.fallback,
            focus=focus,
            duration_ms=max(0, self._clock() - began),
            demo=summary.demo,
        )
        (tokens, index_tokens) = await self._counter.count([render(made, ()), text])
        made = msgspec.structs.replace(made, tokens=tokens)
        self._show("write")
        first_line = text.splitlines()[0][:60]
        content = Content(made.index, index, "handover", f"e{made.upto}", first_line, index_tokens, "index")
        await self._session.record_decided(lambda: self._checked(made, reading, policy, frame), [content])
        return True

    def _checked(
        self, made: HandoverMade, reading: Reading, policy: Policy, frame: Frame
    ) -> tuple[Event, ...]:
        """The events to record, if the history still is what was read and the handover helps."""
        transcript = self._session.transcript
        held = transcript.handover
        if (held[0] if held else 0) != reading.former_seq:
            raise CompactionRefused("No handover was made.", "The history was changed meanwhile.")
        twin = _with(transcript, made)
        swept = sweep.riding(twin, policy)
        events: tuple[Event, ...] = (made,)
        if swept is not None:
            riding = SweepMade(swept.masked, swept.saved, "handover")
            events = (made, riding)
            twin.apply(Recorded(twin.last_seq + 1, twin.last_at, riding))
        before = project(transcript, policy, frame).estimate
        after = project(twin, policy, frame).estimate
        if before - after < frame.info.window * policy.handover_least_gain / reading.gauge.ratio:
            raise CompactionRefused(
                "No handover was made.",
                f"It would free only {before - after:,} tokens, less than "
                f"{policy.handover_least_gain:.0%} of the window.",
            )
        ratio = reading.gauge.ratio
        counted = msgspec.structs.replace(made, before=round(before * ratio), after=round(after * ratio))
        return (counted, *events[1:])


def _with(transcript: Transcript, made: HandoverMade) -> Transcript:
    twin = transcript.fork()
    twin.apply(Recorded(twin.last_seq + 1, twin.last_at, made))
    return twin
