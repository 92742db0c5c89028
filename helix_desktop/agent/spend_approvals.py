"""Spend approvals: expensive background work waits for the user's approval, or for a budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import EventRecorded, SpendDecided, SpendRequestsChanged, Update
from helix_desktop.domain.cost import BackgroundWork, CostEstimate, SpendRequest
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade

_GROWTH_LIMIT = 1.1  # times the approved estimate; above it the user is asked again
ApproveSpending = Callable[[CostEstimate], None]
"""Called before the first model call of background work. Raises SpendNotApproved."""


class SpendNotApproved(Exception):
    """The work may not start now: its cost was not approved."""


def approve_any(_: CostEstimate) -> None:
    """Approve any work: the user started it with its price shown."""


class SpendApprovals:
    """The spend requests of one session's background work; they stay open until answered or withdrawn.

    `is_unattended` is True if no user is there to answer: then the session's budget decides.
    """

    def __init__(self, runtime: SessionRuntime, budget: SessionBudget, is_unattended: bool = False) -> None:
        self._runtime, self._budget, self._is_unattended = runtime, budget, is_unattended
        self._requests: dict[BackgroundWork, SpendRequest] = {}
        self._agreed: dict[BackgroundWork, int] = {}  # tokens
        self._refused: dict[BackgroundWork, tuple[Hashable, int]] = {}
        self._subjects: dict[BackgroundWork, tuple[Hashable, int]] = {}
        runtime.session.listen(self._on_update)

    @property
    def requests(self) -> tuple[SpendRequest, ...]:
        """The open spend requests, oldest first."""
        return tuple(self._requests.values())

    def is_blocked(self, work: BackgroundWork, subject: Hashable, size: int, refresh: bool = False) -> bool:
        """Return True if work must not be tried: its request is open, or was refused.

        `subject` identifies the history it covers, `size` is its tokens; a refusal holds for the same history
        until it has grown by the tokens that may be read without approval. With `refresh`, an open request
        whose subject has changed does not block: trying the work updates the request's figures.
        """
        changed = self._subjects.get(work) != (subject, size)
        self._subjects[work] = (subject, size)
        if work in self._requests:
            return not (refresh and changed)
        policy, frame = self._runtime.policy, self._runtime.frame
        refused, limit = self._refused.get(work), policy.unattended_tokens(frame.info.window)
        if refused is None or not limit:
            return False
        return refused[0] == subject and size < refused[1] + limit

    def check(self, work: BackgroundWork, estimate: CostEstimate) -> None:
        """Approve work, or open a spend request for it. Raises SpendNotApproved if it may not start."""
        policy, frame = self._runtime.policy, self._runtime.frame
        limit = policy.unattended_tokens(frame.info.window)
        agreed = self._agreed.pop(work, 0)
        if estimate.demo or not limit or estimate.tokens <= max(limit, agreed * _GROWTH_LIMIT):
            self.withdraw(work)
            return
        request = SpendRequest(work, estimate, limit)
        if not self._is_unattended:
            self._requests[work] = request
            self._publish()
            raise SpendNotApproved
        allowed = self._budget.can_afford(estimate)
        self._runtime.session.publish(SpendDecided(request, allowed))
        if not allowed:
            self._refuse(work)
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
