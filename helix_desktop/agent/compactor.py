"""The compactor: a handover in three phases, during which the person and the agent go on."""

from __future__ import annotations

import asyncio

import msgspec

from helix_desktop.agent.draft import HandoverDraft
from helix_desktop.agent.ports import Clock, Counter
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.spend_approvals import Approve, SpendUnapproved, approved
from helix_desktop.agent.summariser import NO_MODEL, Summariser, Written
from helix_desktop.agent.update import CompactionMoved, Phase
from helix_desktop.context import planner, sweep
from helix_desktop.context.budget import Gauge, gauge
from helix_desktop.context.content import Content
from helix_desktop.context.cut import Cut
from helix_desktop.context.digest import digest_of, first_line
from helix_desktop.context.edited import markdown, read_edited
from helix_desktop.context.errors import CompactionRefused, SummaryRefused
from helix_desktop.context.event import Event, Recorded
from helix_desktop.context.event_rewrite import SweepMade
from helix_desktop.context.event_summary import HandoverFailed, HandoverMade, Section
from helix_desktop.context.extract import extract
from helix_desktop.context.handover import covered_by, fresh_in, parse, render
from helix_desktop.context.index import index_over
from helix_desktop.context.layout import Cover, Item
from helix_desktop.context.ledger import ledger_of
from helix_desktop.context.record import record_of
from helix_desktop.context.rewrite_kind import SweepReason, Trigger
from helix_desktop.context.spending import Estimate, Spending
from helix_desktop.context.summary import Brief, handover_brief
from helix_desktop.context.summary_check import accept_sections, input_of
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import project


class Reading(msgspec.Struct, frozen=True):
    """What the first phase saw: the messages to cover, the handover that held then, and the use before."""

    cut: Cut
    fresh: tuple[Item, ...]
    covered: tuple[Item, ...]
    covers: tuple[Cover, ...]
    masked: frozenset[int]
    former_seq: int
    former: HandoverMade | None
    gauge: Gauge


class Compactor:
    """Writes handovers of one session, one at a time."""

    def __init__(
        self,
        session: Session,
        counter: Counter,
        clock: Clock,
        prompt: str,
        settings: Settings,
        version: str = "",
    ) -> None:
        self._session, self._counter, self._clock = session, counter, clock
        self._prompt, self._version, self._settings = prompt, version, settings
        self._summariser = Summariser(session, counter, settings)
        self.running = False
        self.drafting = False
        self._approve: Approve = approved
        self._estimate: Estimate | None = None

    async def run(
        self,
        trigger: Trigger,
        cut: Cut,
        focus: str = "",
        ask_model: bool = True,
        threshold: float = 0.0,
        approve: Approve = approved,
    ) -> bool:
        """Make a handover of everything up to `cut`; whether it was made.

        `threshold` is the share of the context window at which it starts, 0 where that is not the trigger.
        A refusal is recorded with its reason and changes nothing. Cancelling records nothing, nor does what
        `approve` does not let begin.
        """
        if self.running:
            return False
        self.running, self._summariser.took, self._approve = True, Spending(), approve
        try:
            reading, made = await self._write(trigger, cut, focus, ask_model)
            made = msgspec.structs.replace(made, threshold=threshold)
            await self._record(made, reading.former_seq)
            return True
        except CompactionRefused as refused:
            took = self._summariser.took
            failed = HandoverFailed(refused.what, refused.why, took.tokens, took.cost)
            if isinstance(refused, SummaryRefused):
                failed = msgspec.structs.replace(failed, problem=refused.problem, refused=refused.text)
            await self._session.record(failed)
            return False
        except SpendUnapproved:
            return False
        finally:
            self.running, self._approve = False, approved
            self._show("idle")

    async def estimate(self, cut: Cut, focus: str = "") -> Estimate:
        """Return what a handover of everything up to `cut` will take. Raises CompactionRefused."""
        return await self._summariser.estimate(await self._brief(self._read(cut), focus))

    async def draft(self, cut: Cut, focus: str = "") -> HandoverDraft:
        """Write a handover of everything up to `cut` and record nothing.

        Raises CompactionRefused when it would not help, or when one is being written already.
        """
        if self.running or self.drafting:
            raise CompactionRefused("Already running.", "A handover is being written.", "Wait, or cancel.")
        self.drafting = True
        try:
            reading, made = await self._write(Trigger.MANUAL, cut, focus, ask_model=True)
            (counted, *_) = self._checked(made, reading.former_seq)
            assert isinstance(counted, HandoverMade)  # the event itself comes first
            return HandoverDraft(cut, markdown(made.sections), counted)
        finally:
            self.drafting = False
            self._show("idle")

    async def commit(self, draft: HandoverDraft, text: str | None = None) -> None:
        """Record a draft, with the person's own text if it was changed.

        Raises InputUnusable for a text that cannot be read, CompactionRefused when the history was changed
        meanwhile or the handover would not help any more.
        """
        made = draft.made
        if text is not None and text.strip() != draft.text.strip():
            covered = covered_by(self._session.transcript, draft.cut.upto, draft.cut.kept)
            sections = read_edited(text, frozenset(item.seq for item in covered))
            made = msgspec.structs.replace(made, sections=sections, edited=True)
            (tokens,) = await self._counter.count([render(made, ())])
            made = msgspec.structs.replace(made, tokens=tokens)
        self._show("write")
        try:
            await self._record(made, made.former)
        finally:
            self._show("idle")

    def _show(self, phase: Phase, text: str = "") -> None:
        self._estimate = self._estimate if phase in ("summarise", "check", "write") else None
        self._session.publish(CompactionMoved(phase, text, self._estimate))

    def _plan(self, estimate: Estimate) -> None:
        """Take in what the calls will take, before the first. Raises SpendUnapproved."""
        self._approve(estimate)
        self._estimate = estimate

    async def _write(
        self, trigger: Trigger, cut: Cut, focus: str, ask_model: bool
    ) -> tuple[Reading, HandoverMade]:
        """The first two phases: read, then ask with nothing locked."""
        began = self._clock()
        self._show("read")
        reading = self._read(cut)
        nearly_open = self._session.transcript.failures >= planner.BREAKER - 1
        last_try = trigger is Trigger.THRESHOLD and nearly_open  # before only the user can start one
        written = await self._summarise(reading, focus, ask_model, last_try)
        self._show("check")
        made = await self._made(reading, written)
        took = max(0, self._clock() - began)
        return reading, msgspec.structs.replace(made, trigger=trigger, focus=focus, duration_ms=took)

    def _read(self, cut: Cut) -> Reading:
        transcript = self._session.transcript
        policy, frame, _ = self._settings()
        now = gauge(project(transcript, policy, frame), transcript, policy, frame)
        if not planner.worth(transcript, policy, now, cut):
            raise CompactionRefused(
                "No handover was made.", "It would free less than it costs.", "Nothing has changed."
            )
        held = transcript.handover
        fresh = tuple(fresh_in(transcript, cut.upto, cut.kept))
        covered = tuple(covered_by(transcript, cut.upto, cut.kept))
        covers, masked = transcript.covers, frozenset(transcript.masked)
        former_seq, former = held or (0, None)
        return Reading(cut, fresh, covered, covers, masked, former_seq, former, now)

    async def _summarise(
        self, reading: Reading, focus: str, ask_model: bool, last_try: bool
    ) -> Written[tuple[Section, ...]]:
        """Ask the models; without one that can, take ledger and extracts.

        Raises SummaryRefused where what they wrote says too little, but on the last try.
        """
        failed: Written[tuple[Section, ...]] = Written(None)
        if ask_model:
            brief = await self._brief(reading, focus)
            known = frozenset(item.seq for item in reading.covered)
            source = await asyncio.to_thread(input_of, brief.record, reading.covered)
            failed = await self._summariser.ask(
                brief,
                lambda said: accept_sections(parse(said, known), source, said),
                lambda said: self._show("summarise", said),
                self._plan,
            )
            if failed.value is not None:
                return failed
            if failed.refused is not None and not last_try:
                raise failed.refused
        sections = await asyncio.to_thread(extract, reading.fresh, reading.former)
        return msgspec.structs.replace(failed, value=sections, model=NO_MODEL)

    async def _brief(self, reading: Reading, focus: str) -> Brief:
        record = await asyncio.to_thread(record_of, reading.fresh, reading.covers, reading.masked)
        return handover_brief(self._prompt, record, reading.former, focus)

    async def _made(self, reading: Reading, written: Written[tuple[Section, ...]]) -> HandoverMade:
        """The event without what is only known when it is recorded: its index, and the use after it."""
        policy, _, _ = self._settings()
        ledger = await asyncio.to_thread(ledger_of, reading.covered)
        made = HandoverMade(
            upto=reading.cut.upto,
            kept=reading.cut.kept,
            sections=written.value or (),
            ledger=ledger.text(policy.ledger_tokens),
            index=digest_of(b""),
            index_entries=0,
            tokens=0,
            before=reading.gauge.used,
            after=0,
            messages=len(reading.covered),
            model=written.model,
            trigger=Trigger.MANUAL,
            former=reading.former_seq,
            fallback=written.fallback,
            demo=written.demo,
            calls=written.calls,
            spent=written.spent,
            prompt=self._version if written.calls else "",
            cost=written.cost,
            refused=written.refused_text,
        )
        (tokens,) = await self._counter.count([render(made, ())])
        return msgspec.structs.replace(made, tokens=tokens)

    async def _record(self, made: HandoverMade, former: int) -> None:
        """Third phase: all is built beside the log, checked against it, and recorded in one piece."""
        self._show("write")
        text, entries = index_over(self._session.transcript, 0, made.upto, made.kept)
        index = text.encode("utf-8", "surrogatepass")
        (index_tokens,) = await self._counter.count([text])
        indexed = msgspec.structs.replace(made, index=digest_of(index), index_entries=entries)
        content = Content(
            indexed.index, index, "handover", f"e{made.upto}", first_line(text), index_tokens, "index"
        )
        await self._session.record_decided(lambda: self._checked(indexed, former), [content])

    def _checked(self, made: HandoverMade, former: int) -> tuple[Event, ...]:
        """The events to record, if the history still is what was read and the handover helps."""
        transcript = self._session.transcript
        policy, frame, _ = self._settings()
        held = transcript.handover
        if (held[0] if held else 0) != former:
            raise CompactionRefused(
                "No handover was made.", "The history was changed meanwhile.", "Nothing has changed."
            )
        twin = _with(transcript, made)
        swept = sweep.riding(twin, policy)
        events: tuple[Event, ...] = (made,)
        if swept is not None:
            riding = SweepMade(swept.masked, swept.saved, SweepReason.HANDOVER)
            events = (made, riding)
            twin.apply(Recorded(twin.last_seq + 1, twin.last_at, riding))
        before, after = project(transcript, policy, frame), project(twin, policy, frame)
        now, then = gauge(before, transcript, policy, frame), gauge(after, twin, policy, frame)
        freed = before.estimate - after.estimate
        if freed < max(1, frame.info.window * policy.handover_least_gain / now.ratio):
            raise CompactionRefused(
                "No handover was made.",
                f"It would free only {freed:,} tokens, less than "
                f"{policy.handover_least_gain:.0%} of the window.",
                "Nothing has changed.",
            )
        counted = msgspec.structs.replace(made, before=now.used, after=then.used)
        return (counted, *events[1:])


def _with(transcript: Transcript, made: HandoverMade) -> Transcript:
    twin = transcript.fork()
    twin.apply(Recorded(twin.last_seq + 1, twin.last_at, made))
    return twin
