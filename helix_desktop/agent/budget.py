"""The budget of a session: what is spent, and whether background work has room in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import msgspec

from helix_desktop.agent.model_roles import ModelRoles, ModelWrapper, RunSettingsSource
from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import ErrorRaised, Session, SpendRequestsChanged
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.cost import (
    WARNING_SHARE,
    BackgroundWork,
    Budget,
    CostEstimate,
    Spending,
    SpendRequest,
    format_usd,
)
from helix_desktop.domain.errors import BudgetExhausted
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import BudgetNeared, BudgetSet
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences

text = TextContext("Agent")

_HOW_TO_RAISE = text(
    "Raise the budget with /budget, or with --budget-tokens and --budget-usd, then continue."
)


class SessionBudget:
    """The budget of one session, checked before each model call.

    `parent` returns the budget of the session that a subagent works for; None if there is none.
    `other_versions` returns what each other version of the session spent: they share one budget.
    """

    def __init__(
        self,
        session: Session,
        parent: Callable[[], SessionBudget | None] = lambda: None,
        subagent_spending: Mapping[str, Spending] | None = None,
        other_versions: Callable[[], Sequence[Spending]] = tuple,
    ) -> None:
        self._session = session
        self._parent = parent
        self.other_versions = other_versions
        self.subagent_spending = dict(subagent_spending or {})  # by the subagent's session id

    @property
    def limit(self) -> Budget:
        """The limit that the user set for this session, else the policy's.

        A subagent has a limit of its own only if the user set one.
        """
        return self._limit_in(self._session.transcript)

    def _limit_in(self, transcript: Transcript) -> Budget:
        if transcript.budget is not None or transcript.parent:
            return transcript.budget or Budget()
        policy = self._session.policy
        return Budget(policy.budget_tokens, policy.budget_cost)

    @property
    def spent(self) -> Spending:
        """The total spent on model calls so far, by all versions and their subagents.

        Of the provider cache it has the session's own steps.
        """
        return self._spent_in(self._session.transcript)

    @property
    def own_spent(self) -> Spending:
        """What this version and its subagents spent so far."""
        return self._own_spent_in(self._session.transcript)

    def _own_spent_in(self, transcript: Transcript) -> Spending:
        return sum(map(_without_cache, self.subagent_spending.values()), transcript.spending)

    def _spent_in(self, transcript: Transcript) -> Spending:
        return sum(map(_without_cache, self.other_versions()), self._own_spent_in(transcript))

    @property
    def is_exhausted(self) -> bool:
        """True if no model may be called: this budget or its parent's is spent."""
        return self.is_exhausted_in(self._session.transcript)

    def is_exhausted_in(self, transcript: Transcript) -> bool:
        """Return the same for a state of the session that may not be durable yet."""
        parent = self._parent()
        is_own_spent = self._limit_in(transcript).share(self._spent_in(transcript)) >= 1
        return is_own_spent or (parent is not None and parent.is_exhausted)

    @property
    def limits(self) -> tuple[Budget, ...]:
        """The limits that are set, its own and its parent's."""
        return tuple(limit for limit, _ in self._limits_and_spent())

    def _limits_and_spent(self) -> list[tuple[Budget, Spending]]:
        parent = self._parent()
        limits = [(self.limit, self.spent)] + ([(parent.limit, parent.spent)] if parent is not None else [])
        return [(limit, spent) for limit, spent in limits if limit != Budget()]

    def require_available(self) -> None:
        """Raise BudgetExhausted if no model may be called."""
        if self.limit.share(self.spent) >= 1:
            raise BudgetExhausted(
                text("The session budget is used up."), _usage(self.limit, self.spent), _HOW_TO_RAISE
            )
        parent = self._parent()
        if parent is not None and parent.is_exhausted:
            raise BudgetExhausted(
                text("The budget of the parent session is used up."),
                _usage(parent.limit, parent.spent),
                _HOW_TO_RAISE,
            )

    def require_room(self, estimate: CostEstimate) -> None:
        """Raise BudgetExhausted if the work would exceed what is left; an unknown price exceeds nothing."""
        priced = msgspec.structs.replace(estimate, cost=estimate.cost or 0.0)
        for limit, spent in self._limits_and_spent():
            if not _covers(limit, spent, priced):
                what = text(
                    "Reading about {tokens} tokens would exceed the session budget.", tokens=estimate.tokens
                )
                raise BudgetExhausted(what, _usage(limit, spent), _HOW_TO_RAISE)

    async def ensure_available(self) -> None:
        """Record, once, that most of the budget is spent. Raises BudgetExhausted if all of it is."""
        self.require_available()

        def decide() -> list[Event]:
            budget = self.limit
            spent = self.spent
            if budget.share(spent) < WARNING_SHARE or self._session.transcript.warned_budget == budget:
                return []
            return [BudgetNeared(spent.tokens, spent.cost, budget.tokens, budget.cost)]

        if decide():
            await self._session.record_decided(decide)

    async def set_limit(self, limit: Budget) -> None:
        await self._session.record(BudgetSet(limit.tokens, limit.cost))


def _without_cache(spent: Spending) -> Spending:
    return Spending(spent.tokens, spent.cost, spent.estimated, unpriced=spent.unpriced, demo=spent.demo)


def _usage(budget: Budget, spent: Spending) -> TranslatableText:
    cost = format_usd(spent.cost)
    limit = format_usd(budget.cost)
    if not budget.cost:
        return text(
            "Used: {spent} of {limit} tokens, including subagents and compaction.",
            spent=spent.tokens,
            limit=budget.tokens,
        )
    if not budget.tokens:
        return text("Used: {spent} of {limit}, including subagents and compaction.", spent=cost, limit=limit)
    return text(
        "Used: {spent} of {limit} tokens and {spent_cost} of {cost_limit}, including subagents.",
        spent=spent.tokens,
        limit=budget.tokens,
        spent_cost=cost,
        cost_limit=limit,
    )


def _covers(budget: Budget, spent: Spending, estimate: CostEstimate) -> bool:
    tokens = not budget.tokens or spent.tokens + estimate.tokens <= budget.tokens
    if not budget.cost:
        return tokens
    return tokens and estimate.cost is not None and spent.cost + estimate.cost <= budget.cost


class BudgetedModel(ModelWrapper):
    """A model that raises BudgetExhausted instead of running without budget."""

    def __init__(self, model: Model, budget: SessionBudget) -> None:
        super().__init__(model)
        self._budget = budget

    async def prepare(self, request: ModelRequest) -> ModelRequest:
        self._budget.require_available()
        return request


class BudgetedSettings:
    """Run settings whose models, in every role, check one session's budget before each call."""

    def __init__(self, settings: RunSettingsSource, budget: SessionBudget) -> None:
        self._settings = settings
        self._budget = budget
        self._cached: tuple[ModelRoles, ModelRoles] | None = None

    def __call__(self) -> tuple[ContextPolicy, PromptFrame, ModelRoles]:
        """Return policy, frame and models; the same objects until one changes."""
        policy, frame, roles = self._settings()
        if self._cached is None or self._cached[0] is not roles:
            self._cached = roles, roles.map_models(lambda model: BudgetedModel(model, self._budget))
        return policy, frame, self._cached[1]


_GROWTH_LIMIT = 1.1  # times the approved estimate; above it the user is asked again
ApproveSpending = Callable[[CostEstimate], None]
"""Called before the first model call of background work. Raises SpendNotApproved."""


class SpendNotApproved(Exception):
    """The work may not start now: its cost was not approved."""


def approve_any(_: CostEstimate) -> None:
    """Approve any work: the user started it with its price shown."""


def over_budget_warning(work: BackgroundWork, error: BudgetExhausted) -> ErrorRaised:
    not_done = {
        "handover": text("The conversation wasn't compacted."),
        "observations": text("No summary was written."),
        "checkpoint": text("No summary was written."),
    }
    why = join_sentences(error.what, error.why)
    return ErrorRaised(not_done[work], why, error.fix, error.remedies, is_warning=True)


class SpendApprovals:
    """The spend requests of one session's background work; they stay open until answered or withdrawn.

    Only work that the user starts makes one, which shows its price. The budget decides about all other work.
    """

    def __init__(self, session: Session, budget: SessionBudget) -> None:
        self._session = session
        self._budget = budget
        self._requests: dict[BackgroundWork, SpendRequest] = {}
        self._agreed: dict[BackgroundWork, int] = {}  # tokens
        self._subjects: dict[BackgroundWork, tuple[Hashable, int]] = {}
        self._over_budget: dict[BackgroundWork, tuple[Hashable, tuple[Budget, ...]]] = {}
        self._reported_limits: tuple[Budget, ...] | None = None  # for which it was said
        session.on(HandoverMade | ObservationsMade, lambda _: self.withdraw("observations"))

    @property
    def requests(self) -> tuple[SpendRequest, ...]:
        """The open spend requests, oldest first."""
        return tuple(self._requests.values())

    def is_blocked(self, work: BackgroundWork, subject: Hashable, size: int, refresh: bool = False) -> bool:
        """Return True if work must not be tried: its request is open, or its budget has no room for it.

        `subject` identifies the history it covers, `size` is its tokens. With `refresh`, an open request does
        not block once one of them has changed. What the budget has no room for is tried again with another
        budget or history.
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
        return False

    def check(self, work: BackgroundWork, estimate: CostEstimate) -> None:
        """Let work start that the budget has room for; it takes the place of an open request.

        The demo model costs nothing. Raises SpendNotApproved if the budget is spent, BudgetExhausted if it
        has too little room.
        """
        self._agreed.pop(work, 0)
        if not estimate.demo:
            self._require_budget(work, estimate)
        self.withdraw(work)

    def confirm(self, work: BackgroundWork, estimate: CostEstimate) -> None:
        """Open a spend request for work that the user started, unless it was answered with yes.

        Raises SpendNotApproved if it may not start yet. The demo model costs nothing.
        """
        if not estimate.demo and estimate.tokens > self._agreed.pop(work, 0) * _GROWTH_LIMIT:
            self._requests[work] = SpendRequest(work, estimate)
            self._publish()
            raise SpendNotApproved
        self.withdraw(work)

    def answer(self, work: BackgroundWork, allowed: bool) -> bool:
        request = self._requests.get(work)
        if request is None:
            return False
        if allowed:
            self._agreed[work] = request.estimate.tokens
        self.withdraw(work)
        return True

    def withdraw(self, work: BackgroundWork) -> None:
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
        ended = self._session.failed_end
        limits = self._budget.limits
        if limits == self._reported_limits or (ended is not None and ended.cause == "budget"):
            return
        self._reported_limits = limits
        try:
            self._budget.require_available()
        except BudgetExhausted as error:
            self._session.publish(over_budget_warning(work, error))

    def _publish(self) -> None:
        self._session.publish(SpendRequestsChanged(self.requests))
