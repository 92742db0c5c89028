"""Session budgets: what a session may spend on model calls and has spent, its subagents included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec

from helix_desktop.agent.models.model_wrapper import ModelWrapper
from helix_desktop.agent.models.roles import ModelRoles, RunSettingsSource
from helix_desktop.agent.ports.model import Model
from helix_desktop.agent.session import Session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.cost import WARNING_SHARE, Budget, CostEstimate, Spending, format_usd
from helix_desktop.domain.errors import BudgetExhausted
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import BudgetNeared, BudgetSet
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

text = TextContext("Agent")

_HOW_TO_RAISE = text(
    "Raise the budget in the Session menu or with --budget-tokens and --budget-usd, then continue."
)


class SessionBudget:
    """The budget of one session, checked before each model call.

    `parent` returns the budget of the session that a subagent works for; None if there is none.
    """

    def __init__(
        self,
        session: Session,
        settings: RunSettingsSource,
        parent: Callable[[], SessionBudget | None] = lambda: None,
        subagent_spending: Mapping[str, Spending] | None = None,
    ) -> None:
        self._session, self._settings, self._parent = session, settings, parent
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
        policy, _, _ = self._settings()
        return Budget(policy.budget_tokens, policy.budget_cost)

    @property
    def spent(self) -> Spending:
        """The total spent on model calls so far, subagents included; of the provider cache its own steps."""
        return self._spent_in(self._session.transcript)

    def _spent_in(self, transcript: Transcript) -> Spending:
        subagents = (
            Spending(spent.tokens, spent.cost, spent.estimated, unpriced=spent.unpriced, demo=spent.demo)
            for spent in self.subagent_spending.values()
        )
        return sum(subagents, transcript.spending)

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

    def can_afford(self, estimate: CostEstimate) -> bool:
        """Return True if a limit is set, here or in the parent, and each remainder covers the estimate.

        A limit in US dollars covers nothing whose price is unknown.
        """
        limits = self._limits_and_spent()
        return bool(limits) and all(_covers(budget, spent, estimate) for budget, spent in limits)

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
            budget, spent = self.limit, self.spent
            if budget.share(spent) < WARNING_SHARE or self._session.transcript.warned_budget == budget:
                return []
            return [BudgetNeared(spent.tokens, spent.cost, budget.tokens, budget.cost)]

        if decide():
            await self._session.record_decided(decide)

    async def set_limit(self, limit: Budget) -> None:
        """Set what the session may spend."""
        await self._session.record(BudgetSet(limit.tokens, limit.cost))


def _usage(budget: Budget, spent: Spending) -> TranslatableText:
    """Return how much of a budget is used, for each of its limits."""
    cost, limit = format_usd(spent.cost), format_usd(budget.cost)
    if not budget.cost:
        return text(
            "Used: {spent} of {limit} tokens, including subagents and summaries.",
            spent=spent.tokens,
            limit=budget.tokens,
        )
    if not budget.tokens:
        return text("Used: {spent} of {limit}, including subagents and summaries.", spent=cost, limit=limit)
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
        """Return the request. Raises BudgetExhausted."""
        self._budget.require_available()
        return request


class BudgetedSettings:
    """Run settings whose models, in every role, check one session's budget before each call."""

    def __init__(self, settings: RunSettingsSource, budget: SessionBudget) -> None:
        self._settings, self._budget = settings, budget
        self._cached: tuple[ModelRoles, ModelRoles] | None = None

    def __call__(self) -> tuple[ContextPolicy, PromptFrame, ModelRoles]:
        """Return policy, frame and models; the same objects until one changes."""
        policy, frame, roles = self._settings()
        if self._cached is None or self._cached[0] is not roles:
            self._cached = roles, self._budgeted(roles)
        return policy, frame, self._cached[1]

    def _budgeted(self, roles: ModelRoles) -> ModelRoles:
        others = {
            name: BudgetedModel(model, self._budget)
            for name in ("fast", "summary", "long")
            if (model := getattr(roles, name)) is not None
        }
        return replace(roles, main=BudgetedModel(roles.main, self._budget), **others)
