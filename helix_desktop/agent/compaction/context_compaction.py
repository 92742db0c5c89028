"""Prepares the window of each request, makes it fit where it must, and starts background work that is due."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.agent.budget import SpendApprovals
from helix_desktop.agent.compaction.checkpoints import Checkpoints
from helix_desktop.agent.compaction.handovers import Handovers
from helix_desktop.agent.compaction.leaving_order import OverflowSteps
from helix_desktop.agent.compaction.observations import Observations
from helix_desktop.agent.compaction.rewriter import EarlyRewrites, WindowRewriter
from helix_desktop.agent.compaction.summarizer import SummaryWait
from helix_desktop.agent.session import Session
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.window import request_validation
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.errors import ContextWindowExceeded, RequestInvalid, RequestTooLarge
from helix_desktop.domain.events.rewrite import Undone
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import TextContext, join_sentences, verbatim

log = logging.getLogger(__name__)

text = TextContext("Agent")

_MARGIN = 0.05  # of a reported window: its tokens of what was read since are by our count


class ContextCompaction:
    """The compaction of one session's context, live and in replay alike."""

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
        if compaction_due.must_make_room(self._session.transcript, policy, gauge):
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
