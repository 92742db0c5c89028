"""The writer of handovers: chooses the cut, reads, asks, checks and records, while user and agent go on."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple

import msgspec

from helix_desktop.agent.budget import ApproveSpending, SpendNotApproved, approve_any
from helix_desktop.agent.session import CompactionProgress, Phase, Session
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.agent.window.summarizer import Summarizer, SummaryResult, UnusedSummaries
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import handover_source, planner
from helix_desktop.context.rewrites.handover_source import HandoverSource, Sections
from helix_desktop.context.summaries.handover import CutPoint, HandoverPart, covered_messages, handover_parts
from helix_desktop.context.summaries.handover_revision import from_markdown, to_markdown
from helix_desktop.context.summaries.summary_coverage import CoveredFacts, covered_facts
from helix_desktop.context.window.usage_gauge import ON_REQUEST, CompactionTrigger, UsageGauge
from helix_desktop.context.window.window import PromptFrame, handover_as_sent
from helix_desktop.domain.cost import CostEstimate, Spending, spending_of
from helix_desktop.domain.errors import CompactionRefused, StoreError, SummaryRefused
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import HandoverTrigger, SweepMade
from helix_desktop.domain.events.summary import NO_MODEL, HandoverFailed, HandoverMade
from helix_desktop.domain.translatable_text import OptionalText, TextContext, verbatim


class HandoverDraft(msgspec.Struct, frozen=True):
    """A handover up to `cut`, not recorded; `text` is its sections as Markdown, to be edited.

    `event` is the event it would become. `doubt` says why it may say too little: only the user can accept it.
    `sweep_savings` are the tokens, by our count, that `after` is smaller for what is cached along with it.
    """

    cut: CutPoint
    text: str
    event: HandoverMade
    doubt: OptionalText = ""
    sweep_savings: int = 0


class RestoredDraft(msgspec.Struct, frozen=True):
    """A saved draft to go on with, with the `text` as the user changed it; its cost is recorded."""

    draft: HandoverDraft
    text: str
    is_whole: bool


class CountedPart(NamedTuple):
    """A part of the message that a handover is sent as, and its tokens by our count."""

    part: HandoverPart
    tokens: int


class RevisionDraft(msgspec.Struct, frozen=True):
    """A recorded handover that the user edits: what it says now and said at first.

    Its sentences may cite `valid_seqs`; `facts` are those of the messages that it covers.
    """

    seq: int
    handover: HandoverMade
    original: HandoverMade
    valid_seqs: frozenset[int]
    facts: CoveredFacts


_text = TextContext("Agent")


async def checked_handover(session: Session, event: HandoverMade, facts: CoveredFacts) -> HandoverMade:
    """Return the event with what it does not name, and its tokens: of all but the user's own messages."""
    now = session.transcript, session.policy, session.frame.info.window
    event = await asyncio.to_thread(handover_source.coverage_check(*now, event, facts))
    tokens = await session.count_tokens(handover_source.own_text(*now, event))
    return msgspec.structs.replace(event, tokens=tokens)


_BUSY = (_text("Already running."), _text("The conversation is being compacted."), _text("Wait, or cancel."))


class HandoverScope(NamedTuple):
    """What a handover on request covers: older messages; with `rerun_seq` those of the active handover.

    A draft of that takes its place, and undo brings it back. One that `is_whole` covers every message, for a
    session that continues this one: it is not recorded here.
    """

    rerun_seq: int = 0
    is_whole: bool = False


OLDER_MESSAGES = HandoverScope()
WHOLE_SESSION = HandoverScope(is_whole=True)


class HandoverWriter:
    """Chooses, reads, asks, checks and records: a session's handovers, one at a time, or its checkpoints."""

    def __init__(self, session: Session, rewriter: WindowRewriter, is_published: bool = True) -> None:
        """Unless its progress `is_published`, nobody sees that it writes."""
        self._session, self._rewriter, self._is_published = session, rewriter, is_published
        self._summarizer = Summarizer(session)
        self.unused = UnusedSummaries(session)
        self.is_running = False
        self.is_drafting = False
        self._approve: ApproveSpending = approve_any
        self._estimate: CostEstimate | None = None

    @property
    def spent(self) -> Spending:
        """What the newest attempt spent, even if it failed."""
        return self._summarizer.spent

    def require_idle(self) -> None:
        """Raise CompactionRefused while a handover is being written."""
        if self.is_running or self.is_drafting:
            raise CompactionRefused(*_BUSY)

    async def cuts(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> list[CutPoint]:
        """Return where a handover on request may end: first as it is proposed, then the furthest first.

        Of very many, some at equal distances and the nearest one before the event `upto`; none if there is
        nothing to cover. Raises CompactionRefused without messages or with another active handover.
        """
        transcript, policy, frame, gauge = self._now()
        if scope.is_whole:
            return [handover_source.cut_of_everything(transcript)]
        if scope.rerun_seq:
            fork, same = handover_source.without_active(transcript, scope.rerun_seq)
            legal = handover_source.cuts_to_rerun
            return await asyncio.to_thread(legal, fork, same, policy, frame, gauge, upto)
        # Tens of milliseconds in a long session.
        return await asyncio.to_thread(handover_source.offered_cuts, transcript.fork(), policy, gauge, upto)

    async def find_cut(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> CutPoint:
        """Return the cut that ends at an event (0: the one to propose). Raises CompactionRefused."""
        transcript, policy, _, gauge = self._now()
        if scope.is_whole:
            return handover_source.cut_of_everything(transcript)
        if not scope.rerun_seq:
            return handover_source.cut_on_request(transcript, policy, gauge, upto)
        _, same = handover_source.without_active(transcript, scope.rerun_seq)
        if upto in {0, same.upto}:
            return same
        return next((cut for cut in await self.cuts(upto, scope) if cut.upto == upto), same)

    def frees_little(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> bool:
        """Return True if a handover of older messages would free little, or nothing; others are no matter.

        Raises CompactionRefused without a cut at event `upto` (0: as proposed).
        """
        if scope != OLDER_MESSAGES:
            return False
        transcript, policy, _, gauge = self._now()
        cut = handover_source.cut_on_request(transcript, policy, gauge, upto)
        return handover_source.frees_little(transcript, policy, gauge, cut)

    def _now(self) -> tuple[Transcript, ContextPolicy, PromptFrame, UsageGauge]:
        session = self._session
        return session.transcript, session.policy, session.frame, self._rewriter.gauge()

    async def estimate(self, upto: int = 0, scope: HandoverScope = OLDER_MESSAGES) -> CostEstimate:
        """Return the cost estimate of a draft. Raises CompactionRefused."""
        cut, session = await self.find_cut(upto, scope), self._session
        source = HandoverSource.read(
            session.transcript, session.policy, session.frame, cut, rerun_seq=scope.rerun_seq
        )
        task = await asyncio.to_thread(source.task, session.prompts["handover"], "")
        return await self._summarizer.estimate(task)

    async def run(
        self,
        trigger: CompactionTrigger,
        cut: CutPoint,
        focus: str = "",
        ask_model: bool = True,
        approve: ApproveSpending = approve_any,
        why_no_model: OptionalText = "",
    ) -> bool:
        """Write and record a handover of everything up to `cut`. Return True if it was recorded.

        Not to `ask_model` is a fallback if it has a reason, `why_no_model`; else the user's choice.
        A refusal is recorded with its reason and changes nothing. Of a due one that frees too little after
        other rewrites made room, as of a canceled one, only what was spent is recorded; of a cost that
        `approve` rejects nothing.
        """
        if self.is_running:
            return False
        self.is_running, self._summarizer.spent, self._approve = True, Spending(), approve
        try:
            event, _ = await self._write(trigger, cut, focus, ask_model)
            await self._record(msgspec.structs.replace(event, fallback=event.fallback or why_no_model))
            return True
        except CompactionRefused as error:
            is_due = trigger.kind.is_by_policy and not isinstance(error, SummaryRefused)
            if is_due and not self._rewriter.gauge().is_due:
                await self.unused.record(self._summarizer.spent)  # other rewrites have made the room
            else:
                await self._session.record(self._summarizer.failure(HandoverFailed, error))
            return False
        except SpendNotApproved:
            return False
        finally:
            self.is_running, self._approve = False, approve_any
            self._publish_phase("idle")

    async def draft(
        self, focus: str = "", upto: int = 0, scope: HandoverScope = OLDER_MESSAGES
    ) -> HandoverDraft:
        """Write a handover up to the cut at event `upto` (0: the one to propose) without recording it.

        It may free little, or nothing: its figures say so, and the user decides. Progress is published as for
        a recorded one. Raises CompactionRefused if there is nothing to cover, no legal cut at `upto`, or one
        is being written; ModelNotChosen. Model failures are described in the draft. What a draft spent that
        is canceled is recorded.
        """
        self._session.model_choice.require()
        cut = await self.find_cut(upto, scope)
        self.require_idle()
        self.is_drafting, self._summarizer.spent = True, Spending()
        try:
            event, doubt = await self._write(ON_REQUEST, cut, focus, rerun_seq=scope.rerun_seq, is_draft=True)
            sweep_savings = 0
            if not scope.is_whole:
                final_event, *others = self._events_to_record(event)
                assert isinstance(final_event, HandoverMade)  # the event itself comes first
                event = final_event
                sweep_savings = sum(other.saved for other in others if isinstance(other, SweepMade))
            return HandoverDraft(cut, to_markdown(event.sections), event, doubt, sweep_savings)
        except CompactionRefused:
            with suppress(StoreError):  # the reason of the refusal matters more, and the cost is not lost
                await self.unused.record(self._summarizer.spent)
            raise
        finally:
            self.is_drafting = False
            self._publish_phase("idle")

    async def parts_as_sent(self, draft: HandoverDraft, is_whole: bool = False) -> list[CountedPart]:
        """Return what the model gets of a draft as it was written, in a new session if it `is_whole`.

        Together the parts are what the context counts for the handover, not quite what each is by itself: the
        largest one that is no quote gets the difference.
        """
        session, event = self._session, draft.event
        transcript, policy, frame, _ = self._now()
        if is_whole:
            parts = handover_parts(event, ())
            tokens = await session.counter.count([part.text for part in parts])
            return [CountedPart(part, count) for part, count in zip(parts, tokens, strict=True)]
        fork = handover_source.fork_with(transcript, event)
        sent = handover_as_sent(fork, policy, frame.info.window, event)
        own = [part for part in sent.parts if part.kind not in sent.quote_tokens]
        counted = dict(zip(own, await session.counter.count([part.text for part in own]), strict=True))
        own_tokens = sent.tokens - sum(sent.quote_tokens.values())
        counted[max(own, key=counted.__getitem__)] += own_tokens - sum(counted.values())
        return [
            CountedPart(part, counted[part] if part in counted else sent.quote_tokens[part.kind])
            for part in sent.parts
        ]

    async def commit(self, draft: HandoverDraft, text: str | None = None) -> None:
        """Record a draft, with the user's own text if it was changed.

        Raises InvalidInput for a text that cannot be parsed, CompactionRefused if the history changed
        meanwhile, or that text makes the window larger.
        """
        event = await self.apply_edits(draft, text)
        self._publish_phase("write")
        try:
            await self._record(event)
        finally:
            self._publish_phase("idle")

    async def apply_edits(self, draft: HandoverDraft, text: str | None) -> HandoverMade:
        """Return a draft's event with the user's own text if it was changed. Raises InvalidInput."""
        if text is None or text.strip() == draft.text.strip():
            return draft.event
        covered = covered_messages(self._session.transcript, draft.cut.upto, draft.cut.kept_seq)
        sections = from_markdown(text, frozenset(item.seq for item in covered))
        edited = msgspec.structs.replace(draft.event, sections=sections, edited=True)
        return await checked_handover(self._session, edited, await asyncio.to_thread(covered_facts, covered))

    async def discard(self, draft: HandoverDraft) -> None:
        """Record what a draft cost that is not used. Raises StoreError."""
        await self.unused.record(spending_of(draft.event))

    async def prepare(self, upto: int, approve: ApproveSpending) -> tuple[HandoverMade, int]:
        """Write a checkpoint of everything up to an event; return it with the tokens that it read.

        Raises CompactionRefused if no model can, and what `approve` raises.
        """
        self._approve, self._summarizer.spent, self._estimate = approve, Spending(), None
        event, _ = await self._write(ON_REQUEST, CutPoint(upto, 0, 0, 0), is_checkpoint=True)
        return msgspec.structs.replace(event, index="", read=0), event.read

    def _publish_phase(self, phase: Phase, text: str = "") -> None:
        if not self._is_published:
            return
        self._estimate = self._estimate if phase in ("summarize", "check", "write") else None
        self._session.publish(CompactionProgress(phase, text, self._estimate))

    def _on_estimate(self, estimate: CostEstimate) -> None:
        """Approve and store the cost estimate before the first call. Raises SpendNotApproved."""
        self._approve(estimate)
        self._estimate = estimate

    async def _write(
        self,
        trigger: CompactionTrigger,
        cut: CutPoint,
        focus: str = "",
        ask_model: bool = True,
        rerun_seq: int = 0,
        is_draft: bool = False,
        is_checkpoint: bool = False,
    ) -> tuple[HandoverMade, OptionalText]:
        """Read, ask the models without holding a lock, and check what they wrote.

        The event has not what is known only on recording: its index, and the usage after it. Return also why
        a draft may say too little; one that is recorded at once may not.
        """
        session, (transcript, policy, frame, _) = self._session, self._now()
        started_at_ms = session.clock()
        self._publish_phase("read")
        source = HandoverSource.read(
            transcript,
            policy,
            frame,
            cut,
            rerun_seq=rerun_seq,
            is_update=is_checkpoint or trigger.kind is not HandoverTrigger.MANUAL,
            is_short=is_checkpoint,
        )
        if trigger.kind is HandoverTrigger.OVERFLOW and not ask_model:  # the words have to go, too
            source = msgspec.structs.replace(source, words=())
        is_last = trigger.kind.is_by_policy and planner.is_last_try(transcript.handover_failures)
        try:
            if is_checkpoint:
                summary = await self._ask_models(source, focus)
                if summary.value is None:
                    why = summary.rejection.why if summary.rejection else verbatim(summary.fallback_reason)
                    raise CompactionRefused(_text("No handover was prepared."), why)
            else:
                summary = await self._ask(source, focus, ask_model, is_last, is_draft)
            self._publish_phase("check")
            facts = await asyncio.to_thread(source.facts)
            event = msgspec.structs.replace(
                source.event(session.transcript, session.policy, summary.value or (), facts),
                trigger=trigger.kind,
                threshold=round(trigger.share, 2),
                focus=focus,
                model=summary.model,
                fallback=summary.fallback_reason,
                demo=summary.is_demo,
                calls=summary.calls,
                spent=summary.spent.tokens,
                prompt=session.prompt_versions.get("handover", "") if summary.calls else "",
                cost=summary.spent.cost,
                estimated=summary.spent.estimated,
                unpriced=summary.spent.unpriced,
                refused=summary.rejected_text,
                read=self._estimate.tokens if self._estimate is not None and summary.calls else 0,
            )
            event = await checked_handover(session, event, facts)
        except asyncio.CancelledError:
            await self.unused.record(self._summarizer.spent)
            raise
        duration_ms = session.elapsed_ms(started_at_ms)
        return msgspec.structs.replace(event, duration_ms=duration_ms), summary.doubt

    async def _ask(
        self, source: HandoverSource, focus: str, ask_model: bool, is_last: bool, is_draft: bool
    ) -> SummaryResult[Sections]:
        """Call the models; if none can, use ledger and extracts.

        Raises SummaryRefused if what they wrote says too little, except on the last try. A draft is returned
        with that doubt: the user can judge it.
        """
        result: SummaryResult[Sections] = SummaryResult(None)
        checkpoint = source.unchanged_checkpoint
        if checkpoint is not None:
            return msgspec.structs.replace(
                result, value=checkpoint.sections, model=checkpoint.model, is_demo=checkpoint.demo
            )
        if ask_model:
            result = await self._ask_models(source, focus)
            if result.value is not None:
                return result
            rejection = result.rejection
            if rejection is not None and is_draft:
                fallback = _text("{model} wrote it.", model=result.model) if result.calls > 1 else ""
                return msgspec.structs.replace(
                    result,
                    value=source.parse(rejection.text),
                    fallback_reason=fallback,
                    rejection=None,
                    doubt=rejection.why,
                )
            if rejection is not None and not is_last:
                raise rejection
        reverts = self._session.transcript.reverted_files.by_path
        sections = await asyncio.to_thread(source.extracts, reverts)
        return msgspec.structs.replace(result, value=sections, model=NO_MODEL, is_demo=False)

    async def _ask_models(self, source: HandoverSource, focus: str) -> SummaryResult[Sections]:
        session = self._session
        task = await asyncio.to_thread(source.task, session.prompts["handover"], focus)
        return await self._summarizer.summarize(
            task,
            await asyncio.to_thread(source.acceptance, task),
            lambda text: self._publish_phase("summarize", text),
            self._on_estimate,
        )

    async def _record(self, event: HandoverMade) -> None:
        """Build the index, check against the current log, record all at once."""
        self._publish_phase("write")
        indexed, content = handover_source.with_index(self._session.transcript, event)
        await self._session.record_decided(lambda: self._events_to_record(indexed), [content])

    def _events_to_record(self, event: HandoverMade) -> tuple[Event, ...]:
        session = self._session
        return handover_source.events_to_record(session.transcript, session.policy, session.frame, event)
