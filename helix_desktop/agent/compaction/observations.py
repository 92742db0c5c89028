"""The observations of a session: old history distilled in the background, when due or when the user asks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from helix_desktop.agent.budget import ApproveSpending, SpendApprovals, SpendNotApproved, approve_any
from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.compaction.summarizer import (
    BackgroundJob,
    Summarizer,
    SummaryReader,
    SummaryResult,
    SummaryWait,
)
from helix_desktop.agent.session import ObservationProgress, Phase, Session
from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.covered_facts import CHARS_PER_TOKEN, check_covered_facts, covered_facts
from helix_desktop.context.summaries.handover import user_text_budget, whole_texts
from helix_desktop.context.summaries.index_entry import build_index_entry, index_content
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.context.summaries.summary_acceptance import (
    accept_observations,
    reflection_input,
    summary_input,
)
from helix_desktop.context.summaries.summary_names import compacted_turns
from helix_desktop.context.summaries.summary_task import FOLLOWING_MESSAGES, brief_lines, transcript_lines
from helix_desktop.domain.cost import Spending, SpendReply
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import PlacementReason
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    SUMMARY_TEXT_VERSION,
    EndedObservation,
    Observation,
    ObservationsFailed,
    ObservationsMade,
)
from helix_desktop.domain.translatable_text import OptionalText, TextContext, verbatim

_text = TextContext("Agent")


class ObservationSource(msgspec.Struct, frozen=True):
    event_range: EventRange
    items: tuple[LogItem, ...]
    covers: tuple[Cover, ...]
    swept: frozenset[int]
    generations: tuple[ObservationsMade, ...]
    standing: tuple[Observation, ...] = ()
    following: tuple[LogItem, ...] = ()


class Observations(BackgroundJob):
    """One session's observations and reflections, written one at a time; inert until placed."""

    def __init__(self, session: Session, rewriter: WindowRewriter, approvals: SpendApprovals | None) -> None:
        super().__init__(session, "observations", approvals)
        self._rewriter = rewriter
        self._summarizer = Summarizer(session)
        self._is_manual = False  # True if the user asked for those that run, or wait for an approval
        self._approve: ApproveSpending = approve_any

    def start_due(self) -> None:
        event_range = self._find_due()
        if event_range is not None and not self.is_blocked(
            (event_range.after, event_range.replaces), event_range.tokens, refresh=True
        ):
            self._start(event_range, False, self.require_approval)

    def start_in_place_of_handover(self) -> bool:
        """Start the observations that make a due handover unnecessary. Return True if some are written.

        A handover would drop what is being written, and then be needed less: only panic does not wait.
        """
        gauge = self._rewriter.gauge()
        if gauge.is_full or not gauge.is_due:
            return False
        if not self.is_running:
            transcript = self._session.transcript
            policy = self._session.policy
            event_range = compaction_due.observation_relief(transcript, policy, gauge, self._session.clock())
            if event_range is not None and not self.is_blocked(
                (event_range.after, event_range.replaces), event_range.tokens, refresh=False
            ):
                self._start(event_range, False, self.require_approval)
        return self.is_running

    async def wait_for_room(self, wait: SummaryWait) -> OptionalText:
        """Wait for those that run in place of a handover. Return why they were given up, if they were."""
        return await wait.wait_for(self) if self.is_running else ""

    @property
    def are_pending(self) -> bool:
        return bool(
            self._session.policy.observe_at and observation.pending_observations(self._session.transcript)
        )

    def start(self, is_price_shown: bool = False) -> None:
        """Start manual observations: distill what is older than the newest turn, and place the result.

        With `is_price_shown`, a spend request shows what it costs first. If everything is observed, refine
        the observations; if some are pending, place them. Raises
        CompactionRefused if there is nothing to observe or observations are running, ModelNotChosen.
        """
        self._session.model_choice.require()
        if self.is_running:
            raise CompactionRefused(
                _text("Already running."),
                _text("Older messages are being summarized."),
                _text("Wait, or cancel."),
            )
        pending_seq = observation.pending_observations(self._session.transcript)
        event_range = self._find_possible() if pending_seq is None else None
        if pending_seq is None and event_range is None:
            raise CompactionRefused(
                _text("All older messages are compacted already."),
                _text("Only the newest complete turn is left, which always stays."),
                _text("Send another message first."),
            )
        self._start(event_range, True, self.require_confirmation if is_price_shown else approve_any)

    def _start(self, event_range: EventRange | None, is_manual: bool, approve: ApproveSpending) -> None:
        if not self.is_running:
            self._is_manual = is_manual
            self._start_job(lambda: self._write(event_range, is_manual, approve))

    def answer_request(self, reply: SpendReply) -> None:
        if not self._answer(reply == "allow") or reply == "refuse":
            return
        if self._is_manual:
            event_range = self._find_possible()
            approve = self.require_confirmation
        else:
            event_range = self._find_due()
            approve = self.require_approval
        if event_range is not None:
            self._start(event_range, self._is_manual, approve)

    def _find_due(self) -> EventRange | None:
        policy = self._session.policy
        gauge = self._rewriter.gauge()
        return compaction_due.observation_due(self._session.transcript, policy, gauge, self._session.clock())

    def _find_possible(self) -> EventRange | None:
        """Return the event range that the user can have observed or refined now; None if there is none."""
        transcript = self._session.transcript
        return observation.observable_range(transcript) or observation.refinable_range(transcript)

    async def _write(self, event_range: EventRange | None, is_manual: bool, approve: ApproveSpending) -> bool:
        """Observe or refine a range, or only place pending ones without one. Return True on success.

        A refusal is recorded with its reason and changes nothing. Canceling records only what was spent, a
        cost that `approve` rejects nothing. Manual observations are placed at once, and never fail for lack
        of a model: then they are extracted.
        """
        observations_seq = observation.pending_observations(self._session.transcript)
        if event_range is not None:
            self._approve = approve
            observations_seq = await self._try(event_range, is_manual)
        if observations_seq is not None and is_manual:
            await self._rewriter.place_observations(observations_seq, PlacementReason.MANUAL)
        return observations_seq is not None

    async def _try(self, event_range: EventRange, is_manual: bool) -> int | None:
        self._rewriter.observing_range = event_range
        self._summarizer.spent = Spending()
        try:
            return await self._distill(event_range, is_manual)
        except CompactionRefused as error:
            await self._session.record(self._summarizer.failure(ObservationsFailed, error, event_range.upto))
            return None
        except SpendNotApproved:
            return None
        finally:
            self._rewriter.observing_range = None
            self._approve = approve_any
            self._publish_phase("idle")

    async def _distill(self, event_range: EventRange, is_manual: bool) -> int:
        started_at_ms = self._session.clock()
        self._publish_phase("read")
        source = self._read_input(event_range)
        try:
            summary = await self._summarize(source)
            if summary.value is None:
                summary = await self._extract_fallback(source, summary, is_manual)
            self._publish_phase("check")
            event = await self._build_event(source, summary)
        except asyncio.CancelledError:
            await self._session.unused.record(self._summarizer.spent)
            raise
        duration_ms = self._session.elapsed_ms(started_at_ms)
        self._publish_phase("write")
        return await self._record(msgspec.structs.replace(event, duration_ms=duration_ms))

    def _publish_phase(self, phase: Phase, text: str = "") -> None:
        if phase not in ("summarize", "check", "write"):
            self._summarizer.approved = None
        approved = self._summarizer.approved
        being_read = self._rewriter.observing_range
        turns: OptionalText = ""
        if being_read is not None:
            turns = compacted_turns(self._session.transcript, being_read.after, being_read.upto)
        self._session.publish(ObservationProgress(phase, text, approved, turns, not self._is_manual))

    def _read_input(self, event_range: EventRange) -> ObservationSource:
        transcript = self._session.transcript
        generations = [
            cover
            for cover in transcript.window.covers
            if isinstance(cover.event, ObservationsMade) and cover.seq not in transcript.rewrites.excluded
        ]
        relevant = [
            cover for cover in generations if not event_range.replaces or cover.seq in event_range.replaces
        ]
        return ObservationSource(
            event_range,
            tuple(
                transcript.window.without_excluded(
                    transcript.messages.between(event_range.after, event_range.upto)
                )
            ),
            transcript.window.covers,
            frozenset(transcript.window.swept),
            tuple(cover.event for cover in relevant if isinstance(cover.event, ObservationsMade)),
            tuple(observation.standing_observations(transcript)[-observation.KNOWN_FACTS :]),
            tuple(
                transcript.window.without_excluded(
                    transcript.messages.between(event_range.upto, transcript.last_seq)
                )
            ),
        )

    async def _summarize(self, source: ObservationSource) -> SummaryResult[tuple[Observation, ...]]:
        if source.event_range.replaces:
            task = observation.reflection_task(self._session.prompts["reflect"], source.generations)
            expected = await asyncio.to_thread(reflection_input, task, source.generations, source.items)
        else:
            lines = await asyncio.to_thread(transcript_lines, source.items, source.covers, source.swept)
            following = await asyncio.to_thread(brief_lines, source.following[-FOLLOWING_MESSAGES:])
            task = observation.observation_task(
                self._session.prompts["observe"], lines, source.standing, following
            )
            expected = await asyncio.to_thread(summary_input, task, source.items, for_observations=True)
        citable = (*source.items, *source.following)  # what came after can end a fact

        def parse(text: str) -> tuple[Observation, ...]:
            return accept_observations(observation.parse_observations(text, citable), expected, text)

        return await self._summarizer.summarize(
            task,
            SummaryReader(parse),
            lambda text: self._publish_phase("summarize", text),
            self._approve,
        )

    async def _extract_fallback(
        self, source: ObservationSource, failed: SummaryResult[tuple[Observation, ...]], is_manual: bool
    ) -> SummaryResult[tuple[Observation, ...]]:
        """Extract without a model, if manual or the last try before the breaker opens.

        Otherwise raises SummaryRefused or CompactionRefused.
        """
        last_try = not is_manual and self._session.transcript.observation_failures >= compaction_due.LAST_TRY
        if failed.rejection is not None and not last_try:
            raise failed.rejection
        if not is_manual and not last_try:
            raise CompactionRefused(_text("No summary was written."), verbatim(failed.fallback_reason))
        if source.event_range.replaces:
            observations = await asyncio.to_thread(observation.merge_observations, source.generations)
        else:
            observations = await asyncio.to_thread(
                observation.extract_observations,
                source.items,
                source.standing,
                self._session.transcript.reverted_files.by_path,
            )
        return msgspec.structs.replace(failed, value=observations, model=NO_MODEL, is_demo=False)

    async def _build_event(
        self, source: ObservationSource, summary: SummaryResult[tuple[Observation, ...]]
    ) -> ObservationsMade:
        """Return the event without its index."""
        policy = self._session.policy
        event_range = source.event_range
        quote_budget = user_text_budget(policy.user_text_tokens, self._session.managed_window)
        if not event_range.replaces:
            quote_budget -= self._already_quoted_tokens(source.generations)
        facts, over = observation.end_observations(summary.value or (), source.standing)
        if event_range.replaces:
            over = observation.still_ended(source.generations)
        else:
            facts = observation.leave_out_known(facts, source.standing, over)
        quoted = observation.verbatim_seqs(source.items, quote_budget)
        covered = await asyncio.to_thread(covered_facts, source.items)
        covered.ledger.mark_reverted(self._session.transcript.reverted_files.by_path)
        covered.ledger.leave_out_mended(source.following)
        standing = self._session.transcript.window.whole_texts(source.items)
        covered.ledger.mark_skills(self._session.transcript.skill_folders, standing)
        ledger = covered.ledger.text(policy.ledger_tokens)
        text = "\n".join([*map(observation.observation_bullet, facts), ledger])
        whole_seqs = whole_texts(source.items, quote_budget)
        missing_chars = policy.ledger_tokens * CHARS_PER_TOKEN
        transcript = self._session.transcript
        todo_list = transcript.todo_list_between(event_range.after, event_range.upto)
        coverage = await asyncio.to_thread(
            check_covered_facts, covered, text, missing_chars, whole_seqs, todo_list
        )
        in_text = {
            fact
            for generation in source.generations
            for fact in observation.facts_in_text(generation, transcript)
        }
        lines = [observation.observation_bullet(fact) if fact in in_text else "" for fact in over]
        over_tokens = await self._session.counter.count(lines) if lines else []
        prompt = self._session.prompt_versions.get("reflect" if event_range.replaces else "observe", "")
        approved = self._summarizer.approved
        return ObservationsMade(
            after=event_range.after,
            upto=event_range.upto,
            observations=facts,
            quoted=quoted,
            ledger=ledger,
            index=digest_of(b""),
            index_entries=0,
            tokens=0,
            before=0,
            messages=transcript.messages.counts(event_range.after, event_range.upto).messages,
            model=summary.model,
            reflection=bool(event_range.replaces),
            replaces=event_range.replaces,
            fallback=summary.fallback_reason,
            demo=summary.is_demo,
            calls=summary.calls,
            spent=summary.spent.tokens,
            prompt=prompt if summary.calls else "",
            cost=summary.spent.cost,
            estimated=summary.spent.estimated,
            unpriced=summary.spent.unpriced,
            refused=summary.rejected_text,
            handle_digits=policy.handle_digits,
            over=tuple(map(EndedObservation, over, over_tokens)),
            coverage=coverage,
            quote_tokens=max(0, quote_budget),
            text_version=SUMMARY_TEXT_VERSION,
            read=approved.tokens if approved is not None and summary.calls else 0,
        )

    def _already_quoted_tokens(self, generations: Sequence[ObservationsMade]) -> int:
        transcript = self._session.transcript
        quoted = (observation.quoted_texts(generation, transcript) for generation in generations)
        return sum(tokens for texts in quoted for _, _, tokens in texts)

    async def _record(self, event: ObservationsMade) -> int:
        """Run the third phase: build index and count, and record if the input is still current."""
        transcript = self._session.transcript
        text, entries = build_index_entry(transcript, event.after, event.upto)
        content = index_content(text, "observations", f"e{event.after + 1}-e{event.upto}")
        event = msgspec.structs.replace(event, index=content.digest, index_entries=entries)
        tokens = await self._session.count_tokens(observation.render_generation(event, transcript))
        event = msgspec.structs.replace(event, tokens=tokens)
        recorded = await self._session.record_decided(lambda: self._events_to_record(event), [content])
        return recorded[0].seq

    def _events_to_record(self, event: ObservationsMade) -> Sequence[Event]:
        """Return the event to record. Raises CompactionRefused if the input changed or it is no shorter."""
        transcript = self._session.transcript
        covered_tokens = observation.tokens_in_window(transcript, event.after, event.upto)
        if not observation.is_current(transcript, event):
            raise CompactionRefused(
                _text("A new summary wasn't used."), _text("The history changed in the meantime.")
            )
        if covered_tokens <= event.tokens:
            why = _text(
                "It has {tokens} tokens; the messages it would replace have {covered}.",
                tokens=event.tokens,
                covered=covered_tokens,
            )
            raise CompactionRefused(_text("A new summary wasn't used."), why)
        return [msgspec.structs.replace(event, before=covered_tokens)]
