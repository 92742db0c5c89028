"""The observer: distils old history out of band, in three phases like a handover's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from helix_desktop.agent.ports import Clock, Counter
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.spend_approvals import Approve, SpendUnapproved, approved
from helix_desktop.agent.summariser import NO_MODEL, Summariser, Written
from helix_desktop.agent.update import ObservationMoved, Phase
from helix_desktop.agent.upkeep import Upkeep
from helix_desktop.context import distil, observation, planner
from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of, first_line
from helix_desktop.context.errors import CompactionRefused, SummaryRefused
from helix_desktop.context.event import Event
from helix_desktop.context.event_summary import Observation, ObservationsFailed, ObservationsMade
from helix_desktop.context.handover import user_text_room
from helix_desktop.context.index import index_over
from helix_desktop.context.layout import Cover, Item
from helix_desktop.context.ledger import ledger_of
from helix_desktop.context.observation import Stretch
from helix_desktop.context.record import record_of
from helix_desktop.context.rewrite_kind import PlacementReason
from helix_desktop.context.spending import Estimate, Spending
from helix_desktop.context.summary_check import accept_observations, input_of, refinement_input


class Reading(msgspec.Struct, frozen=True):
    """What the first phase saw: the stretch, its messages, what stood for some of them, what was known."""

    stretch: Stretch
    items: tuple[Item, ...]
    covers: tuple[Cover, ...]
    masked: frozenset[int]
    generations: tuple[ObservationsMade, ...]


class Observer:
    """Makes the observations and reflections of one session, one at a time; they are inert until placed."""

    def __init__(
        self,
        session: Session,
        counter: Counter,
        clock: Clock,
        upkeep: Upkeep,
        prompts: Mapping[str, str],
        versions: Mapping[str, str],
        settings: Settings,
    ) -> None:
        """Uses the prompts `observe` and `reflect`, and what events call them."""
        self._session, self._counter, self._clock = session, counter, clock
        self._upkeep, self._settings = upkeep, settings
        self._prompts, self._versions = prompts, versions
        self._summariser = Summariser(session, counter, settings)
        self._approve: Approve = approved
        self._estimate: Estimate | None = None

    def due(self) -> Stretch | None:
        """The stretch to observe or to refine now, if any."""
        policy, _, _ = self._settings()
        _, now = self._upkeep.measure()
        return planner.observing_due(self._session.transcript, policy, now, self._clock())

    def possible(self) -> Stretch | None:
        """The stretch that a person can have observed or refined now, if any."""
        transcript = self._session.transcript
        return observation.possible(transcript) or observation.refinable(transcript)

    async def run(self, stretch: Stretch | None, by_hand: bool = False, approve: Approve = approved) -> bool:
        """Observe or refine a stretch; whether that was done. Without one, only place what waits.

        A refusal is recorded with its reason and changes nothing. Cancelling records nothing, nor does what
        `approve` does not let begin. What a person asks for is put in place at once, and never fails for want
        of a model: then it is extracted.
        """
        made = observation.waiting(self._session.transcript)
        if stretch is not None:
            self._approve = approve
            made = await self._try(stretch, by_hand)
        if made is not None and by_hand:
            await self._upkeep.place(made, PlacementReason.MANUAL)
        return made is not None

    async def _try(self, stretch: Stretch, by_hand: bool) -> int | None:
        self._upkeep.observing, self._summariser.took = stretch, Spending()
        try:
            return await self._distilled(stretch, by_hand)
        except CompactionRefused as refused:
            took = self._summariser.took
            failed = ObservationsFailed(refused.what, refused.why, took.tokens, took.cost)
            if isinstance(refused, SummaryRefused):
                failed = msgspec.structs.replace(failed, problem=refused.problem, refused=refused.text)
            await self._session.record(failed)
            return None
        except SpendUnapproved:
            return None
        finally:
            self._upkeep.observing, self._approve = None, approved
            self._show("idle")

    async def _distilled(self, stretch: Stretch, by_hand: bool) -> int:
        began = self._clock()
        self._show("read")
        reading = self._read(stretch)
        written = await self._written(reading)
        if written.value is None:
            written = await self._extracted(reading, written, by_hand)
        self._show("check")
        made = await self._made(reading, written)
        took = max(0, self._clock() - began)
        self._show("write")
        return await self._record(msgspec.structs.replace(made, duration_ms=took))

    def _show(self, phase: Phase, text: str = "") -> None:
        self._estimate = self._estimate if phase in ("summarise", "check", "write") else None
        self._session.publish(ObservationMoved(phase, text, self._estimate))

    def _plan(self, estimate: Estimate) -> None:
        """Take in what the calls will take, before the first. Raises SpendUnapproved."""
        self._approve(estimate)
        self._estimate = estimate

    def _read(self, stretch: Stretch) -> Reading:
        transcript = self._session.transcript
        every = [one for one in transcript.covers if isinstance(one.event, ObservationsMade)]
        wanted = [one for one in every if not stretch.replaces or one.seq in stretch.replaces]
        return Reading(
            stretch,
            tuple(transcript.between(stretch.after, stretch.upto)),
            transcript.covers,
            frozenset(transcript.masked),
            tuple(one.event for one in wanted if isinstance(one.event, ObservationsMade)),
        )

    async def _written(self, reading: Reading) -> Written[tuple[Observation, ...]]:
        if reading.stretch.replaces:
            brief = distil.refine_brief(self._prompts["reflect"], reading.generations)
            source = refinement_input(reading.generations, reading.items)
        else:
            record = await asyncio.to_thread(record_of, reading.items, reading.covers, reading.masked)
            brief = distil.observe_brief(self._prompts["observe"], record, reading.generations)
            source = await asyncio.to_thread(input_of, record, reading.items, observing=True)
        return await self._summariser.ask(
            brief,
            lambda said: accept_observations(distil.parse(said, reading.items), source, said),
            lambda said: self._show("summarise", said),
            self._plan,
        )

    async def _extracted(
        self, reading: Reading, failed: Written[tuple[Observation, ...]], by_hand: bool
    ) -> Written[tuple[Observation, ...]]:
        """What can be said without a model; only the last try before the breaker opens does. Raises else."""
        last_try = not by_hand and self._session.transcript.observation_failures >= planner.BREAKER - 1
        if failed.refused is not None and not last_try:
            raise failed.refused
        if not by_hand and not last_try:
            raise CompactionRefused("The observations were not written.", failed.fallback)
        if reading.stretch.replaces:
            found = await asyncio.to_thread(distil.refined, reading.generations)
        else:
            found = await asyncio.to_thread(distil.extracted, reading.items)
        return msgspec.structs.replace(failed, value=found, model=NO_MODEL)

    async def _made(self, reading: Reading, written: Written[tuple[Observation, ...]]) -> ObservationsMade:
        """The event without its index."""
        policy, frame, _ = self._settings()
        stretch = reading.stretch
        room = user_text_room(policy.user_text_tokens, frame.info.window)
        if not stretch.replaces:
            room -= self._quoted_already(reading.generations)
        ledger = await asyncio.to_thread(ledger_of, reading.items)
        prompt = self._versions.get("reflect" if stretch.replaces else "observe", "")
        return ObservationsMade(
            after=stretch.after,
            upto=stretch.upto,
            observations=written.value or (),
            quoted=distil.quoted(reading.items, room),
            ledger=ledger.text(policy.ledger_tokens),
            index=digest_of(b""),
            index_entries=0,
            tokens=0,
            before=0,
            messages=len(reading.items),
            model=written.model,
            reflection=bool(stretch.replaces),
            replaces=stretch.replaces,
            fallback=written.fallback,
            demo=written.demo,
            calls=written.calls,
            spent=written.spent,
            prompt=prompt if written.calls else "",
            cost=written.cost,
            refused=written.refused_text,
        )

    def _quoted_already(self, generations: Sequence[ObservationsMade]) -> int:
        """Tokens of the person's words that observations in place keep already."""
        found = (self._session.transcript.item(seq) for made in generations for seq in made.quoted)
        return sum(item.words for item in found if item is not None)

    async def _record(self, made: ObservationsMade) -> int:
        """Third phase: index and count are built beside the log; recorded if what was read still holds."""
        transcript = self._session.transcript
        text, entries = index_over(transcript, made.after, made.upto)
        index = text.encode("utf-8", "surrogatepass")
        made = msgspec.structs.replace(made, index=digest_of(index), index_entries=entries)
        rendered = observation.rendered(made, transcript)
        tokens, index_tokens = await self._counter.count([rendered, text])
        made = msgspec.structs.replace(made, tokens=tokens)
        named, head = f"e{made.after + 1}-e{made.upto}", first_line(text)
        content = Content(made.index, index, "observations", named, head, index_tokens, "index")
        recorded = await self._session.record_decided(lambda: self._checked(made), [content])
        return recorded[0].seq

    def _checked(self, made: ObservationsMade) -> Sequence[Event]:
        """The event to record, if what was read still stands in the window and it is shorter."""
        transcript = self._session.transcript
        stood = observation.standing(transcript, made.after, made.upto)
        if not observation.holds(transcript, made):
            raise CompactionRefused("No observations were made.", "The history was changed meanwhile.")
        if stood <= made.tokens:
            why = f"They take {made.tokens:,} tokens, what they stand for takes {stood:,}."
            raise CompactionRefused("No observations were made.", why)
        return [msgspec.structs.replace(made, before=stood)]
