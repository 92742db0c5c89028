"""Spend approvals: background work keeps to the session's budget, and asks first where the policy says so."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NoReturn

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import (
    ErrorRaised,
    EventRecorded,
    SpendDecided,
    SpendRequestsChanged,
    Update,
)
from helix_desktop.domain.cost import BackgroundWork, Budget, CostEstimate, SpendRequest
from helix_desktop.domain.errors import BudgetExhausted
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.translatable_text import TextContext, join_sentences

_text = TextContext("Agent")

_GROWTH_LIMIT = 1.1  # times the approved estimate; above it the user is asked again
ApproveSpending = Callable[[CostEstimate], None]
"""Called before the first model call of background work. Raises SpendNotApproved."""


class SpendNotApproved(Exception):
    """The work may not start now: its cost was not approved."""


def approve_any(_: CostEstimate) -> None:
    """Approve any work: the user started it with its price shown."""


def over_budget_warning(work: BackgroundWork, error: BudgetExhausted) -> ErrorRaised:
    """Return what says that background work stopped because of the budget."""
    not_done = {
        "handover": _text("The conversation wasn't compacted."),
        "observations": _text("Older messages weren't noted."),
        "checkpoint": _text("No checkpoint was written."),
    }
    why = join_sentences(error.what, error.why)
    return ErrorRaised(not_done[work], why, error.fix, error.remedies, is_warning=True)


class SpendApprovals:
    """The spend requests of one session's background work; they stay open until answered or withdrawn.

    Only a policy with a limit (`ask_above`) makes any. `is_unattended` is True if no user is there to answer:
    then the session's budget decides.
    """

    def __init__(self, runtime: SessionRuntime, budget: SessionBudget, is_unattended: bool = False) -> None:
        self._runtime, self._budget, self._is_unattended = runtime, budget, is_unattended
        self._requests: dict[BackgroundWork, SpendRequest] = {}
        self._agreed: dict[BackgroundWork, int] = {}  # tokens
        self._refused: dict[BackgroundWork, tuple[Hashable, int]] = {}
        self._subjects: dict[BackgroundWork, tuple[Hashable, int]] = {}
        self._over_budget: dict[BackgroundWork, tuple[Hashable, tuple[Budget, ...]]] = {}
        self._reported_limits: tuple[Budget, ...] | None = None  # for which it was said
        runtime.session.listen(self._on_update)

    @property
    def requests(self) -> tuple[SpendRequest, ...]:
        """The open spend requests, oldest first."""
        return tuple(self._requests.values())

    def is_blocked(self, work: BackgroundWork, subject: Hashable, size: int, refresh: bool = False) -> bool:
        """Return True if work must not be tried: its request is open, or was refused, or for its budget.

        `subject` identifies the history it covers, `size` is its tokens; a refusal holds for the same history
        until it has grown by the tokens that may be read without approval. With `refresh`, an open request
        whose subject has changed does not block: trying the work updates the request's figures. What the
        budget has no room for is tried again with another budget or history.
        """
        changed = self._subjects.get(work) != (subject, size)
        self._subjects[work] = (subject, size)
        if self._budget.is_exhausted:
            self._report_exhausted(work)
            return True
        if self._over_budget.get(work) == (subject, self._budget.limits):
            return True
        if work in self._requests:
            return not (refresh and changed)
        refused, limit = self._refused.get(work), self._runtime.policy.ask_above
        if refused is None or not limit:
            return False
        return refused[0] == subject and size < refused[1] + limit

    def check(self, work: BackgroundWork, estimate: CostEstimate) -> None:
        """Approve work, or open a spend request for it.

        Raises SpendNotApproved if it may not start, BudgetExhausted if the budget has no room for it.
        """
        limit, agreed = self._runtime.policy.ask_above, self._agreed.pop(work, 0)
        if not estimate.demo and not (limit and self._is_unattended):
            self._require_budget(work, estimate)
        if estimate.demo or not limit or estimate.tokens <= max(limit, agreed * _GROWTH_LIMIT):
            self.withdraw(work)
            return
        request = SpendRequest(work, estimate, limit)
        if not self._is_unattended:
            self._open(request)
        allowed = self._budget.can_afford(estimate)
        self._runtime.session.publish(SpendDecided(request, allowed))
        if not allowed:
            self._refuse(work)
            raise SpendNotApproved

    def confirm(self, work: BackgroundWork, estimate: CostEstimate) -> None:
        """Open a spend request for work that the user started, unless it was answered with yes.

        Raises SpendNotApproved if it may not start yet. The demo model costs nothing.
        """
        if not estimate.demo and estimate.tokens > self._agreed.pop(work, 0) * _GROWTH_LIMIT:
            self._open(SpendRequest(work, estimate))
        self.withdraw(work)

    def _open(self, request: SpendRequest) -> NoReturn:
        self._requests[request.work] = request
        self._publish()
        raise SpendNotApproved

    def answer(self, work: BackgroundWork, allowed: bool) -> bool:
        """Apply the user's answer to an open spend request. Return True if there was one."""
        request = self._requests.get(work)
        if request is None:
            return False
        if allowed:
            self._agreed[work] = request.estimate.tokens
        else:
            self._refuse(work)
        self.withdraw(work)
        return True

    def withdraw(self, work: BackgroundWork) -> None:
        """Withdraw a spend request: the work is no longer due, or was done otherwise."""
        if self._requests.pop(work, None) is not None:
            self._publish()

    def _require_budget(self, work: BackgroundWork, estimate: CostEstimate) -> None:
        if self._budget.is_exhausted:  # it was spent while this was prepared
            self._report_exhausted(work)
            raise SpendNotApproved
        try:
            self._budget.require_room(estimate)
        except BudgetExhausted:
            subject, _ = self._subjects.get(work, (None, 0))
            self._over_budget[work] = subject, self._budget.limits
            self._reported_limits = self._budget.limits
            self.withdraw(work)
            raise

    def _report_exhausted(self, work: BackgroundWork) -> None:
        """Say once that background work stops, unless the turn just ended for the same reason."""
        ended, limits = self._runtime.session.failed_end, self._budget.limits
        if limits == self._reported_limits or (ended is not None and ended.cause == "budget"):
            return
        self._reported_limits = limits
        try:
            self._budget.require_available()
        except BudgetExhausted as error:
            self._runtime.session.publish(over_budget_warning(work, error))

    def _refuse(self, work: BackgroundWork) -> None:
        self._refused[work] = self._subjects.get(work, (None, 0))

    def _publish(self) -> None:
        self._runtime.session.publish(SpendRequestsChanged(self.requests))

    def _on_update(self, update: Update) -> None:
        match update:
            case EventRecorded(recorded=recorded) if isinstance(recorded.event, HandoverMade):
                self.withdraw("handover")
                self.withdraw("observations")
            case EventRecorded(recorded=recorded) if isinstance(recorded.event, ObservationsMade):
                self.withdraw("observations")
            case _:
                pass
