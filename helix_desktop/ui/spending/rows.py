"""What is shown of a session's spending: plain values, and their words."""

from __future__ import annotations

from dataclasses import dataclass

from helix_desktop.context.spending import NEAR, Budget, Estimate, Spending, dollars
from helix_desktop.ui.figures import tokens_text

_NOTHING, _ANY = Spending(), Budget()
_MOST_TOKENS = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class SpendingState:
    """What a session has spent and may spend; `usual` says that the workspace's policy gives the budget."""

    spent: Spending = _NOTHING
    budget: Budget = _ANY
    usual: bool = False

    @property
    def share(self) -> float:
        """How much of the budget is spent, 1.0 being all; 0 without a budget."""
        return self.budget.share(self.spent)

    @property
    def near(self) -> bool:
        """Whether most of the budget is spent."""
        return self.share >= NEAR

    @property
    def words(self) -> str:
        """What was spent, on one line: "≈ 42.3k tokens sent and received · $0.41"."""
        about = "≈ " if self.spent.estimated else ""
        parts = [f"{about}{tokens_text(self.spent.tokens)} tokens sent and received"]
        if self.spent.cost:
            parts.append(dollars(self.spent.cost))
        return " · ".join(parts)

    @property
    def budget_words(self) -> str:
        """How much of the budget that is; empty without one."""
        if not (self.budget.tokens or self.budget.cost):
            return ""
        parts = [f"{tokens_text(self.budget.tokens)} tokens"] if self.budget.tokens else []
        parts += [dollars(self.budget.cost)] if self.budget.cost else []
        return f"{self.share * 100:.0f} % of budget ({' or '.join(parts)})"


def estimate_text(estimate: Estimate) -> str:
    """What work will take, on one line: "Reads ≈ 312k tokens · ≈ $0.94 · 3 calls"."""
    parts = [f"Reads ≈ {tokens_text(estimate.tokens)} tokens"]
    if not estimate.demo:
        parts.append(estimate.price)
    if estimate.calls > 1:
        parts.append(f"{estimate.calls} calls")
    return " · ".join(parts)


def cost_text(tokens: int, cost: float, demo: bool = False) -> str:
    """What work took, on one line: "41.2k tokens · $0.12"; without a model, nothing."""
    if not tokens:
        return ""
    price = "" if demo else f" · {dollars(cost) if cost else 'price unknown'}"
    return f"{tokens_text(tokens)} tokens{price}"


def read_tokens(text: str) -> int:
    """A typed number of tokens, empty being 0; ValueError that says what is wrong."""
    plain = text.strip().replace(",", "").replace("_", "").replace(" ", "").lower()
    scale = {"k": 1_000, "m": 1_000_000}.get(plain[-1:], 1)
    number = _number(plain[:-1] if scale > 1 else plain) * scale
    if not 0 <= number <= _MOST_TOKENS or number != int(number):
        raise ValueError("Type a whole number, for example 200,000 or 200k.")
    return int(number)


def read_dollars(text: str) -> float:
    """A typed amount of US dollars, empty being 0; ValueError that says what is wrong."""
    number = _number(text.strip().replace(",", "").removeprefix("$").strip())
    if not 0 <= number <= _MOST_TOKENS:
        raise ValueError("Type an amount, for example 2.50.")
    return number


def _number(text: str) -> float:
    try:
        return float(text or "0")
    except ValueError:
        raise ValueError("Type a number.") from None
