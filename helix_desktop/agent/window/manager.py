"""The context manager: prepares the next request's window, and starts background work that needs a model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial

import msgspec

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.ports import Clock
from helix_desktop.agent.session import Session
from helix_desktop.agent.session_updates import ErrorRaised
from helix_desktop.agent.spend_approvals import SpendApprovals
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.observer import Observer
from helix_desktop.agent.window.overflow_ladder import OverflowLadder
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.context.window import request_validation
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem, break_down_window
from helix_desktop.domain.cost import BackgroundWork, CostEstimate, SpendReply
from helix_desktop.domain.error_remedies import Remedy
from helix_desktop.domain.errors import (
    CompactionRefused,
    ContextWindowExceeded,
    HelixError,
    RequestInvalid,
    RequestTooLarge,
)
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.system.task_scope import TaskScope

log = logging.getLogger(__name__)


class ContextManager:
    """The manager of one session's window, live and in replay alike."""

    def __init__(
        self,
        session: Session,
        rewriter: WindowRewriter,
        compactor: Compactor,
        observer: Observer,
        clock: Clock,
        scope: TaskScope,
        settings: RunSettingsSource,
        budget: SessionBudget | None = None,
        approvals: SpendApprovals | None = None,
    ) -> None:
        """With a `budget`, work that needs a model does not start on its own once the budget is spent.

        With `approvals`, expensive work asks for approval first.
        """
        self._session, self._rewriter = session, rewriter
        self._compactor, self._observer = compactor, observer
        self._clock, self._scope, self._settings, self._budget = clock, scope, settings, budget
        self._approvals = approvals
        self._observation_is_manual = False
        self._validator = request_validation.RequestValidator()
        self._ladder = OverflowLadder(session, rewriter, compactor, settings)
        self._compaction: asyncio.Task[None] | None = None
        self._observation: asyncio.Task[None] | None = None

    def measure(self) -> tuple[Window, UsageGauge]:
        """Return the window of the next request, and its usage."""
        return self._rewriter.measure()

    def rows(self) -> tuple[WindowItem, ...]:
        """Return the items of the window."""
        _, frame, _ = self._settings()
        return break_down_window(self.measure()[0], self._session.transcript, frame)

    async def prepare_window(self) -> Window:
        """Return the window to send: due rewrites applied, a due handover started, and validated.

        Raises RequestTooLarge or RequestInvalid if it cannot be sent.
        """
        policy, _, _ = self._settings()
        await self._rewriter.apply_due_rewrites()
        self.start_due_handover()
        window, gauge = self.measure()
        if policy.enabled and (not gauge.fits or gauge.pressure == "panic"):
            await self._make_room(int(policy.panic_to * gauge.window))
            window, gauge = self.measure()
        if not gauge.fits:
            raise self._too_large_error(gauge, policy)
        return self._validated(window)

    async def make_room_after_overflow(self, rejection: ContextWindowExceeded) -> bool:
        """Make room after the provider rejected a request as too large. Return True if the window shrank.

        The window size it reports is used, in its own tokens: it may be far smaller than the configured one.
        """
        policy, _, _ = self._settings()
        if not policy.enabled:
            return False
        _, gauge = self.measure()
        fits = min(gauge.used, gauge.window)
        if rejection.window:
            token_ratio = gauge.used / rejection.request_tokens if rejection.request_tokens else 1.0
            fits = min(fits, int(rejection.window * token_ratio))
        await self._make_room(int(policy.panic_to * fits))
        return self.measure()[1].used < gauge.used

    async def mask_messages(self, seqs: Sequence[int]) -> None:
        """Replace the images of these messages by text and hash, after a model's server rejected them."""
        await self._rewriter.mask_messages(seqs)

    async def _make_room(self, target_tokens: int) -> None:
        """Make a request fit: await the running handover, then run the overflow ladder if needed."""
        if self._compaction is not None and self._is_compacting:
            await asyncio.wait([self._compaction])
            if self.measure()[1].used <= target_tokens:
                return
        await self._ladder.make_fit(target_tokens)

    def after_turn(self) -> None:
        """Start the work due at the end of a turn: a handover, or else observations."""
        self.start_due_handover(refresh=True)
        if self._is_compacting or self._compactor.is_drafting or self._is_budget_exhausted:
            return
        event_range = self._observer.find_due()
        if event_range is not None and not self._is_blocked(
            "observations", (event_range.after, event_range.replaces), event_range.tokens, refresh=True
        ):
            self._start_observation(event_range)

    def observe(self) -> None:
        """Start manual observations, to be placed at once, or place the pending ones.

        Raises CompactionRefused if there is nothing to observe, or if observations are running already.
        """
        if self._observation is not None and not self._observation.done():
            raise CompactionRefused("Already running.", "Observations are being written.", "Wait, or cancel.")
        pending_seq = observation.pending_observations(self._session.transcript)
        event_range = self._observer.find_possible() if pending_seq is None else None
        if pending_seq is None and event_range is None:
            raise CompactionRefused(
                "Nothing to observe yet.",
                "The newest complete turn always stays whole, and everything older is observed already.",
                "Send another message first.",
            )
        self._start_observation(event_range, is_manual=True)

    def _start_observation(self, event_range: EventRange | None, is_manual: bool = False) -> None:
        if self._observation is None or self._observation.done():
            self._observation_is_manual = is_manual
            work = self._reporting(
                lambda: self._observer.run(
                    event_range, is_manual, partial(self._require_approval, "observations")
                )
            )
            self._observation = self._scope.start(work, f"observation {self._session.id}")

    def start_due_handover(self, refresh: bool = False) -> None:
        """Start the due handover, if there is one and none runs.

        With `refresh`, the figures of an open spend request for it are updated.
        """
        policy, _, _ = self._settings()
        if self._is_compacting or self._compactor.is_drafting or self._is_budget_exhausted:
            return
        transcript = self._session.transcript
        _, gauge = self.measure()
        if self._approvals is not None and (
            gauge.pressure == "none" or planner.handover_now(transcript, policy, gauge) is None
        ):
            self._approvals.withdraw("handover")
        due = planner.handover_due(transcript, policy, gauge, self._clock())
        current = transcript.handover
        if due is not None and not self._is_blocked(
            "handover", current[0] if current else 0, gauge.used, refresh
        ):
            self._start_handover(due.cut)

    def _start_handover(self, cut: CutPoint, ask_model: bool = True) -> None:
        """Start a due handover."""
        self._start_compaction(lambda: self._run_due(cut, ask_model))

    async def _run_due(self, cut: CutPoint, ask_model: bool) -> bool:
        """Run a due handover, or ask about it; if the turn ended meanwhile, retry with the cut due then."""
        policy, _, _ = self._settings()
        transcript, approve = self._session.transcript, partial(self._require_approval, "handover")
        while True:
            if await self._compactor.run(
                HandoverTrigger.THRESHOLD, cut, "", ask_model, policy.handover_at, approve
            ):
                return True
            plan = planner.handover_now(transcript, policy, self.measure()[1])
            if transcript.turn_open or not self._is_asking("handover") or plan is None or plan.cut == cut:
                return False
            cut = plan.cut

    def compact(self, trigger: HandoverTrigger, cut: CutPoint, focus: str = "") -> None:
        """Start a handover in the background, unless one runs."""
        self._start_compaction(lambda: self._compactor.run(trigger, cut, focus))

    def _start_compaction(self, work: Callable[[], Awaitable[bool]]) -> None:
        if not self._is_compacting:
            self._compaction = self._scope.start(self._reporting(work), f"compaction {self._session.id}")

    def answer_spend_ask(self, work: BackgroundWork, answer: SpendReply) -> None:
        """Apply the user's answer to a spend request; do nothing if it is no longer open.

        If refused, the window stays as it is until it is full; then room is made without a model.
        """
        if self._approvals is None or not self._approvals.answer(work, answer == "allow"):
            return
        if answer == "refuse":
            return
        if work == "observations":
            event_range = (
                self._observer.find_possible() if self._observation_is_manual else self._observer.find_due()
            )
            if event_range is not None:
                self._start_observation(event_range, self._observation_is_manual)
            return
        policy, _, _ = self._settings()
        plan = planner.handover_now(self._session.transcript, policy, self.measure()[1])
        if plan is not None:
            self._start_handover(plan.cut, ask_model=answer == "allow")

    def _is_blocked(self, work: BackgroundWork, subject: Hashable, size: int, refresh: bool) -> bool:
        return self._approvals is not None and self._approvals.is_blocked(work, subject, size, refresh)

    def _is_asking(self, work: BackgroundWork) -> bool:
        return self._approvals is not None and any(ask.work == work for ask in self._approvals.asks)

    def _require_approval(self, work: BackgroundWork, estimate: CostEstimate) -> None:
        """Raise SpendNotApproved while work may not start."""
        if self._approvals is not None:
            self._approvals.check(work, estimate)

    @property
    def _is_budget_exhausted(self) -> bool:
        return self._budget is not None and self._budget.is_exhausted

    @property
    def _is_compacting(self) -> bool:
        return self._compaction is not None and not self._compaction.done()

    async def _reporting(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Run background work; publish an error, because no caller awaits it."""
        try:
            await work()
        except HelixError as error:
            self._session.publish(ErrorRaised(error.what, error.why, error.fix, error.remedies))

    async def wait_for_background_work(self) -> None:
        """Wait for the running handover and observations, if any."""
        for task in (self._compaction, self._observation):
            if task is not None:
                await asyncio.wait([task])

    def cancel_compaction(self) -> None:
        """Cancel the running handover; nothing changes."""
        if self._compaction is not None:
            self._compaction.cancel()

    def cancel_observation(self) -> None:
        """Cancel the running observations; nothing changes."""
        if self._observation is not None:
            self._observation.cancel()

    def _too_large_error(self, gauge: UsageGauge, policy: ContextPolicy) -> RequestTooLarge:
        largest = max(self.rows(), key=lambda row: row.tokens)
        why = (
            f"It needs about {gauge.used:,} tokens and {gauge.reserve:,} for the answer; the window holds "
            f"{gauge.window:,}. The largest part is {largest.name} with {largest.tokens:,} tokens."
        )
        what = "The next request does not fit."
        if not policy.enabled:
            remedies: tuple[Remedy, ...] = ("policy_settings",)
            return RequestTooLarge(what, why, "Compaction is off: turn a profile on.", remedies=remedies)
        return RequestTooLarge(what, why, "Use a larger window, or begin a new session.")

    def _validated(self, window: Window) -> Window:
        messages = window.request.messages
        if not self._validator.problems(messages):
            return window
        repaired = request_validation.repair_request(messages)
        remaining_problems = request_validation.problems(repaired)
        if remaining_problems:
            raise RequestInvalid(
                "The next request is not valid and was not sent.",
                "; ".join(remaining_problems),
                "Undo the last change, or report this.",
            )
        log.info(
            "a request was mended before it was sent: %s", "; ".join(request_validation.problems(messages))
        )
        return msgspec.structs.replace(window, request=ModelRequest(repaired, window.request.tools))
