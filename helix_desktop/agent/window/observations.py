"""The observations of a session: prepared when due, or when the user asks, beside the turns."""

from __future__ import annotations

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.spend_approvals import ApproveSpending, approve_any
from helix_desktop.agent.window.background_job import BackgroundJob, SummaryWait
from helix_desktop.agent.window.observer import Observer
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.domain.cost import SpendReply
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.translatable_text import OptionalText, TextContext

text = TextContext("Agent")


class Observations:
    """One session's observations, prepared or refined by one job at a time."""

    def __init__(
        self, runtime: SessionRuntime, rewriter: WindowRewriter, observer: Observer, job: BackgroundJob
    ) -> None:
        self._runtime, self._rewriter, self._observer, self._job = runtime, rewriter, observer, job
        self._is_manual = False  # True if the user asked for those that run, or wait for an approval

    def start_due(self) -> None:
        """Start the due observations, if there are any and none are written."""
        event_range = self._observer.find_due()
        if event_range is not None and not self._job.is_blocked(
            (event_range.after, event_range.replaces), event_range.tokens, refresh=True
        ):
            self._start(event_range, False, self._job.require_approval)

    def start_in_place_of_handover(self) -> bool:
        """Start the observations that make a due handover unnecessary. Return True if some are written.

        A handover would drop what is being written, and then be needed less: only panic does not wait.
        """
        gauge = self._rewriter.gauge()
        if gauge.pressure != "compact":
            return False
        if not self._job.is_running:
            transcript, policy = self._runtime.transcript, self._runtime.policy
            event_range = planner.observation_relief(transcript, policy, gauge, self._runtime.clock())
            if event_range is not None and not self._job.is_blocked(
                (event_range.after, event_range.replaces), event_range.tokens, refresh=False
            ):
                self._start(event_range, False, self._job.require_approval)
        return self._job.is_running

    async def wait_for_room(self, wait: SummaryWait) -> OptionalText:
        """Wait for those that run in place of a handover. Return why they were given up, if they were."""
        return await wait.wait_for(self._job) if self._job.is_running else ""

    @property
    def is_running(self) -> bool:
        """True while some are written."""
        return self._job.is_running

    @property
    def are_pending(self) -> bool:
        """True if prepared ones wait for the next request."""
        return bool(
            self._runtime.policy.observe_at and observation.pending_observations(self._runtime.transcript)
        )

    def start(self, is_price_shown: bool = False) -> None:
        """Start manual observations: distill what is older than the newest turn, and place the result.

        With `is_price_shown`, a spend request shows what it costs first. If everything is observed, refine
        the observations; if some are pending, place them. Raises
        CompactionRefused if there is nothing to observe or observations are running, ModelNotChosen.
        """
        self._runtime.model_choice.require()
        if self._job.is_running:
            raise CompactionRefused(
                text("Already running."), text("Older messages are being noted."), text("Wait, or cancel.")
            )
        pending_seq = observation.pending_observations(self._runtime.transcript)
        event_range = self._observer.find_possible() if pending_seq is None else None
        if pending_seq is None and event_range is None:
            raise CompactionRefused(
                text("All older messages are noted already."),
                text("Only the newest complete turn is left, which stays in full."),
                text("Send another message first."),
            )
        self._start(event_range, True, self._job.require_confirmation if is_price_shown else approve_any)

    def _start(self, event_range: EventRange | None, is_manual: bool, approve: ApproveSpending) -> None:
        if not self._job.is_running:
            self._is_manual = is_manual
            self._job.start(lambda: self._observer.run(event_range, is_manual, approve))

    def answer_request(self, reply: SpendReply) -> None:
        """Apply the user's answer to the spend request; do nothing if none is open."""
        if not self._job.answer_request(reply == "allow") or reply == "refuse":
            return
        if self._is_manual:
            event_range, approve = self._observer.find_possible(), self._job.require_confirmation
        else:
            event_range, approve = self._observer.find_due(), self._job.require_approval
        if event_range is not None:
            self._start(event_range, self._is_manual, approve)

    def cancel(self) -> None:
        """Cancel the running observations; nothing changes."""
        self._job.cancel()

    async def wait(self) -> None:
        """Wait for the running observations, if any."""
        await self._job.wait()
