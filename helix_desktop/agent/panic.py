"""The panic ladder: makes a request fit at once, rung by rung, without asking a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from helix_desktop.agent.compactor import Compactor
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.upkeep import Upkeep
from helix_desktop.context import observation, planner
from helix_desktop.context.rewrite_kind import PlacementReason, SweepReason, Trigger

Rung = Callable[[], Awaitable[None]]


class Ladder:
    """Climbed when a request would not fit, or when the provider says that it did not."""

    def __init__(self, session: Session, upkeep: Upkeep, compactor: Compactor, settings: Settings) -> None:
        self._session, self._upkeep, self._compactor, self._settings = session, upkeep, compactor, settings
        self.climbed = 0

    async def climb(self, target: int) -> bool:
        """Take rung after rung until the window uses at most `target` tokens; whether it does."""
        self.climbed += 1
        rungs: tuple[Rung, ...] = (
            lambda: self._upkeep.sweep_all(SweepReason.OVERFLOW),
            lambda: self._upkeep.sweep_all(SweepReason.OVERFLOW, newest=1),
            lambda: self._upkeep.sweep_images(SweepReason.OVERFLOW),
            self._observe,
            self._hand_over,
            self._upkeep.truncate,
            lambda: self._upkeep.sweep_all(SweepReason.OVERFLOW, newest=0),
            lambda: self._upkeep.sweep_images(SweepReason.OVERFLOW, newest=True),
        )
        for rung in rungs:
            if self._used <= target:
                return True
            await rung()
        return self._used <= target

    @property
    def _used(self) -> int:
        return self._upkeep.measure()[1].used

    async def _observe(self) -> None:
        made = observation.waiting(self._session.transcript)
        if made is not None:
            await self._upkeep.place(made, PlacementReason.OVERFLOW)

    async def _hand_over(self) -> None:
        policy, _, _ = self._settings()
        _, now = self._upkeep.measure()
        due = planner.handover_now(self._session.transcript, policy, now)
        if due is not None and planner.worth(self._session.transcript, policy, now, due.cut):
            await self._compactor.run(Trigger.OVERFLOW, due.cut, ask_model=False)
