"""The overflow ladder: makes a request fit at once, rung by rung, without calling a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import observation
from helix_desktop.domain.events.rewrite import HandoverTrigger, PlacementReason, SweepReason
from helix_desktop.domain.translatable_text import OptionalText

Rung = Callable[[int], Awaitable[None]]
"""Frees about so many tokens of the model, or what it can."""
_OVERFLOW = SweepReason.OVERFLOW


class OverflowLadder:
    """The steps run when a request would not fit, or when the provider rejected it as too large.

    What the newest step read leaves last.
    """

    def __init__(self, runtime: SessionRuntime, rewriter: WindowRewriter, compactor: Compactor) -> None:
        self._runtime, self._rewriter, self._compactor = runtime, rewriter, compactor

    async def free(self, limit: int) -> bool:
        """Free what is over `limit` tokens, without loss of words. Return True if that was enough."""
        return await self._run(
            limit,
            lambda tokens: self._rewriter.sweep_oldest(tokens, 1, _OVERFLOW),
            lambda tokens: self._rewriter.sweep_images(tokens, _OVERFLOW),
            self._place_observations,
            self._rewriter.fold_oldest,
        )

    async def finish(self, limit: int, floor: int, why_no_model: OptionalText) -> bool:
        """Free it when no summary came, for that reason. Return True if the request fits now.

        Messages that have to be left out are those down to `floor` tokens: so it is not done at each step.
        """
        if self._used_tokens > limit:
            await self._make_handover(why_no_model)
        return await self._run(
            limit,
            lambda _: self._rewriter.truncate(self._used_tokens - floor),
            lambda tokens: self._rewriter.sweep_oldest(tokens, 0, _OVERFLOW),
            lambda tokens: self._rewriter.sweep_images(tokens, _OVERFLOW, newest=True),
        )

    async def _run(self, limit: int, *rungs: Rung) -> bool:
        """Run each rung for as long as it frees something and something is over the limit."""
        for rung in rungs:
            rewrite_seq = -1
            while self._used_tokens > limit and rewrite_seq != self._last_rewrite_seq:
                rewrite_seq = self._last_rewrite_seq
                await rung(self._used_tokens - limit)
        return self._used_tokens <= limit

    @property
    def _used_tokens(self) -> int:
        return self._rewriter.gauge().used

    @property
    def _last_rewrite_seq(self) -> int:
        return self._runtime.transcript.window.last_rewrite_seq

    async def _place_observations(self, _: int) -> None:
        pending_seq = observation.pending_observations(self._runtime.transcript)
        if pending_seq is not None:
            await self._rewriter.place_observations(pending_seq, PlacementReason.OVERFLOW)

    async def _make_handover(self, why_no_model: OptionalText) -> None:
        gauge = self._rewriter.gauge()
        due = planner.handover_now(self._runtime.transcript, self._runtime.policy, gauge)
        if due is not None:
            await self._compactor.run(
                HandoverTrigger.OVERFLOW, due.cut, ask_model=False, why_no_model=why_no_model
            )
