"""The steward: makes the next request's window ready, and starts beside it what needs a model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial

import msgspec

from helix_desktop.agent.compactor import Compactor
from helix_desktop.agent.observer import Observer
from helix_desktop.agent.panic import Ladder
from helix_desktop.agent.ports import Clock
from helix_desktop.agent.purse import Purse
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.spend_approvals import SpendApprovals
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.update import Trouble
from helix_desktop.agent.upkeep import Upkeep
from helix_desktop.context import observation, planner, validity
from helix_desktop.context.budget import Gauge
from helix_desktop.context.cut import Cut
from helix_desktop.context.errors import (
    CompactionRefused,
    HelixError,
    ModelOverflow,
    RequestInvalid,
    RequestTooLarge,
)
from helix_desktop.context.message import Request
from helix_desktop.context.observation import Stretch
from helix_desktop.context.policy import Policy
from helix_desktop.context.remedy import Remedy
from helix_desktop.context.rewrite_kind import Trigger
from helix_desktop.context.rows import Row, rows_of
from helix_desktop.context.spending import BackgroundWork, Estimate, SpendAnswer
from helix_desktop.context.window import Window

log = logging.getLogger(__name__)


class Steward:
    """Looks after one session's window, live and in replay alike."""

    def __init__(
        self,
        session: Session,
        upkeep: Upkeep,
        compactor: Compactor,
        observer: Observer,
        clock: Clock,
        scope: TaskScope,
        settings: Settings,
        purse: Purse | None = None,
        approvals: SpendApprovals | None = None,
    ) -> None:
        """With a purse, nothing is started by itself that needs a model when there is no budget for it.

        With approvals, what would read much asks first.
        """
        self._session, self._upkeep = session, upkeep
        self._compactor, self._observer = compactor, observer
        self._clock, self._scope, self._settings, self._purse = clock, scope, settings, purse
        self._approvals = approvals
        self._observing_by_hand = False
        self._linter = validity.Linter()
        self._ladder = Ladder(session, upkeep, compactor, settings)
        self._compaction: asyncio.Task[None] | None = None
        self._observation: asyncio.Task[None] | None = None

    def measure(self) -> tuple[Window, Gauge]:
        """The window as it would be sent now, and its gauge."""
        return self._upkeep.measure()

    def rows(self) -> tuple[Row, ...]:
        """What stands in the window, one by one."""
        _, frame, _ = self._settings()
        return rows_of(self.measure()[0], self._session.transcript, frame)

    async def ready(self) -> Window:
        """The window to send: tidied, with what is due started, and linted.

        Raises RequestTooLarge or RequestInvalid when it cannot be sent.
        """
        policy, _, _ = self._settings()
        await self._upkeep.tidy()
        self.start_due()
        window, now = self.measure()
        if policy.enabled and (not now.fits or now.pressure == "panic"):
            await self._make_room(int(policy.panic_to * now.window))
            window, now = self.measure()
        if not now.fits:
            raise self._too_large(now, policy)
        return self._linted(window)

    async def overflowed(self, refused: ModelOverflow) -> bool:
        """Make room after the provider said that a request did not fit; whether the window is smaller now.

        What it says of its window counts, in its own tokens: it may be far smaller than we were told.
        """
        policy, _, _ = self._settings()
        if not policy.enabled:
            return False
        _, before = self.measure()
        fits = min(before.used, before.window)
        if refused.window:
            ours = before.used / refused.asked if refused.asked else 1.0
            fits = min(fits, int(refused.window * ours))
        await self._make_room(int(policy.panic_to * fits))
        return self.measure()[1].used < before.used

    async def leave_out(self, seqs: Sequence[int]) -> None:
        """Let text and hash stand for the images of these messages: a model's server refused them."""
        await self._upkeep.leave_out(seqs)

    async def _make_room(self, target: int) -> None:
        """For a request that does not fit: await the handover under way, then climb the ladder if need be."""
        if self._compaction is not None and self._compacting:
            await asyncio.wait([self._compaction])
            if self.measure()[1].used <= target:
                return
        await self._ladder.climb(target)

    def after_turn(self) -> None:
        """Start what is due at the end of a turn: a handover, or else observations."""
        self.start_due(renew=True)
        if self._compacting or self._compactor.drafting or self._broke:
            return
        stretch = self._observer.due()
        if stretch is not None and not self._blocks(
            "observations", (stretch.after, stretch.replaces), stretch.tokens, renew=True
        ):
            self._observe(stretch)

    def observe(self) -> None:
        """Start observations by hand, to be put in place at once, or put those in place that wait for it.

        Raises CompactionRefused when there is nothing to observe, or when that is being done already.
        """
        if self._observation is not None and not self._observation.done():
            raise CompactionRefused("Already running.", "Observations are being written.", "Wait, or cancel.")
        made = observation.waiting(self._session.transcript)
        stretch = self._observer.possible() if made is None else None
        if made is None and stretch is None:
            raise CompactionRefused(
                "Nothing to observe yet.",
                "The newest complete turn always stays whole, and everything older is observed already.",
                "Send another message first.",
            )
        self._observe(stretch, by_hand=True)

    def _observe(self, stretch: Stretch | None, by_hand: bool = False) -> None:
        if self._observation is None or self._observation.done():
            self._observing_by_hand = by_hand
            work = self._told(
                lambda: self._observer.run(stretch, by_hand, partial(self._check, "observations"))
            )
            self._observation = self._scope.start(work, f"observation {self._session.id}")

    def start_due(self, renew: bool = False) -> None:
        """Start the handover that is due, if there is one and none runs.

        With `renew` the figures of an open question about it are brought up to date.
        """
        policy, _, _ = self._settings()
        if self._compacting or self._compactor.drafting or self._broke:
            return
        transcript = self._session.transcript
        _, now = self.measure()
        if self._approvals is not None and (
            now.pressure == "none" or planner.handover_now(transcript, policy, now) is None
        ):
            self._approvals.withdraw("handover")
        due = planner.handover_due(transcript, policy, now, self._clock())
        held = transcript.handover
        if due is not None and not self._blocks("handover", held[0] if held else 0, now.used, renew):
            self._hand_over(due.cut)

    def _hand_over(self, cut: Cut, ask_model: bool = True) -> None:
        """Start a handover that is due."""
        self._compact(lambda: self._run_due(cut, ask_model))

    async def _run_due(self, cut: Cut, ask_model: bool) -> bool:
        """Make a handover that is due, or ask about it; if its turn ended meanwhile, by what is due then."""
        policy, _, _ = self._settings()
        transcript, approve = self._session.transcript, partial(self._check, "handover")
        while True:
            if await self._compactor.run(Trigger.THRESHOLD, cut, "", ask_model, policy.handover_at, approve):
                return True
            now = planner.handover_now(transcript, policy, self.measure()[1])
            if transcript.turn_open or not self._asks("handover") or now is None or now.cut == cut:
                return False
            cut = now.cut

    def compact(self, trigger: Trigger, cut: Cut, focus: str = "") -> None:
        """Start a handover beside whatever runs; one at a time."""
        self._compact(lambda: self._compactor.run(trigger, cut, focus))

    def _compact(self, work: Callable[[], Awaitable[bool]]) -> None:
        if not self._compacting:
            self._compaction = self._scope.start(self._told(work), f"compaction {self._session.id}")

    def answer_spend_ask(self, work: BackgroundWork, answer: SpendAnswer) -> None:
        """Take the user's answer to the question about some work; nothing if it is not open any more.

        Refused, the window stays as it is until it is full; then room is made without a model.
        """
        if self._approvals is None or not self._approvals.answer(work, answer == "allow"):
            return
        if answer == "refuse":
            return
        if work == "observations":
            stretch = self._observer.possible() if self._observing_by_hand else self._observer.due()
            if stretch is not None:
                self._observe(stretch, self._observing_by_hand)
            return
        policy, _, _ = self._settings()
        possible = planner.handover_now(self._session.transcript, policy, self.measure()[1])
        if possible is not None:
            self._hand_over(possible.cut, ask_model=answer == "allow")

    def _blocks(self, work: BackgroundWork, about: Hashable, size: int, renew: bool) -> bool:
        return self._approvals is not None and self._approvals.blocks(work, about, size, renew)

    def _asks(self, work: BackgroundWork) -> bool:
        return self._approvals is not None and any(one.work == work for one in self._approvals.asks)

    def _check(self, work: BackgroundWork, estimate: Estimate) -> None:
        """Raise SpendUnapproved while some work may not begin."""
        if self._approvals is not None:
            self._approvals.check(work, estimate)

    @property
    def _broke(self) -> bool:
        return self._purse is not None and self._purse.empty

    @property
    def _compacting(self) -> bool:
        return self._compaction is not None and not self._compaction.done()

    async def _told(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Do what runs beside the turns; that it failed is told, because nobody waits for it."""
        try:
            await work()
        except HelixError as error:
            self._session.publish(Trouble(error.what, error.why, error.fix, error.remedies))

    async def settle(self) -> None:
        """Wait for the handover and the observations under way, if there are any."""
        for task in (self._compaction, self._observation):
            if task is not None:
                await asyncio.wait([task])

    def cancel_compaction(self) -> None:
        """End the handover under way; nothing changes."""
        if self._compaction is not None:
            self._compaction.cancel()

    def cancel_observation(self) -> None:
        """End the observations under way; nothing changes."""
        if self._observation is not None:
            self._observation.cancel()

    def _too_large(self, now: Gauge, policy: Policy) -> RequestTooLarge:
        largest = max(self.rows(), key=lambda row: row.tokens)
        why = (
            f"It needs about {now.used:,} tokens and {now.reserve:,} for the answer; the window holds "
            f"{now.window:,}. The largest part is {largest.name} with {largest.tokens:,} tokens."
        )
        what = "The next request does not fit."
        if not policy.enabled:
            remedies: tuple[Remedy, ...] = ("policy_settings",)
            return RequestTooLarge(what, why, "Compaction is off: turn a profile on.", remedies=remedies)
        return RequestTooLarge(what, why, "Use a larger window, or begin a new session.")

    def _linted(self, window: Window) -> Window:
        messages = window.request.messages
        if not self._linter.problems(messages):
            return window
        mended = validity.repair(messages)
        left = validity.problems(mended)
        if left:
            raise RequestInvalid(
                "The next request is not valid and was not sent.",
                "; ".join(left),
                "Undo the last change, or report this.",
            )
        log.info("a request was mended before it was sent: %s", "; ".join(validity.problems(messages)))
        return msgspec.structs.replace(window, request=Request(mended, window.request.tools))
