"""Prepares the window of each request, makes it fit where it must, and starts background work that is due."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from helix_desktop.agent.budget import SpendApprovals, SpendNotApproved
from helix_desktop.agent.compaction.handover_writer import HandoverWriter
from helix_desktop.agent.compaction.handovers import Handovers
from helix_desktop.agent.compaction.observations import Observations
from helix_desktop.agent.compaction.rewriter import EarlyRewrites, WindowRewriter
from helix_desktop.agent.compaction.summarizer import BackgroundJob, SummaryWait
from helix_desktop.agent.session import PreparationProgress, Session, TurnChanged
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.summaries import observation
from helix_desktop.context.window import request_validation
from helix_desktop.context.window.used_tokens import FULL_WINDOW, UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.errors import (
    CompactionRefused,
    ContextWindowExceeded,
    RequestInvalid,
    RequestTooLarge,
    StoreError,
)
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import PlacementReason, Undone
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverPrepared
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import OptionalText, TextContext, join_sentences, verbatim

log = logging.getLogger(__name__)
text = TextContext("Agent")

OverflowStep = Callable[[int], Awaitable[None]]
"""Frees about so many tokens of the model, or what it can."""


class OverflowSteps:
    """The steps run when a request would not fit, or when the provider rejected it as too large.

    A message that fits no request is cut by itself, before others leave in its place. Then what the newest
    call was given leaves if that frees most: it was carried out. What the newest step read leaves after
    everything older, its last output after the summary that is made without a model.
    """

    def __init__(self, session: Session, rewriter: WindowRewriter, writer: HandoverWriter) -> None:
        self._session = session
        self._rewriter = rewriter
        self._writer = writer

    async def free(self, limit: int) -> bool:
        """Free what is over `limit` tokens, without loss of words. Return True if that was enough.

        What the user brought back stays while anything older can leave.
        """
        return await self._run(
            limit,
            lambda _: self._rewriter.sweep_unfitting(limit),
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

        What the newest step read leaves last: the model has not seen it yet. Messages that have to be left
        out are those down to `floor` tokens: so it is not done at each step.
        """
        gauge = self._rewriter.gauge()
        range_ = compaction_due.handover_now(self._session.transcript, self._session.policy, gauge)
        if range_ is not None:
            await self._writer.run(FULL_WINDOW, range_, ask_model=False, why_no_model=why_no_model)
        return await self._run(
            limit,
            lambda tokens: self._rewriter.sweep_oldest(tokens, 0),
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


class Checkpoints(BackgroundJob):
    """One session's checkpoints, summaries to compact messages later: written one at a time.

    One is begun while a turn of this process runs, between two steps or two results of a step, or right after
    it; none while `may_start` says no. A failure is recorded: what was read is not read again until enough
    came after it. A refusal by the budget changes nothing and shows nothing.
    """

    def __init__(
        self,
        session: Session,
        rewriter: WindowRewriter,
        approvals: SpendApprovals | None,
        may_start: Callable[[], bool],
    ) -> None:
        super().__init__(session, "checkpoint", approvals)
        self._may_start = may_start
        self._writer = HandoverWriter(session, rewriter, is_published=False)
        self._is_turn_running = False
        self._is_ending = False
        self.on_done: Callable[[], None] = lambda: None
        session.on(TurnChanged, self._follow_turn)
        session.on(ToolAnswered, lambda _: self._begin_between_results())

    @property
    def is_running(self) -> bool:
        return super().is_running and not self._is_ending  # `on_done` runs in the job, and may start others

    def _follow_turn(self, turn: TurnChanged) -> None:
        self._is_turn_running = turn.running

    def _begin_between_results(self) -> None:
        """Begin one between two results of a step; behind the last one it is the next request's to do.

        Results that are recorded while a session opens, of calls that a crash cut off, begin none.
        """
        if self._is_turn_running and self._session.transcript.open_calls:
            self.start_due()

    def start_due(self) -> None:
        session = self._session
        if self.is_running or session.model_choice.pending:
            return
        upto = compaction_due.checkpoint_due(session.transcript, session.policy, session.clock())
        newest = compaction_due.newest_summary(session.transcript)
        newest_seq = newest[0] if newest is not None else 0
        if upto and self._may_start() and not self.is_blocked(newest_seq, upto, refresh=False):
            self._is_ending = False
            self._start_job(lambda: self._write(upto))

    async def _write(self, upto: int) -> bool:
        session = self._session
        transcript = session.transcript
        newest = compaction_due.newest_summary(transcript)
        messages = transcript.messages
        history = messages.full_tokens_after(newest[1].upto if newest is not None else 0)
        history -= messages.full_tokens_after(upto)
        try:
            if not transcript.turn_open:  # shown only, it may be another process's
                await session.require_writable()
            handover, read = await self._writer.prepare(upto, self._approve)
        except CompactionRefused as error:
            await self._record_failure(upto, error)
            return False
        except (SpendNotApproved, StoreError) as error:
            log.info("a checkpoint was not written: %s", error)
            return False
        finally:
            session.publish(PreparationProgress("checkpoint"))
        spent = self._writer.spent

        def events() -> list[HandoverDiscarded]:
            is_whole = transcript.messages.item(upto) is not None  # else a repeated step dropped messages
            prepared = HandoverPrepared(handover, history, read) if is_whole else None
            # Of this kind although it is kept: older releases know no other that they could skip.
            return [HandoverDiscarded(spent.tokens, spent.cost, spent.estimated, spent.unpriced, prepared)]

        await session.record_decided(events)
        self._is_ending = True
        self.on_done()
        return True

    async def _record_failure(self, upto: int, error: CompactionRefused) -> None:
        """Record that all tries ended without a summary. Raises StoreError."""
        log.info("a checkpoint was not written: %s", error)
        failed = self._writer.failed_preparation(upto, error)
        spent = self._writer.spent
        await self._session.record(
            HandoverDiscarded(spent.tokens, spent.cost, spent.estimated, spent.unpriced, failed=failed)
        )

    def _approve(self, estimate: CostEstimate) -> None:
        """Keep to the budget. Raises what `require_approval` does."""
        self.require_approval(estimate)
        self._session.publish(PreparationProgress("checkpoint", estimate))


_MARGIN = 0.05  # of a reported window: what was read since is counted by Helix, maybe too low


class ContextCompaction:
    """The compaction of one session's context, live and in replay alike."""

    def __init__(
        self,
        session: Session,
        approvals: SpendApprovals | None = None,
        may_write_checkpoints: Callable[[], bool] = lambda: True,
        is_subagent: bool = False,
    ) -> None:
        """With `approvals`, background work keeps to the budget.

        The session of a subagent ends with its turn: no summary is written again there.
        """
        self._session = session
        self._is_subagent = is_subagent
        self.rewriter = WindowRewriter(session)
        self.early_rewrites = EarlyRewrites(session, self.rewriter)
        self.checkpoints = Checkpoints(
            session, self.rewriter, approvals, lambda: may_write_checkpoints() and self._is_calm()
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
        """Apply the rewrites that are due before a request, start a due handover; return the usage then.

        Where the request would not fit otherwise, this waits for a summary by a model.
        """
        policy = self._session.policy
        is_on_hold = self._session.transcript.on_hold
        await self.early_rewrites.wait()
        why_no_model = await self._take_in_what_fits_nowhere()
        if not self.early_rewrites.suffice():
            await self.rewriter.apply_due_rewrites()
        if not is_on_hold:
            self._start_due_handover()
        gauge = self.rewriter.gauge()
        if not self._has_room():
            await self._make_room(gauge.limit, int(policy.panic_to * gauge.model_window), why_no_model)
            gauge = self.rewriter.gauge()
        self.checkpoints.start_due()
        return gauge

    async def make_room_after_overflow(self, rejection: ContextWindowExceeded) -> Sequence[int] | None:
        """Make room after the provider rejected a request as too large; return the events for that alone.

        None if the window did not shrink. The window size it reports is used, in its own tokens: it may be
        far smaller than the configured one. Where it does not report both its window and its count of the
        request, it shrinks to the share that the policy says: by how much it was too large is not known.
        """
        policy = self._session.policy
        transcript = self._session.transcript
        if not policy.enabled:
            return None
        gauge = self.rewriter.gauge()
        limit = int(policy.panic_to * min(gauge.used, rejection.window_size or gauge.model_window))
        if rejection.window_size and rejection.request_tokens:
            token_ratio = gauge.used / rejection.request_tokens
            answer_share = max(_MARGIN, gauge.reserve / gauge.model_window)
            limit = int(min(gauge.used, rejection.window_size * token_ratio) * (1 - answer_share))
        first = await self._make_room(limit, limit)
        is_smaller = self.rewriter.gauge().used < gauge.used
        return range(first, transcript.last_seq + 1) if is_smaller else None

    async def put_back(self, seqs: Sequence[int]) -> None:
        """Undo the rewrites among these events, the newest first: the provider refused what was left too."""
        for seq in reversed(seqs):
            if self._session.transcript.can_undo(seq):
                await self._session.record(Undone(seq, refused=True))

    async def _take_in_what_fits_nowhere(self) -> OptionalText:
        """Cut what is too large for any request, and have a model summarize an import that is too long.

        Of that the outputs become markers first: they come back as they were. Return why no model wrote the
        summary; empty if one did, or none is needed.
        """
        limit = self.rewriter.gauge().limit
        if self._has_room():
            return ""
        await self.rewriter.sweep_unfitting(limit)
        if self._has_room() or not compaction_due.is_unsent_import(self._session.transcript):
            return ""
        await self.rewriter.sweep_oldest(self.rewriter.gauge().used - limit, 1)
        return "" if self._has_room() else await self.handovers.wait_for_room(self.summary_wait)

    def _has_room(self) -> bool:
        """Return True if the next request may be sent as it is."""
        session = self._session
        return not compaction_due.must_make_room(session.transcript, session.policy, self.rewriter.gauge())

    async def _make_room(self, limit: int, floor: int, why_no_model: OptionalText = "") -> int:
        """Make the next request have at most `limit` tokens, by as little as it takes.

        First by what needs no model and loses no words; then by the handover that is being written, or is
        started now, for which it waits. Only where no model can write one, by the last steps, down to
        `floor`, at once if it is known `why_no_model` can. Return the first event of what was made for this
        alone.
        """
        transcript = self._session.transcript
        first = transcript.last_seq + 1
        if await self._overflow_steps.free(limit):
            return first
        why_no_model = why_no_model or await self.observations.wait_for_room(self.summary_wait)
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
        """Start the work due at the end of a turn: a handover, or else observations; on hold nothing.

        A handover made without a model is written again by one that answered in the turn.
        """
        if self._session.transcript.on_hold:
            return
        if not self.observations.are_pending:  # they may make room enough with the next request
            self._start_due_handover()
        if not self._is_subagent:
            self.handovers.start_replacement()
        if not self.handovers.is_busy and not self.checkpoints.is_running:
            self.observations.start_due()
        self.checkpoints.start_due()

    def _is_calm(self) -> bool:
        """Return True if nothing else is written, and the window is not under pressure: one at a time."""
        is_writing = self.handovers.is_busy or self.observations.is_running
        return not is_writing and not self.rewriter.gauge().is_due

    def _after_checkpoint(self) -> None:
        if not self._session.transcript.turn_open:
            self.after_turn()

    def _start_due_handover(self) -> None:
        """Start a handover that is due, unless observations make the room that it would."""
        if self.handovers.is_busy or not self.observations.start_in_place_of_handover():
            self.handovers.start_due()

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
                window=gauge.model_window,
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
