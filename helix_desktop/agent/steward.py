"""The steward: makes the next request's window ready, and starts beside it what needs a model."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from helix_desktop.agent.compactor import Compactor
from helix_desktop.agent.panic import Ladder
from helix_desktop.agent.ports import Clock
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.update import Trouble
from helix_desktop.agent.upkeep import Upkeep
from helix_desktop.context import planner, validity
from helix_desktop.context.budget import Gauge
from helix_desktop.context.cut import Cut
from helix_desktop.context.errors import HelixError, RequestInvalid, RequestTooLarge
from helix_desktop.context.event import Trigger
from helix_desktop.context.message import Request
from helix_desktop.context.policy import Policy
from helix_desktop.context.rows import Row, rows_of
from helix_desktop.context.window import Window

log = logging.getLogger(__name__)


class Steward:
    """Looks after one session's window, live and in replay alike."""

    def __init__(
        self,
        session: Session,
        upkeep: Upkeep,
        compactor: Compactor,
        clock: Clock,
        scope: TaskScope,
        settings: Settings,
    ) -> None:
        self._session, self._upkeep, self._compactor = session, upkeep, compactor
        self._clock, self._scope, self._settings = clock, scope, settings
        self._linter = validity.Linter()
        self._ladder = Ladder(session, upkeep, compactor, settings)
        self._compaction: asyncio.Task[None] | None = None

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
        self.note_use()
        return self._linted(window)

    def note_use(self) -> None:
        """Let the session's list show how full the window is."""
        _, now = self.measure()
        _, frame, _ = self._settings()
        self._session.used, self._session.window = now.used, now.window
        self._session.model = frame.info.label

    async def overflowed(self) -> bool:
        """Make room after the provider said that a request did not fit; whether the window is smaller now."""
        policy, _, _ = self._settings()
        if not policy.enabled:
            return False
        _, before = self.measure()
        await self._make_room(int(policy.panic_to * min(before.used, before.window)))
        return self.measure()[1].used < before.used

    async def _make_room(self, target: int) -> None:
        """For a request that does not fit: await the handover under way, then climb the ladder if need be."""
        if self._compacting:
            await self.settle()
            if self.measure()[1].used <= target:
                return
        await self._ladder.climb(target)

    def start_due(self) -> None:
        """Start the handover that is due, if there is one and none runs."""
        policy, _, _ = self._settings()
        if self._compacting or self._compactor.drafting:
            return
        _, now = self.measure()
        due = planner.handover_due(self._session.transcript, policy, now, self._clock())
        if due is not None:
            self.compact("85 %", due.cut)

    def compact(self, trigger: Trigger, cut: Cut, focus: str = "") -> None:
        """Start a handover beside whatever runs; one at a time."""
        if not self._compacting:
            work = self._compact(trigger, cut, focus)
            self._compaction = self._scope.start(work, f"compaction {self._session.id}")

    @property
    def _compacting(self) -> bool:
        return self._compaction is not None and not self._compaction.done()

    async def _compact(self, trigger: Trigger, cut: Cut, focus: str) -> None:
        try:
            await self._compactor.run(trigger, cut, focus)
        except HelixError as error:
            self._session.publish(Trouble(error.what, error.why, error.fix))

    async def settle(self) -> None:
        """Wait for the handover under way, if there is one."""
        if self._compaction is not None:
            await asyncio.wait([self._compaction])

    def cancel_compaction(self) -> None:
        """End the handover under way; nothing changes."""
        if self._compaction is not None:
            self._compaction.cancel()

    def _too_large(self, now: Gauge, policy: Policy) -> RequestTooLarge:
        largest = max(self.rows(), key=lambda row: row.tokens)
        why = (
            f"It needs about {now.used:,} tokens and {now.reserve:,} for the answer; the window holds "
            f"{now.window:,}. The largest part is {largest.name} with {largest.tokens:,} tokens."
        )
        what = "The next request does not fit."
        if not policy.enabled:
            return RequestTooLarge(what, why, "Compaction is off: turn a profile on.")
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
