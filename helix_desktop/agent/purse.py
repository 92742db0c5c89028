"""The purse: what a session may spend on model calls, and what it has spent, its subagents included."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from helix_desktop.agent.ports import Model
from helix_desktop.agent.roles import Roles, Settings
from helix_desktop.agent.session import Session
from helix_desktop.context.errors import BudgetSpent
from helix_desktop.context.event import BudgetNeared, BudgetSet, Event
from helix_desktop.context.message import Arrival, ModelInfo, Request
from helix_desktop.context.policy import Policy
from helix_desktop.context.spending import NEAR, Budget, Estimate, Spending
from helix_desktop.context.window import Frame

_RAISE = "Raise the budget in the Session menu, or with --budget-tokens and --budget-usd, then continue."


class Purse:
    """Asked before each model call of one session; `above` gives the purse that pays for a subagent's."""

    def __init__(
        self, session: Session, settings: Settings, above: Callable[[], Purse | None] = lambda: None
    ) -> None:
        self._session, self._settings, self._above = session, settings, above
        self.children: dict[str, Spending] = {}  # of subagents, by their sessions

    @property
    def budget(self) -> Budget:
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
        return sum(self.children.values(), self._session.transcript.spent)

    @property
    def empty(self) -> bool:
        """Whether no model may be called."""
        above = self._above()
        return self.budget.share(self.spent) >= 1 or (above is not None and above.empty)

    def affords(self, estimate: Estimate) -> bool:
        """Return whether a budget is set, here or above, and what is left of each covers an estimate.

        A budget in money covers nothing whose price is not known.
        """
        above = self._above()
        limits = [(self.budget, self.spent)] + ([(above.budget, above.spent)] if above is not None else [])
        limits = [one for one in limits if one[0].tokens or one[0].cost]
        return bool(limits) and all(_covers(budget, spent, estimate) for budget, spent in limits)

    def check(self) -> None:
        """Raise BudgetSpent when no model may be called."""
        if self.budget.share(self.spent) >= 1:
            why = f"{self.budget.text(self.spent)} are spent, subagents and summaries included."
            raise BudgetSpent("The budget of this session is spent.", why, _RAISE)
        above = self._above()
        if above is not None and above.empty:
            why = f"{above.budget.text(above.spent)} are spent."
            raise BudgetSpent("The budget of the session that this one works for is spent.", why, _RAISE)

    async def ready(self) -> None:
        """Put on record, once, that most of the budget is spent. Raises BudgetSpent when all of it is."""
        self.check()

        def neared() -> list[Event]:
            budget, spent = self.budget, self.spent
            if budget.share(spent) < NEAR or self._session.transcript.neared == budget:
                return []
            return [BudgetNeared(spent.tokens, spent.cost, budget.tokens, budget.cost)]

        if neared():
            await self._session.record_decided(neared)

    async def allow(self, budget: Budget) -> None:
        """Say what the session may spend."""
        await self._session.record(BudgetSet(budget.tokens, budget.cost))


def _covers(budget: Budget, spent: Spending, estimate: Estimate) -> bool:
    tokens = not budget.tokens or spent.tokens + estimate.tokens <= budget.tokens
    if not budget.cost:
        return tokens
    return tokens and estimate.cost is not None and spent.cost + estimate.cost <= budget.cost


class Metered:
    """A model that is called only while there is a budget for it."""

    def __init__(self, model: Model, purse: Purse) -> None:
        self._model, self._purse = model, purse

    @property
    def info(self) -> ModelInfo:
        """The model's name and room."""
        return self._model.info

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """What the model streams. Raises ModelError, BudgetSpent."""
        self._purse.check()
        async with aclosing(self._model.stream(request)) as arrivals:
            async for arrival in arrivals:
                yield arrival


class MeteredSettings:
    """Settings whose models, whatever they are called for, ask the purse of one session first."""

    def __init__(self, settings: Settings, purse: Purse) -> None:
        self._settings, self._purse = settings, purse
        self._known: tuple[Roles, Roles] | None = None

    def __call__(self) -> tuple[Policy, Frame, Roles]:
        """Policy, frame and models; the same objects until one changes."""
        policy, frame, roles = self._settings()
        if self._known is None or self._known[0] is not roles:
            self._known = roles, self._metered(roles)
        return policy, frame, self._known[1]

    def _metered(self, roles: Roles) -> Roles:
        others = {
            name: Metered(model, self._purse)
            for name in ("fast", "summary", "long")
            if (model := getattr(roles, name)) is not None
        }
        return replace(roles, main=Metered(roles.main, self._purse), **others)
