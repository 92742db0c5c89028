"""The purse: what a session may spend on model calls, and what it has spent, its subagents included."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from helix_desktop.agent.models.roles import ModelRoles, RunSettingsSource
from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import Session
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.cost import WARNING_SHARE, Budget, CostEstimate, Spending
from helix_desktop.domain.errors import BudgetExhausted
from helix_desktop.domain.events.session import BudgetNeared, BudgetSet, Event
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem

_HOW_TO_RAISE = (
    "Raise the budget in the Session menu, or with --budget-tokens and --budget-usd, then continue."
)


class SessionBudget:
    """Asked before each model call of one session; `above` gives the purse that pays for a subagent's."""

    def __init__(
        self,
        session: Session,
        settings: RunSettingsSource,
        parent: Callable[[], SessionBudget | None] = lambda: None,
    ) -> None:
        self._session, self._settings, self._parent = session, settings, parent
        self.subagent_spending: dict[str, Spending] = {}  # of subagents, by their sessions

    @property
    def limit(self) -> Budget:
        """What may be spent: as the person has said for this session, else what the policy says.

        A subagent has one of its own only if the person has given it one.
        """
        known = self._session.transcript
        if known.budget is not None or known.parent:
            return known.budget or Budget()
        policy, _, _ = self._settings()
        return Budget(policy.budget_tokens, policy.budget_cost)

    @property
    def spent(self) -> Spending:
        """What all model calls took so far."""
        return sum(self.subagent_spending.values(), self._session.transcript.spending)

    @property
    def is_exhausted(self) -> bool:
        """Whether no model may be called."""
        above = self._parent()
        return self.limit.share(self.spent) >= 1 or (above is not None and above.is_exhausted)

    def can_afford(self, estimate: CostEstimate) -> bool:
        """Return whether a budget is set, here or above, and what is left of each covers an estimate.

        A budget in money covers nothing whose price is not known.
        """
        above = self._parent()
        limits = [(self.limit, self.spent)] + ([(above.limit, above.spent)] if above is not None else [])
        limits = [one for one in limits if one[0].tokens or one[0].cost]
        return bool(limits) and all(_covers(budget, spent, estimate) for budget, spent in limits)

    def require_available(self) -> None:
        """Raise BudgetSpent when no model may be called."""
        if self.limit.share(self.spent) >= 1:
            why = f"{self.limit.usage_text(self.spent)} are spent, subagents and summaries included."
            raise BudgetExhausted("The budget of this session is spent.", why, _HOW_TO_RAISE)
        above = self._parent()
        if above is not None and above.is_exhausted:
            why = f"{above.limit.usage_text(above.spent)} are spent."
            raise BudgetExhausted(
                "The budget of the session that this one works for is spent.", why, _HOW_TO_RAISE
            )

    async def ensure_available(self) -> None:
        """Put on record, once, that most of the budget is spent. Raises BudgetSpent when all of it is."""
        self.require_available()

        def neared() -> list[Event]:
            budget, spent = self.limit, self.spent
            if budget.share(spent) < WARNING_SHARE or self._session.transcript.warned_budget == budget:
                return []
            return [BudgetNeared(spent.tokens, spent.cost, budget.tokens, budget.cost)]

        if neared():
            await self._session.record_decided(neared)

    async def set_limit(self, limit: Budget) -> None:
        """Say what the session may spend."""
        await self._session.record(BudgetSet(limit.tokens, limit.cost))


def _covers(budget: Budget, spent: Spending, estimate: CostEstimate) -> bool:
    tokens = not budget.tokens or spent.tokens + estimate.tokens <= budget.tokens
    if not budget.cost:
        return tokens
    return tokens and estimate.cost is not None and spent.cost + estimate.cost <= budget.cost


class BudgetedModel:
    """A model that is called only while there is a budget for it."""

    def __init__(self, model: Model, budget: SessionBudget) -> None:
        self._model, self._budget = model, budget

    @property
    def info(self) -> ModelInfo:
        """The model's name and room."""
        return self._model.info

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """What the model streams. Raises ModelError, BudgetSpent."""
        self._budget.require_available()
        async with aclosing(self._model.stream(request)) as arrivals:
            async for arrival in arrivals:
                yield arrival


class BudgetedSettings:
    """Settings whose models, whatever they are called for, ask the purse of one session first."""

    def __init__(self, settings: RunSettingsSource, budget: SessionBudget) -> None:
        self._settings, self._budget = settings, budget
        self._cached: tuple[ModelRoles, ModelRoles] | None = None

    def __call__(self) -> tuple[ContextPolicy, PromptFrame, ModelRoles]:
        """Policy, frame and models; the same objects until one changes."""
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
