"""A background job, handovers or observations of one session, one at a time; and the wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from helix_desktop.agent.budget import SpendApprovals, over_budget_warning
from helix_desktop.agent.session import ErrorRaised, Session, SummaryAwaited
from helix_desktop.domain.cost import BackgroundWork, CostEstimate
from helix_desktop.domain.errors import BudgetExhausted, HelixError
from helix_desktop.domain.translatable_text import OptionalText, TextContext

_text = TextContext("Agent")

MAX_WAIT_S = 300.0
"""How long a request waits for the summary that makes room for it."""
_NOT_ENDED: OptionalText = ""


class BackgroundJob:
    """Work of one kind that needs a model: it runs beside the turns, and may have to be approved first.

    A base of what does it.
    """

    def __init__(
        self, session: Session, work: BackgroundWork, approvals: SpendApprovals | None = None
    ) -> None:
        """With `approvals` it keeps to the session's budget, and asks first where the policy says so."""
        self._session, self._work, self._approvals = session, work, approvals
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def is_asking(self) -> bool:
        return self._approvals is not None and any(
            request.work == self._work for request in self._approvals.requests
        )

    def is_blocked(self, subject: Hashable, size: int, refresh: bool) -> bool:
        """Return True if it must not be tried: see SpendApprovals."""
        return self._approvals is not None and self._approvals.is_blocked(self._work, subject, size, refresh)

    def require_approval(self, estimate: CostEstimate) -> None:
        """Raise SpendNotApproved while it may not start, BudgetExhausted if the budget has no room for it."""
        if self._approvals is not None:
            self._approvals.check(self._work, estimate)

    def require_confirmation(self, estimate: CostEstimate) -> None:
        """Raise SpendNotApproved until the user, who started it, has seen its price."""
        if self._approvals is not None:
            self._approvals.confirm(self._work, estimate)

    def _answer(self, allowed: bool) -> bool:
        return self._approvals is not None and self._approvals.answer(self._work, allowed)

    def withdraw_request(self) -> None:
        if self._approvals is not None:
            self._approvals.withdraw(self._work)

    def _start_job(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Run the work, unless some runs; an error is published, because no caller awaits it."""
        if self._task is None or self._task.done():
            name = f"{self._work} {self._session.id}"
            self._task = self._session.scope.start(self._run(work), name)

    async def _run(self, work: Callable[[], Awaitable[bool]]) -> None:
        try:
            await work()
        except BudgetExhausted as error:
            self._session.publish(over_budget_warning(self._work, error))
        except HelixError as error:
            self._session.publish(ErrorRaised.from_error(error))

    async def wait(self) -> None:
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call back once, when what runs has ended; at once if nothing does."""
        if self._task is None or self._task.done():
            callback()
        else:
            self._task.add_done_callback(lambda _: callback())

    def cancel(self) -> None:
        """Cancel what runs, or asks; nothing changes."""
        self.withdraw_request()
        if self._task is not None:
            self._task.cancel()


class SummaryWait:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.is_active = False
        self._ended, self._why_ended = asyncio.Event(), _NOT_ENDED

    async def wait_for(self, job: BackgroundJob) -> OptionalText:
        """Wait until a job has ended, at most five minutes. Return why it was given up; empty if it was not.

        What is given up is canceled. Canceling the call, as the user's stop does, leaves the job running.
        """
        self._ended.clear()
        self._why_ended = _NOT_ENDED
        self._set_active(True)
        limit = self._session.scope.start(self._end_in_time(), f"wait {self._session.id}")
        job.on_end(self._ended.set)
        try:
            await self._ended.wait()
        finally:
            limit.cancel()
            self._set_active(False)
        if job.is_running:
            job.cancel()
            await job.wait()
        return self._why_ended

    def continue_without_model(self) -> None:
        if self.is_active:
            self._end(_text("You continued without a model."))

    async def _end_in_time(self) -> None:
        await self._session.wait_s(MAX_WAIT_S)
        self._end(
            _text.plural(
                round(MAX_WAIT_S / 60),
                "The model took more than %n minute.",
                "The model took more than %n minutes.",
            )
        )

    def _end(self, why: OptionalText) -> None:
        self._why_ended = why
        self._ended.set()

    def _set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        self._session.publish(SummaryAwaited(is_active))
