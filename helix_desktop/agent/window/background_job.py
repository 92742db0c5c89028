"""A background job: handovers or observations of one session, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import ErrorRaised
from helix_desktop.agent.spend_approvals import SpendApprovals, over_budget_warning
from helix_desktop.domain.cost import BackgroundWork, CostEstimate
from helix_desktop.domain.errors import BudgetExhausted, HelixError


class BackgroundJob:
    """Work of one kind that needs a model: it runs beside the turns, and may have to be approved first."""

    def __init__(
        self,
        runtime: SessionRuntime,
        work: BackgroundWork,
        approvals: SpendApprovals | None = None,
    ) -> None:
        """With `approvals` it keeps to the session's budget, and asks first where the policy says so."""
        self._runtime, self._work, self._approvals = runtime, work, approvals
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """True while it runs."""
        return self._task is not None and not self._task.done()

    @property
    def is_asking(self) -> bool:
        """True while its spend request is open."""
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

    def answer_request(self, allowed: bool) -> bool:
        """Apply the user's answer to its spend request. Return True if one was open."""
        return self._approvals is not None and self._approvals.answer(self._work, allowed)

    def withdraw_request(self) -> None:
        """Withdraw its spend request: it is no longer due."""
        if self._approvals is not None:
            self._approvals.withdraw(self._work)

    def start(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Run the work, unless some runs; an error is published, because no caller awaits it."""
        if not self.is_running:
            name = f"{self._work} {self._runtime.session.id}"
            self._task = self._runtime.scope.start(self._run(work), name)

    async def _run(self, work: Callable[[], Awaitable[bool]]) -> None:
        try:
            await work()
        except BudgetExhausted as error:
            self._runtime.session.publish(over_budget_warning(self._work, error))
        except HelixError as error:
            self._runtime.session.publish(ErrorRaised.from_error(error))

    async def wait(self) -> None:
        """Wait for the end of what runs."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def cancel(self) -> None:
        """Cancel what runs, or asks; nothing changes."""
        self.withdraw_request()
        if self._task is not None:
            self._task.cancel()
