"""The checkpoints of a session: handovers written ahead, beside the turns; no request changes for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from helix_desktop.agent.budget import SpendNotApproved
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import EventRecorded, Update
from helix_desktop.agent.window.background_job import BackgroundJob
from helix_desktop.agent.window.compactor import Compactor
from helix_desktop.context.rewrites import planner
from helix_desktop.domain.cost import CostEstimate, Spending
from helix_desktop.domain.errors import CompactionRefused, StoreError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverPrepared

log = logging.getLogger(__name__)

IDLE_S = 600  # after which an open session counts as idle


class Checkpoints:
    """One session's checkpoints, written one at a time.

    One is begun after a turn, between two steps of a long one or two results of a step, and in an open
    session that is idle for `idle_s` seconds. Where nobody stays behind a turn, as in `run` (`stays_open` is
    False), none is begun at its end. A failure changes nothing and shows nothing: the next one is tried
    later, after three none until the session is opened again.
    """

    def __init__(
        self,
        runtime: SessionRuntime,
        job: BackgroundJob,
        may_start: Callable[[], bool],
        stays_open: bool,
    ) -> None:
        """`may_start` is asked before one is begun."""
        self._runtime, self._job, self._may_start, self._stays_open = runtime, job, may_start, stays_open
        self._compactor = Compactor(runtime, is_published=False)
        self._idle_timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._failed_at_ms = 0
        self._is_ending = False
        self.idle_s: float = IDLE_S
        self.on_done: Callable[[], None] = lambda: None
        runtime.session.listen(self._on_update)

    @property
    def is_running(self) -> bool:
        """True while one is written."""
        return self._job.is_running and not self._is_ending

    def _on_update(self, update: Update) -> None:
        """Begin one between two results of a step; behind the last one it is the next request's to do."""
        match update:
            case EventRecorded(recorded=RecordedEvent(event=ToolAnswered())) if (
                self._runtime.transcript.open_calls
            ):
                self.start_due()

    def start_due(self, is_idle: bool = False) -> None:
        """Begin the checkpoint that is due, if there is one and nothing stands against it."""
        runtime = self._runtime
        if self.is_running or runtime.model_choice.pending:
            return
        now = runtime.clock()
        waited = now - self._failed_at_ms
        if self._failures and 0 <= waited < planner.backoff_ms(runtime.policy, self._failures):
            return
        upto = planner.checkpoint_due(runtime.transcript, runtime.policy, now, is_idle)
        newest = planner.newest_summary(runtime.transcript)
        if (
            upto
            and self._failures < planner.BREAKER_FAILURES
            and self._may_start()
            and not self._job.is_blocked(newest[0] if newest is not None else 0, upto, refresh=False)
        ):
            self._is_ending = False
            self._job.start(lambda: self._write(upto))

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
        if not self._runtime.transcript.turn_open:
            self.start_due(is_idle=True)

    async def _write(self, upto: int) -> bool:
        session, transcript = self._runtime.session, self._runtime.transcript
        newest = planner.newest_summary(transcript)
        messages = transcript.messages
        history = messages.full_tokens_after(newest[1].upto if newest is not None else 0)
        history -= messages.full_tokens_after(upto)
        try:
            if not transcript.turn_open:  # shown only, it may be another process's
                await session.require_writable()
            handover, read = await self._compactor.prepare(upto, self._approve)
        except (CompactionRefused, SpendNotApproved, StoreError) as error:
            self._failures, self._failed_at_ms = self._failures + 1, self._runtime.clock()
            log.info("a checkpoint was not written: %s", error)
            if not isinstance(error, StoreError):
                await self._compactor.unused.record(self._compactor.spent)
            return False
        self._failures = 0
        spent = self._compactor.spent

        def events() -> list[HandoverDiscarded]:
            is_whole = transcript.messages.item(upto) is not None  # else a repeated step dropped messages
            return [_event(spent, HandoverPrepared(handover, history, read) if is_whole else None)]

        await session.record_decided(events)
        self._is_ending = True
        self.on_done()
        return True

    def _approve(self, estimate: CostEstimate) -> None:
        """Keep to the budget. No one is asked about a checkpoint: one over the limit is not written."""
        limit = self._runtime.policy.ask_above
        if limit and estimate.tokens > limit and not estimate.demo:
            raise SpendNotApproved
        self._job.require_approval(estimate)

    def cancel(self) -> None:
        """Cancel the one that is written."""
        self._job.cancel()

    async def wait(self) -> None:
        """Wait for the one that is written, if any."""
        await self._job.wait()


def _event(spent: Spending, prepared: HandoverPrepared | None) -> HandoverDiscarded:
    return HandoverDiscarded(spent.tokens, spent.cost, spent.estimated, spent.unpriced, prepared)
