"""When a checkpoint is written: a handover ahead of time, with which the next one begins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from helix_desktop.agent.budget import SpendApprovals, SpendNotApproved
from helix_desktop.agent.compaction.handover_writer import HandoverWriter
from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.compaction.summarizer import BackgroundJob
from helix_desktop.agent.session import Session
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.errors import CompactionRefused, StoreError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverPrepared

log = logging.getLogger(__name__)

_IDLE_S = 600  # after which an open session counts as idle


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
        self.idle_s: float = _IDLE_S
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
        if self._failures and 0 <= waited < compaction_due.backoff_ms(session.policy, self._failures):
            return
        upto = compaction_due.checkpoint_due(session.transcript, session.policy, now, is_idle)
        newest = compaction_due.newest_summary(session.transcript)
        if (
            upto
            and self._failures < compaction_due.BREAKER_FAILURES
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
        newest = compaction_due.newest_summary(transcript)
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
            prepared = HandoverPrepared(handover, history, read) if is_whole else None
            # Of this kind although it is kept: older releases know no other that they could skip.
            return [HandoverDiscarded(spent.tokens, spent.cost, spent.estimated, spent.unpriced, prepared)]

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
