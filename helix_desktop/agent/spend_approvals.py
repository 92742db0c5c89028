"""Approval of spending: background work that would read much waits for the user's yes, or for a budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from helix_desktop.agent.budget import SessionBudget
from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.session import Session
from helix_desktop.agent.updates import EventRecorded, SpendAsksChanged, SpendDecided, Update
from helix_desktop.domain.cost import BackgroundWork, CostEstimate, SpendRequest
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade

_GROWTH_LIMIT = 1.1  # times what the user agreed to; above it they are asked again
ApproveSpending = Callable[[CostEstimate], None]
"""Called before the first model call of some work. Raises SpendUnapproved."""


class SpendNotApproved(Exception):
    """The work may not begin now: nobody has agreed to what it takes."""


def approve_any(_: CostEstimate) -> None:
    """Let any work begin: the user asked for it with its price in sight."""


class SpendApprovals:
    """The questions of one session about what background work may read; they wait for as long as it takes.

    `unattended` says that nobody is there to answer: then the session's budget decides.
    """

    def __init__(
        self,
        session: Session,
        settings: RunSettingsSource,
        budget: SessionBudget,
        is_unattended: bool = False,
    ) -> None:
        self._session, self._settings, self._budget = session, settings, budget
        self._is_unattended = is_unattended
        self._asks: dict[BackgroundWork, SpendRequest] = {}
        self._agreed: dict[BackgroundWork, int] = {}  # tokens
        self._refused: dict[BackgroundWork, tuple[Hashable, int]] = {}
        self._subjects: dict[BackgroundWork, tuple[Hashable, int]] = {}
        session.listen(self._on_update)

    @property
    def asks(self) -> tuple[SpendRequest, ...]:
        """The open questions, oldest first."""
        return tuple(self._asks.values())

    def is_blocked(self, work: BackgroundWork, subject: Hashable, size: int, refresh: bool = False) -> bool:
        """Return whether some work is not to be tried: it is being asked about, or was refused.

        `about` says which history it is about, `size` how many tokens that has; a refusal holds for the same
        history until it has grown by what may be read unasked. With `renew` an open question about what has
        changed since does not block: trying it brings its figures up to date.
        """
        changed = self._subjects.get(work) != (subject, size)
        self._subjects[work] = (subject, size)
        if work in self._asks:
            return not (refresh and changed)
        policy, frame, _ = self._settings()
        refused, limit = self._refused.get(work), policy.unattended_tokens(frame.info.window)
        if refused is None or not limit:
            return False
        return refused[0] == subject and size < refused[1] + limit

    def check(self, work: BackgroundWork, estimate: CostEstimate) -> None:
        """Let some work begin, or ask about it. Raises SpendUnapproved while it may not."""
        policy, frame, _ = self._settings()
        limit = policy.unattended_tokens(frame.info.window)
        agreed = self._agreed.pop(work, 0)
        if estimate.demo or not limit or estimate.tokens <= max(limit, agreed * _GROWTH_LIMIT):
            self.withdraw(work)
            return
        ask = SpendRequest(work, estimate, limit)
        if not self._is_unattended:
            self._asks[work] = ask
            self._publish()
            raise SpendNotApproved
        allowed = self._budget.can_afford(estimate)
        self._session.publish(SpendDecided(ask, allowed))
        if not allowed:
            self._refuse(work)
            raise SpendNotApproved

    def answer(self, work: BackgroundWork, allowed: bool) -> bool:
        """Take the user's answer to an open question; whether there was one."""
        ask = self._asks.get(work)
        if ask is None:
            return False
        if allowed:
            self._agreed[work] = ask.estimate.tokens
        else:
            self._refuse(work)
        self.withdraw(work)
        return True

    def withdraw(self, work: BackgroundWork) -> None:
        """Take a question back: the work is not due any more, or was done otherwise."""
        if self._asks.pop(work, None) is not None:
            self._publish()

    def _refuse(self, work: BackgroundWork) -> None:
        self._refused[work] = self._subjects.get(work, (None, 0))

    def _publish(self) -> None:
        self._session.publish(SpendAsksChanged(self.asks))

    def _on_update(self, update: Update) -> None:
        match update:
            case EventRecorded(recorded=recorded) if isinstance(recorded.event, HandoverMade):
                self.withdraw("handover")
                self.withdraw("observations")
            case EventRecorded(recorded=recorded) if isinstance(recorded.event, ObservationsMade):
                self.withdraw("observations")
            case _:
                pass
