"""The observer: distils old history out of band, in three phases like a handover's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.ports import Clock, TokenCounter
from helix_desktop.agent.session import Session
from helix_desktop.agent.spend_approvals import ApproveSpending, SpendNotApproved, approve_any
from helix_desktop.agent.updates import ObservationProgress, Phase
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.agent.window.summarizer import NO_MODEL, Summarizer, SummaryResult
from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import observation, observation_task
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.handover import user_text_budget
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.context.summaries.summary_check import accept_observations, reflection_input, summary_input
from helix_desktop.context.summaries.transcript_lines import transcript_lines
from helix_desktop.domain.cost import CostEstimate, Spending
from helix_desktop.domain.digest import digest_of, first_line
from helix_desktop.domain.errors import CompactionRefused, SummaryRefused
from helix_desktop.domain.events.rewrite_kinds import PlacementReason
from helix_desktop.domain.events.session import Event
from helix_desktop.domain.events.summary import Observation, ObservationsFailed, ObservationsMade
from helix_desktop.domain.store.entries import Content


class ObservationInput(msgspec.Struct, frozen=True):
    """What the first phase saw: the stretch, its messages, what stood for some of them, what was known."""

    stretch: EventRange
    items: tuple[LogItem, ...]
    covers: tuple[Cover, ...]
    masked: frozenset[int]
    generations: tuple[ObservationsMade, ...]


class Observer:
    """Makes the observations and reflections of one session, one at a time; they are inert until placed."""

    def __init__(
        self,
        session: Session,
        counter: TokenCounter,
        clock: Clock,
        rewriter: WindowRewriter,
        prompts: Mapping[str, str],
        versions: Mapping[str, str],
        settings: RunSettingsSource,
    ) -> None:
        """Uses the prompts `observe` and `reflect`, and what events call them."""
        self._session, self._counter, self._clock = session, counter, clock
        self._rewriter, self._settings = rewriter, settings
        self._prompts, self._versions = prompts, versions
        self._summarizer = Summarizer(session, counter, settings)
        self._approve: ApproveSpending = approve_any
        self._estimate: CostEstimate | None = None

    def find_due(self) -> EventRange | None:
        """The stretch to observe or to refine now, if any."""
        policy, _, _ = self._settings()
        _, now = self._rewriter.measure()
        return planner.observation_due(self._session.transcript, policy, now, self._clock())

    def find_possible(self) -> EventRange | None:
        """The stretch that a person can have observed or refined now, if any."""
        transcript = self._session.transcript
        return observation.observable_range(transcript) or observation.refinable_range(transcript)

    async def run(
        self, stretch: EventRange | None, is_manual: bool = False, approve: ApproveSpending = approve_any
    ) -> bool:
        """Observe or refine a stretch; whether that was done. Without one, only place what waits.

        A refusal is recorded with its reason and changes nothing. Cancelling records nothing, nor does what
        `approve` does not let begin. What a person asks for is put in place at once, and never fails for want
        of a model: then it is extracted.
        """
        made = observation.pending_observations(self._session.transcript)
        if stretch is not None:
            self._approve = approve
            made = await self._try(stretch, is_manual)
        if made is not None and is_manual:
            await self._rewriter.place_observations(made, PlacementReason.MANUAL)
        return made is not None

    async def _try(self, stretch: EventRange, is_manual: bool) -> int | None:
        self._rewriter.observing_range, self._summarizer.spent = stretch, Spending()
        try:
            return await self._distill(stretch, is_manual)
        except CompactionRefused as refused:
            took = self._summarizer.spent
            failed = ObservationsFailed(refused.what, refused.why, took.tokens, took.cost)
            if isinstance(refused, SummaryRefused):
                failed = msgspec.structs.replace(failed, problem=refused.problem, refused=refused.text)
            await self._session.record(failed)
            return None
        except SpendNotApproved:
            return None
        finally:
            self._rewriter.observing_range, self._approve = None, approve_any
            self._publish_phase("idle")

    async def _distill(self, stretch: EventRange, is_manual: bool) -> int:
        began = self._clock()
        self._publish_phase("read")
        reading = self._read_input(stretch)
        written = await self._summarize(reading)
        if written.value is None:
            written = await self._extract_fallback(reading, written, is_manual)
        self._publish_phase("check")
        made = await self._build_event(reading, written)
        took = max(0, self._clock() - began)
        self._publish_phase("write")
        return await self._record(msgspec.structs.replace(made, duration_ms=took))

    def _publish_phase(self, phase: Phase, text: str = "") -> None:
        self._estimate = self._estimate if phase in ("summarise", "check", "write") else None
        self._session.publish(ObservationProgress(phase, text, self._estimate))

    def _on_estimate(self, estimate: CostEstimate) -> None:
        """Take in what the calls will take, before the first. Raises SpendUnapproved."""
        self._approve(estimate)
        self._estimate = estimate

    def _read_input(self, stretch: EventRange) -> ObservationInput:
        transcript = self._session.transcript
        every = [one for one in transcript.covers if isinstance(one.event, ObservationsMade)]
        wanted = [one for one in every if not stretch.replaces or one.seq in stretch.replaces]
        return ObservationInput(
            stretch,
            tuple(transcript.between(stretch.after, stretch.upto)),
            transcript.covers,
            frozenset(transcript.masked),
            tuple(one.event for one in wanted if isinstance(one.event, ObservationsMade)),
        )

    async def _summarize(self, source_input: ObservationInput) -> SummaryResult[tuple[Observation, ...]]:
        if source_input.stretch.replaces:
            brief = observation_task.reflection_task(self._prompts["reflect"], source_input.generations)
            source = reflection_input(source_input.generations, source_input.items)
        else:
            record = await asyncio.to_thread(
                transcript_lines, source_input.items, source_input.covers, source_input.masked
            )
            brief = observation_task.observation_task(
                self._prompts["observe"], record, source_input.generations
            )
            source = await asyncio.to_thread(summary_input, record, source_input.items, for_observations=True)
        return await self._summarizer.summarize(
            brief,
            lambda said: accept_observations(
                observation_task.parse_observations(said, source_input.items), source, said
            ),
            lambda said: self._publish_phase("summarise", said),
            self._on_estimate,
        )

    async def _extract_fallback(
        self, source_input: ObservationInput, failed: SummaryResult[tuple[Observation, ...]], is_manual: bool
    ) -> SummaryResult[tuple[Observation, ...]]:
        """What can be said without a model; only the last try before the breaker opens does. Raises else."""
        last_try = (
            not is_manual and self._session.transcript.observation_failures >= planner.BREAKER_FAILURES - 1
        )
        if failed.rejection is not None and not last_try:
            raise failed.rejection
        if not is_manual and not last_try:
            raise CompactionRefused("The observations were not written.", failed.fallback_reason)
        if source_input.stretch.replaces:
            found = await asyncio.to_thread(observation_task.merge_observations, source_input.generations)
        else:
            found = await asyncio.to_thread(observation_task.extract_observations, source_input.items)
        return msgspec.structs.replace(failed, value=found, model=NO_MODEL)

    async def _build_event(
        self, source_input: ObservationInput, summary: SummaryResult[tuple[Observation, ...]]
    ) -> ObservationsMade:
        """The event without its index."""
        policy, frame, _ = self._settings()
        stretch = source_input.stretch
        room = user_text_budget(policy.user_text_tokens, frame.info.window)
        if not stretch.replaces:
            room -= self._already_quoted_tokens(source_input.generations)
        ledger = await asyncio.to_thread(build_ledger, source_input.items)
        prompt = self._versions.get("reflect" if stretch.replaces else "observe", "")
        return ObservationsMade(
            after=stretch.after,
            upto=stretch.upto,
            observations=summary.value or (),
            quoted=observation_task.verbatim_seqs(source_input.items, room),
            ledger=ledger.text(policy.ledger_tokens),
            index=digest_of(b""),
            index_entries=0,
            tokens=0,
            before=0,
            messages=len(source_input.items),
            model=summary.model,
            reflection=bool(stretch.replaces),
            replaces=stretch.replaces,
            fallback=summary.fallback_reason,
            demo=summary.is_demo,
            calls=summary.calls,
            spent=summary.spent_tokens,
            prompt=prompt if summary.calls else "",
            cost=summary.cost,
            refused=summary.rejected_text,
        )

    def _already_quoted_tokens(self, generations: Sequence[ObservationsMade]) -> int:
        """Tokens of the person's words that observations in place keep already."""
        found = (self._session.transcript.item(seq) for made in generations for seq in made.quoted)
        return sum(item.word_tokens for item in found if item is not None)

    async def _record(self, event: ObservationsMade) -> int:
        """Third phase: index and count are built beside the log; recorded if what was read still holds."""
        transcript = self._session.transcript
        text, entries = build_index_entry(transcript, event.after, event.upto)
        index = text.encode("utf-8", "surrogatepass")
        event = msgspec.structs.replace(event, index=digest_of(index), index_entries=entries)
        rendered = observation.render_generation(event, transcript)
        tokens, index_tokens = await self._counter.count([rendered, text])
        event = msgspec.structs.replace(event, tokens=tokens)
        named, head = f"e{event.after + 1}-e{event.upto}", first_line(text)
        content = Content(event.index, index, "observations", named, head, index_tokens, "index")
        recorded = await self._session.record_decided(lambda: self._events_to_record(event), [content])
        return recorded[0].seq

    def _events_to_record(self, event: ObservationsMade) -> Sequence[Event]:
        """The event to record, if what was read still stands in the window and it is shorter."""
        transcript = self._session.transcript
        stood = observation.tokens_in_window(transcript, event.after, event.upto)
        if not observation.is_current(transcript, event):
            raise CompactionRefused("No observations were made.", "The history was changed meanwhile.")
        if stood <= event.tokens:
            why = f"They take {event.tokens:,} tokens, what they stand for takes {stood:,}."
            raise CompactionRefused("No observations were made.", why)
        return [msgspec.structs.replace(event, before=stood)]
