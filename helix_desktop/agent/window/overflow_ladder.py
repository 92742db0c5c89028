"""The overflow ladder: makes a request fit at once, rung by rung, without calling a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import observation
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger, PlacementReason, SweepReason

Rung = Callable[[], Awaitable[None]]


class OverflowLadder:
    """The steps run when a request would not fit, or when the provider rejected it as too large."""

    def __init__(self, runtime: SessionRuntime, rewriter: WindowRewriter, compactor: Compactor) -> None:
        self._runtime, self._rewriter, self._compactor = runtime, rewriter, compactor

    async def make_fit(self, target_tokens: int) -> bool:
        """Run rungs until the window uses at most `target_tokens`. Return True if it does."""
        rungs: tuple[Rung, ...] = (
            lambda: self._rewriter.sweep_all(SweepReason.OVERFLOW),
            lambda: self._rewriter.sweep_all(SweepReason.OVERFLOW, newest=1),
            lambda: self._rewriter.sweep_images(SweepReason.OVERFLOW),
            self._place_observations,
            self._make_handover,
            lambda: self._rewriter.truncate(self._used_tokens - target_tokens),
            lambda: self._rewriter.sweep_all(SweepReason.OVERFLOW, newest=0),
            lambda: self._rewriter.sweep_images(SweepReason.OVERFLOW, newest=True),
        )
        for rung in rungs:
            if self._used_tokens <= target_tokens:
                return True
            await rung()
        return self._used_tokens <= target_tokens

    @property
    def _used_tokens(self) -> int:
        return self._rewriter.gauge().used

    async def _place_observations(self) -> None:
        pending_seq = observation.pending_observations(self._runtime.transcript)
        if pending_seq is not None:
            await self._rewriter.place_observations(pending_seq, PlacementReason.OVERFLOW)

    async def _make_handover(self) -> None:
        gauge = self._rewriter.gauge()
        due = planner.handover_now(self._runtime.transcript, self._runtime.policy, gauge)
        if due is not None:
            await self._compactor.run(HandoverTrigger.OVERFLOW, due.cut, ask_model=False)
