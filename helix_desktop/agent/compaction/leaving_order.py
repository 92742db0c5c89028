"""What leaves the context first when a request would not fit, or was rejected as too large."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from helix_desktop.agent.compaction.handover_writer import HandoverWriter
from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.session import Session
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.summaries import observation
from helix_desktop.context.window.used_tokens import FULL_WINDOW
from helix_desktop.domain.events.rewrite import PlacementReason
from helix_desktop.domain.translatable_text import OptionalText

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
        gauge = self._rewriter.gauge()
        range_ = compaction_due.handover_now(self._session.transcript, self._session.policy, gauge)
        if range_ is not None:
            await self._writer.run(FULL_WINDOW, range_, ask_model=False, why_no_model=why_no_model)
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
