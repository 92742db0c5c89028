"""The context manager: prepares the window of each request, fits it when it must, checkpoints ahead."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from helix_desktop.agent.budget import SpendApprovals, SpendNotApproved
from helix_desktop.agent.compaction.handover_writer import (
    HandoverDraft,
    HandoverWriter,
    RestoredDraft,
    RevisionDraft,
    active_handover,
    checked_handover,
    cut_on_request,
    takes_place_of_same,
)
from helix_desktop.agent.compaction.observations import Observations
from helix_desktop.agent.compaction.rewriter import EarlyRewrites, WindowRewriter
from helix_desktop.agent.compaction.summarizer import BackgroundJob, SummaryWait
from helix_desktop.agent.session import EventRecorded, RequestChanged, Session
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.handover import (
    CutPoint,
    citable_seqs,
    covered_messages,
    newest_checkpoint,
)
from helix_desktop.context.summaries.handover_revision import original_of, revised_handover, to_markdown
from helix_desktop.context.summaries.summary_coverage import covered_facts
from helix_desktop.context.window import request_validation
from helix_desktop.context.window.usage_gauge import (
    FULL_WINDOW,
    ON_REQUEST,
    CompactionTrigger,
    UsageGauge,
    measure_usage,
)
from helix_desktop.context.window.window import Window, project, tokens_as_sent
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.cost import CostEstimate, Spending, SpendReply, spending_of
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    CompactionRefused,
    ContextWindowExceeded,
    RequestInvalid,
    RequestTooLarge,
    StoreError,
)
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import PlacementReason, Undone
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    SavedHandoverDraft,
    Section,
)
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import OptionalText, TextContext, join_sentences, verbatim

_text = TextContext("Agent")


class HandoverRevisions:
    """The revisions of one session's handovers; what they replace stays, and undo brings it back.

    One may be larger than what it replaces: invariant 6, that a handover frees room, is for automatic ones.
    """

    def __init__(self, session: Session, writer: HandoverWriter) -> None:
        self._session, self.writer = session, writer

    async def draft(self, seq: int) -> RevisionDraft:
        """Return the recorded handover `seq` for editing. Its time grows with what it covers."""
        transcript = self._session.transcript
        handovers = transcript.written_handovers
        handover = handovers[seq]
        covered = covered_messages(transcript, handover.upto, handover.kept)
        facts = await asyncio.to_thread(covered_facts, covered)
        valid_seqs = citable_seqs(transcript, covered)
        return RevisionDraft(seq, handover, handovers[original_of(handovers, seq)], valid_seqs, facts)

    async def check(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> HandoverMade:
        """Return it with other sections, not recorded: its tokens, and what it does not name."""
        revised = revised_handover(draft.seq, draft.handover, sections)
        return await checked_handover(self._session, revised, draft.facts)

    async def record(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> None:
        """Record the active handover again with the user's own sections; the former text stays.

        So it is with the newest checkpoint. Raises CompactionRefused if another one is active by now, or if
        one is being written.
        """
        if draft.seq in self._session.transcript.checkpoints:
            await self._record_checkpoint(draft, sections)
            return
        self.writer.require_idle()
        active_handover(self._session.transcript, draft.seq)
        event = await self.check(draft, sections)
        await self._session.record_decided(lambda: self._events_to_record(event))

    async def _record_checkpoint(self, draft: RevisionDraft, sections: tuple[Section, ...]) -> None:
        event = await self.check(draft, sections)

        def decide() -> list[HandoverDiscarded]:
            newest = newest_checkpoint(self._session.transcript)
            if newest is None or newest[0] != draft.seq:
                raise CompactionRefused(
                    _text("The prepared summary wasn't changed."),
                    _text("A newer one replaced it."),
                    _text("Open the timeline and try again."),
                )
            return [HandoverDiscarded(unpriced=0, prepared=HandoverPrepared(event))]

        await self._session.record_decided(decide)

    def tokens_as_sent(self, handover: HandoverMade) -> int:
        """Return the tokens of all that a handover puts in the context while it is active, by our count."""
        session = self._session
        return tokens_as_sent(session.transcript, session.policy, session.frame.info.window, handover)

    def _events_to_record(self, event: HandoverMade) -> tuple[Event, ...]:
        """Return the event with the usage before and after it. Raises CompactionRefused if outdated."""
        policy, frame, transcript = self._session.policy, self._session.frame, self._session.transcript
        active_handover(transcript, event.revises)
        before, after = (
            measure_usage(project(log, policy, frame), log, policy, frame).used
            for log in (transcript, transcript.fork_with(event))
        )
        return (msgspec.structs.replace(event, before=before, after=after),)


class Handovers(BackgroundJob):
    """One session's handovers, at most one at a time.

    `writer` writes those that the user asks for, too; `revisions` are those that the user edits.
    """

    def __init__(
        self,
        session: Session,
        rewriter: WindowRewriter,
        approvals: SpendApprovals | None,
        checkpoints: BackgroundJob,
    ) -> None:
        super().__init__(session, "handover", approvals)
        self._rewriter, self._checkpoints = rewriter, checkpoints
        self.writer = HandoverWriter(session, rewriter)
        self.revisions = HandoverRevisions(session, self.writer)
        self._saved_draft = _newest_draft(session.log)
        self._is_due = False  # True while what is written started at the threshold
        session.on(EventRecorded | RequestChanged, self._cancel_needless)

    def _cancel_needless(self, update: EventRecorded | RequestChanged) -> None:
        """Cancel a due handover once other changes made the room that it has to make, or turned it off."""
        match update:
            case EventRecorded(recorded=RecordedEvent(event=HandoverMade())):
                self._is_due, self._saved_draft = False, None
            case _ if self._is_due:
                gauge, policy = self._rewriter.gauge(), self._session.policy
                least = planner.least_gain(policy, gauge)
                if not policy.enabled or not gauge.trigger_at(gauge.used + least).is_due:
                    self._is_due = False
                    self.cancel()

    @property
    def is_busy(self) -> bool:
        """True while one is written, to be recorded or as a draft."""
        return self.is_running or self.writer.is_drafting

    def start_due(self, refresh: bool = False) -> None:
        """Start the due handover, if there is one and none is written.

        With `refresh`, the figures of an open spend request for it are updated.
        """
        if self.is_busy:
            return
        policy, transcript = self._session.policy, self._session.transcript
        gauge = self._rewriter.gauge()
        if self.is_asking and (not gauge.is_due or planner.handover_now(transcript, policy, gauge) is None):
            self.withdraw_request()
        cut = planner.handover_due(transcript, policy, gauge, self._session.clock())
        current = transcript.window.handover
        if cut is not None and not self.is_blocked(current[0] if current else 0, gauge.used, refresh):
            self._start_job(lambda: self._run_due(cut))

    async def wait_for_room(self, wait: SummaryWait) -> OptionalText:
        """Have a model write the handover that a full context needs, and wait for it.

        Return why none could write it; empty if one did, or if none would help. What runs is waited for, else
        one is started, whatever the time since the last: the request can't be sent without it.
        """
        before = self._session.transcript.last_seq
        if not self.is_running and (reason := self._start_for_room()) is not None:
            return reason
        return await wait.wait_for(self) or self._why_none_since(before)

    def _start_for_room(self) -> OptionalText | None:
        """Start a handover by a model. Return why that can't be, None once it runs."""
        transcript, gauge = self._session.transcript, self._rewriter.gauge()
        cut = planner.handover_now(transcript, self._session.policy, gauge)
        if cut is None:
            return ""
        if planner.is_breaker_open(transcript):
            return self._why_none_since(0)
        current = transcript.window.handover
        if self.is_blocked(current[0] if current else 0, gauge.used, refresh=False):
            return _text("Its cost wasn't approved, or exceeds the budget.")
        self._start_job(lambda: self._run_due(cut, trigger=FULL_WINDOW))
        return None

    def _why_none_since(self, seq: int) -> OptionalText:
        """Return why the newest handover after `seq` failed; empty if one was made."""
        for recorded in reversed(self._session.log[seq:]):
            match recorded.event:
                case HandoverMade():
                    return ""
                case HandoverFailed(what=what, why=why):
                    return join_sentences(what, why)
        return _text("It was canceled, or its cost wasn't approved.")

    async def _run_due(
        self, cut: CutPoint, ask_model: bool = True, trigger: CompactionTrigger | None = None
    ) -> bool:
        """Run a due handover, or ask about it; if the turn ended meanwhile, retry with the cut due then.

        Without a `trigger` it is what the policy says. A checkpoint that is being written comes first: the
        handover begins with that.
        """
        await self._checkpoints.wait()
        policy, transcript = self._session.policy, self._session.transcript
        trigger = trigger or self._rewriter.gauge().trigger
        while True:
            self._is_due = trigger.kind.is_by_policy
            try:
                is_made = await self.writer.run(trigger, cut, "", ask_model, self.require_approval)
            finally:
                self._is_due = False
            if is_made:
                return True
            current = planner.handover_now(transcript, policy, self._rewriter.gauge())
            if transcript.turn_open or not self.is_asking or current in (None, cut):
                return False
            cut = current

    def answer_request(self, reply: SpendReply) -> None:
        """Apply the user's answer to the spend request; do nothing if none is open.

        If refused, the window stays as it is until it is full; then room is made without a model.
        """
        if not self._answer(reply == "allow") or reply == "refuse":
            return
        cut = planner.handover_now(self._session.transcript, self._session.policy, self._rewriter.gauge())
        if cut is not None:
            self._start_job(lambda: self._run_due(cut, ask_model=reply == "allow"))

    def start(self, focus: str = "") -> None:
        """Start a handover up to the furthest cut, unless one runs.

        Raises CompactionRefused if there is nothing to cover, ModelNotChosen.
        """
        self._session.model_choice.require()
        transcript, policy = self._session.transcript, self._session.policy
        cut = cut_on_request(transcript, policy, self._rewriter.gauge())
        self._start_job(lambda: self.writer.run(ON_REQUEST, cut, focus))

    async def save_draft(self, draft: HandoverDraft, text: str, rerun_seq: int, is_whole: bool) -> None:
        """Save a draft that the user leaves, until the context that it covers changes. Raises StoreError.

        It is recorded with what it cost: should it be used later, it is paid for already.
        """
        event = draft.event
        paid = msgspec.structs.replace(event, index="", spent=0, cost=0.0, estimated=False, unpriced=0)
        context = self._covered_context(event)
        saved = SavedHandoverDraft(paid, text, context, rerun_seq, is_whole, draft.doubt, draft.sweep_savings)
        if saved != self._saved_draft:
            self._saved_draft = saved
            await self._session.unused.record(spending_of(event), saved)

    def restore_draft(self, rerun_seq: int, is_whole_possible: bool) -> RestoredDraft | None:
        """Return the draft that was saved of this handover, None if its context is another now."""
        saved = self._saved_draft
        if saved is None or saved.rerun != rerun_seq or (saved.is_whole and not is_whole_possible):
            return None
        event = msgspec.structs.replace(saved.handover, index=digest_of(b""))
        if saved.context != self._covered_context(event) or not takes_place_of_same(
            self._session.transcript, event
        ):
            return None
        cut = CutPoint(event.upto, event.kept, event.messages, 0)
        doubt: OptionalText = verbatim(saved.doubt) if saved.doubt else ""
        draft = HandoverDraft(cut, to_markdown(event.sections), event, doubt, saved.sweep_savings)
        return RestoredDraft(draft, saved.text, saved.is_whole)

    def _covered_context(self, event: HandoverMade) -> str:
        """Return the digest of the messages that a handover covers, and of what the user took out of it."""
        transcript = self._session.transcript
        items = covered_messages(transcript, event.upto, event.kept)
        excluded = sorted(seq for seq in transcript.rewrites.excluded if seq <= event.upto)
        reverts = sorted(transcript.reverted_files.by_path.items())
        return digest_of(msgspec.json.encode(([item.seq for item in items], excluded, reverts)))


def _newest_draft(log: Sequence[RecordedEvent]) -> SavedHandoverDraft | None:
    """Return the newest saved draft, unless a handover was recorded since."""
    for recorded in reversed(log):
        match recorded.event:
            case HandoverDiscarded(draft=SavedHandoverDraft() as draft):
                return draft
            case HandoverMade():
                return None
    return None


log = logging.getLogger(__name__)

IDLE_S = 600  # after which an open session counts as idle


class Checkpoints(BackgroundJob):
    """One session's checkpoints, written one at a time.

    One is begun after a turn, between two steps of a long one or two results of a step, and in an open
    session that is idle for `idle_s` seconds. Where nobody stays behind a turn, as in `run` (`stays_open` is
    False), none is begun at its end. A failure changes nothing and shows nothing: the next one is tried
    later, after three none until the session is opened again.
    """

    def __init__(
        self,
        session: Session,
        rewriter: WindowRewriter,
        approvals: SpendApprovals | None,
        may_start: Callable[[], bool],
        stays_open: bool,
    ) -> None:
        super().__init__(session, "checkpoint", approvals)
        self._may_start, self._stays_open = may_start, stays_open
        self._writer = HandoverWriter(session, rewriter, is_published=False)
        self._idle_timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._failed_at_ms = 0
        self._is_ending = False
        self.idle_s: float = IDLE_S
        self.on_done: Callable[[], None] = lambda: None
        session.on(ToolAnswered, lambda _: self._begin_between_results())

    @property
    def is_running(self) -> bool:
        return super().is_running and not self._is_ending

    def _begin_between_results(self) -> None:
        """Begin one between two results of a step; behind the last one it is the next request's to do."""
        if self._session.transcript.open_calls:
            self.start_due()

    def start_due(self, is_idle: bool = False) -> None:
        session = self._session
        if self.is_running or session.model_choice.pending:
            return
        now = session.clock()
        waited = now - self._failed_at_ms
        if self._failures and 0 <= waited < planner.backoff_ms(session.policy, self._failures):
            return
        upto = planner.checkpoint_due(session.transcript, session.policy, now, is_idle)
        newest = planner.newest_summary(session.transcript)
        if (
            upto
            and self._failures < planner.BREAKER_FAILURES
            and self._may_start()
            and not self.is_blocked(newest[0] if newest is not None else 0, upto, refresh=False)
        ):
            self._is_ending = False
            self._start_job(lambda: self._write(upto))

    def after_turn(self) -> None:
        """Begin what is due after a turn, or at the opening, and wait for the session to be idle."""
        if not self._stays_open:
            return
        self.start_due()
        self.stop_waiting()
        self._idle_timer = asyncio.get_running_loop().call_later(self.idle_s, self._on_idle)

    def stop_waiting(self) -> None:
        """Begin none when the session is idle: it is closed."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()

    def _on_idle(self) -> None:
        if not self._session.transcript.turn_open:
            self.start_due(is_idle=True)

    async def _write(self, upto: int) -> bool:
        session, transcript = self._session, self._session.transcript
        newest = planner.newest_summary(transcript)
        messages = transcript.messages
        history = messages.full_tokens_after(newest[1].upto if newest is not None else 0)
        history -= messages.full_tokens_after(upto)
        try:
            if not transcript.turn_open:  # shown only, it may be another process's
                await session.require_writable()
            handover, read = await self._writer.prepare(upto, self._approve)
        except (CompactionRefused, SpendNotApproved, StoreError) as error:
            self._failures, self._failed_at_ms = self._failures + 1, self._session.clock()
            log.info("a checkpoint was not written: %s", error)
            if not isinstance(error, StoreError):
                await session.unused.record(self._writer.spent)
            return False
        self._failures = 0
        spent = self._writer.spent

        def events() -> list[HandoverDiscarded]:
            is_whole = transcript.messages.item(upto) is not None  # else a repeated step dropped messages
            return [_event(spent, HandoverPrepared(handover, history, read) if is_whole else None)]

        await session.record_decided(events)
        self._is_ending = True
        self.on_done()
        return True

    def _approve(self, estimate: CostEstimate) -> None:
        """Keep to the budget. No one is asked about a checkpoint: one over the limit is not written."""
        limit = self._session.policy.ask_above
        if limit and estimate.tokens > limit and not estimate.demo:
            raise SpendNotApproved
        self.require_approval(estimate)


def _event(spent: Spending, prepared: HandoverPrepared | None) -> HandoverDiscarded:
    return HandoverDiscarded(spent.tokens, spent.cost, spent.estimated, spent.unpriced, prepared)


OverflowStep = Callable[[int], Awaitable[None]]
"""Frees about so many tokens of the model, or what it can."""


class OverflowSteps:
    """The steps run when a request would not fit, or when the provider rejected it as too large.

    What the newest call was given leaves first if that frees most: it was carried out. What the newest step
    read leaves after everything older but before messages do; its last output stays until no summary came.
    """

    def __init__(self, session: Session, rewriter: WindowRewriter, writer: HandoverWriter) -> None:
        self._session, self._rewriter, self._writer = session, rewriter, writer

    async def free(self, limit: int) -> bool:
        """Free what is over `limit` tokens, without loss of words. Return True if that was enough.

        What the user brought back stays while anything older can leave.
        """
        return await self._run(
            limit,
            lambda _: self._rewriter.sweep_newest_call(),
            lambda tokens: self._rewriter.sweep_oldest(tokens, 1, restored=False),
            lambda tokens: self._rewriter.sweep_images(tokens, restored=False),
            lambda _: self._place_observations(restored=False),
            self._rewriter.fold_oldest,
            lambda tokens: self._rewriter.sweep_oldest(tokens, 1),
            self._rewriter.sweep_images,
            lambda _: self._place_observations(),
            lambda tokens: self._rewriter.sweep_oldest(tokens, 0, last=False),
        )

    async def finish(self, limit: int, floor: int, why_no_model: OptionalText) -> bool:
        """Free it when no summary came, for that reason. Return True if the request fits now.

        Messages that have to be left out are those down to `floor` tokens: so it is not done at each step.
        """
        if await self._run(limit, lambda tokens: self._rewriter.sweep_oldest(tokens, 0)):
            return True
        await self._make_handover(why_no_model)
        return await self._run(
            limit,
            lambda _: self._rewriter.truncate(self._used_tokens - floor, why_no_model),
            lambda tokens: self._rewriter.sweep_images(tokens, newest=True),
        )

    async def _run(self, limit: int, *steps: OverflowStep) -> bool:
        """Run each step for as long as it frees something and something is over the limit."""
        for step in steps:
            rewrite_seq = -1
            while self._used_tokens > limit and rewrite_seq != self._last_rewrite_seq:
                rewrite_seq = self._last_rewrite_seq
                await step(self._used_tokens - limit)
        return self._used_tokens <= limit

    @property
    def _used_tokens(self) -> int:
        return self._rewriter.gauge().used

    @property
    def _last_rewrite_seq(self) -> int:
        return self._session.transcript.window.last_rewrite_seq

    async def _place_observations(self, restored: bool = True) -> None:
        """Put prepared observations in place; of what the user brought back only if `restored`."""
        transcript = self._session.transcript
        pending_seq = observation.pending_observations(transcript)
        if pending_seq is None:
            return
        made = transcript.rewrites.observations[pending_seq]
        if restored or not observation.covers_restored_entries(transcript, made):
            await self._rewriter.place_observations(pending_seq, PlacementReason.OVERFLOW)

    async def _make_handover(self, why_no_model: OptionalText) -> None:
        gauge = self._rewriter.gauge()
        cut = planner.handover_now(self._session.transcript, self._session.policy, gauge)
        if cut is not None:
            await self._writer.run(FULL_WINDOW, cut, ask_model=False, why_no_model=why_no_model)


text = TextContext("Agent")

_MARGIN = 0.05  # of a reported window: its tokens of what was read since are by our count


class ContextManager:
    """The manager of one session's window, live and in replay alike."""

    def __init__(
        self,
        session: Session,
        approvals: SpendApprovals | None = None,
        may_start: Callable[[], bool] = lambda: True,
        stays_open: bool = True,
    ) -> None:
        """With `approvals`, background work keeps to the budget, and asks first where the policy says so.

        For the others see `Checkpoints`.
        """
        self._session = session
        self.rewriter = WindowRewriter(session)
        self.early_rewrites = EarlyRewrites(session, self.rewriter)
        self.checkpoints = Checkpoints(
            session, self.rewriter, approvals, lambda: may_start() and self._is_calm(), stays_open
        )
        self.checkpoints.on_done = self._after_checkpoint
        self.handovers = Handovers(session, self.rewriter, approvals, self.checkpoints)
        self.observations = Observations(session, self.rewriter, approvals)
        self.summary_wait = SummaryWait(session)
        self._overflow_steps = OverflowSteps(session, self.rewriter, self.handovers.writer)
        self._validator = request_validation.RequestValidator()

    async def prepare_window(self) -> Window:
        """Return the window to send: due rewrites applied, a due handover started, and validated.

        Raises RequestTooLarge or RequestInvalid if it cannot be sent.
        """
        await self.apply_due_work()
        await self._session.drain()  # no request has what may not be stored
        window, gauge = self.rewriter.measure()
        if not gauge.fits:
            raise self._too_large_error(window, gauge)
        return self._validated(window)

    async def apply_due_work(self) -> UsageGauge:
        """Apply the rewrites that are due before a request, start a due handover; return the usage then."""
        policy = self._session.policy
        is_on_hold = self._session.transcript.on_hold
        await self.early_rewrites.wait()
        if not self.early_rewrites.suffice():
            await self.rewriter.apply_due_rewrites()
        if not is_on_hold:
            self._start_due_handover()
        gauge = self.rewriter.gauge()
        if planner.must_make_room(self._session.transcript, policy, gauge):
            await self._make_room(gauge.limit, int(policy.panic_to * gauge.window))
            gauge = self.rewriter.gauge()
        self.checkpoints.start_due()
        return gauge

    async def make_room_after_overflow(self, rejection: ContextWindowExceeded) -> Sequence[int] | None:
        """Make room after the provider rejected a request as too large; return the events for that alone.

        None if the window did not shrink. The window size it reports is used, in its own tokens: it may be
        far smaller than the configured one. Where it does not report both its window and its count of the
        request, the share is freed that the policy says: by how much the request was too large is not known.
        """
        policy, transcript = self._session.policy, self._session.transcript
        if not policy.enabled:
            return None
        gauge = self.rewriter.gauge()
        limit = int(policy.panic_to * min(gauge.used, rejection.window_size or gauge.window))
        if rejection.window_size and rejection.request_tokens:
            token_ratio = gauge.used / rejection.request_tokens
            answer_share = max(_MARGIN, gauge.reserve / gauge.window)
            limit = int(min(gauge.used, rejection.window_size * token_ratio) * (1 - answer_share))
        first = await self._make_room(limit, limit)
        is_smaller = self.rewriter.gauge().used < gauge.used
        return range(first, transcript.last_seq + 1) if is_smaller else None

    async def put_back(self, seqs: Sequence[int]) -> None:
        """Undo the rewrites among these events, the newest first: the provider refused what was left too."""
        for seq in reversed(seqs):
            if self._session.transcript.can_undo(seq):
                await self._session.record(Undone(seq, refused=True))

    async def _make_room(self, limit: int, floor: int) -> int:
        """Make the next request have at most `limit` tokens, by as little as it takes.

        First by what needs no model and loses no words; then by the handover that is being written, or is
        started now, for which it waits. Only where no model can write one, by the last steps, down to
        `floor`. Return the first event of what was made for this alone.
        """
        transcript = self._session.transcript
        first = transcript.last_seq + 1
        if await self._overflow_steps.free(limit):
            return first
        why_no_model = await self.observations.wait_for_room(self.summary_wait)
        if await self._overflow_steps.free(limit):
            return first
        handover = transcript.window.handover
        if not why_no_model:
            why_no_model = await self.handovers.wait_for_room(self.summary_wait)
        if transcript.window.handover != handover:  # a model wrote it: it stays, whatever the server says
            first = transcript.last_seq + 1
        if not await self._overflow_steps.free(limit):
            await self._overflow_steps.finish(limit, floor, why_no_model)
        return first

    def after_turn(self) -> None:
        """Start the work due at the end of a turn: a handover, or else observations; on hold nothing."""
        if self._session.transcript.on_hold:
            return
        if not self.observations.are_pending:  # they may make room enough with the next request
            self._start_due_handover(refresh=True)
        if not self.handovers.is_busy and not self.checkpoints.is_running:
            self.observations.start_due()
        self.checkpoints.after_turn()

    def _is_calm(self) -> bool:
        """Return True if nothing else is written, and the window is not under pressure: one at a time."""
        is_writing = self.handovers.is_busy or self.observations.is_running
        return not is_writing and not self.rewriter.gauge().is_due

    def _after_checkpoint(self) -> None:
        if not self._session.transcript.turn_open:
            self.after_turn()

    def _start_due_handover(self, refresh: bool = False) -> None:
        """Start a handover that is due, unless observations make the room that it would."""
        if self.handovers.is_busy or not self.observations.start_in_place_of_handover():
            self.handovers.start_due(refresh)

    async def wait_for_background_work(self) -> None:
        await self.handovers.wait()
        await self.observations.wait()

    def _too_large_error(self, window: Window, gauge: UsageGauge) -> RequestTooLarge:
        rows = break_down_window(window, self._session.transcript, self._session.frame)
        largest = max(rows, key=lambda row: row.tokens)
        why = join_sentences(
            text(
                "It needs about {used} tokens plus {reserve} for the answer; the model has {window}.",
                used=gauge.used,
                reserve=gauge.reserve,
                window=gauge.window,
            ),
            text(
                "The largest part is {name} with {tokens} tokens.", name=largest.name, tokens=largest.tokens
            ),
        )
        what = text("The next request doesn't fit the context window.")
        if not self._session.policy.enabled:
            remedies: tuple[Remedy, ...] = ("policy_settings",)
            return RequestTooLarge(
                what,
                why,
                text("Context management is off. Turn it on in Settings → Context policy."),
                remedies=remedies,
            )
        return RequestTooLarge(
            what, why, text("Choose a model with a larger context window, or start a new session.")
        )

    def _validated(self, window: Window) -> Window:
        messages = window.request.messages
        if not self._validator.problems(messages):
            return window
        repaired = request_validation.repair_request(messages)
        remaining_problems = request_validation.problems(repaired)
        if remaining_problems:
            raise RequestInvalid(
                text("The next request is invalid and wasn't sent."),
                verbatim("; ".join(remaining_problems)),
                text("Undo the last context change, or report this problem."),
            )
        log.info(
            "a request was mended before it was sent: %s", "; ".join(request_validation.problems(messages))
        )
        return msgspec.structs.replace(window, request=ModelRequest(repaired, window.request.tools))
