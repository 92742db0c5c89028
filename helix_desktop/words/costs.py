"""What model calls cost, as text, and amounts that a user types."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import msgspec

from helix_desktop.domain.cost import WARNING_SHARE, Budget, CostEstimate, Purpose, Spending
from helix_desktop.domain.events.session import BudgetSet
from helix_desktop.words.numbers import format_token_count, format_tokens, format_usd, format_whole_percent
from helix_desktop.words.translation import Translator, current_language

tr = Translator("Costs")

_NO_COST = Spending()
_NO_BUDGET = Budget()
_MAX_AMOUNT = 1_000_000_000_000
_SCALED_DIGITS = 3  # 8.2m is 8199999.999999999 without rounding


class CostState(msgspec.Struct, frozen=True):
    """A session's cost and budget; `is_default` says that the budget is the workspace policy's.

    `inherited` is what was spent before the session branched, `is_demo` whether the demo model answers. Of a
    session with several `versions` it is what all of them spent together.
    """

    spent: Spending = _NO_COST
    budget: Budget = _NO_BUDGET
    is_default: bool = False
    inherited: Spending = _NO_COST
    is_demo: bool = False
    versions: int = 1

    @property
    def share(self) -> float:
        """Return how much of the budget is spent, 1.0 being all; 0 without a budget."""
        return self.budget.share(self.spent)

    @property
    def is_near_limit(self) -> bool:
        return self.share >= WARNING_SHARE

    @property
    def text(self) -> str:
        """Return what was spent, on one line: "≈ 42.3k tokens sent and received · $0.41"."""
        if self._is_played:
            return " · ".join(filter(None, (tr("Offline demo, nothing sent"), self._inherited_text)))
        tokens = format_token_count(self.spent.sent)
        parts = [
            tr("≈ {tokens} sent and received", tokens=tokens)
            if self.spent.estimated
            else tr("{tokens} sent and received", tokens=tokens)
        ]
        is_unpriced = 0 < self.spent.sent == self.spent.unpriced
        unpriced = tr("price unknown") if is_unpriced and not self.budget.cost else self._unpriced_text
        cost = self.cost_text or unpriced
        return " · ".join(filter(None, (*parts, cost, self._versions_text, self._inherited_text)))

    @property
    def _versions_text(self) -> str:
        """Return how many versions of the session spent it; empty for one."""
        return tr.plural(self.versions, "in %n version", "in %n versions") if self.versions > 1 else ""

    @property
    def _is_played(self) -> bool:
        """Return True if only the offline demo model answered, which plays a script."""
        return bool(self.spent.demo) and not self.spent.sent

    @property
    def short_text(self) -> str:
        """Return the same in fewer letters: "≈ 42.3k tokens · $0.41"."""
        if self._is_played:
            return tr("Nothing sent")
        tokens = format_token_count(self.spent.sent)
        parts = (tr("≈ {tokens}", tokens=tokens) if self.spent.estimated else tokens, self.short_cost_text)
        return " · ".join(filter(None, parts))

    @property
    def _unpriced_text(self) -> str:
        """Return what no price is known of, and a cost leaves out: "3.5k tokens without a price"."""
        if not self.spent.unpriced:
            return ""
        return tr("{tokens} without a price", tokens=format_token_count(self.spent.unpriced))

    @property
    def _inherited_text(self) -> str:
        """Return what the branch did not pay: "12.1k tokens and $0.12 before the branch"."""
        if not self.inherited.tokens:
            return ""
        tokens = format_token_count(self.inherited.tokens)
        if self.inherited.estimated:
            tokens = tr("≈ {tokens}", tokens=tokens)
        if self.inherited.cost:
            cost = CostState(self.inherited).cost_text
            return tr("{tokens} and {cost} before the branch", tokens=tokens, cost=cost)
        return tr("{tokens} before the branch", tokens=tokens)

    @property
    def cost_text(self) -> str:
        """Return the US dollars: "$0.41", "≈ $0.41" where some are by Helix's own count; "free" for none.

        What they leave out stands behind them: "$0.41 + 3.5k tokens without a price". Empty if all of it is
        left out, and for the demo model.
        """
        if not self.spent.cost:
            return self._free_text
        return " + ".join(filter(None, (self._priced_text, self._unpriced_text)))

    @property
    def short_cost_text(self) -> str:
        """Return the US dollars in a few letters: "$0.41", "over $0.41" where they leave tokens out."""
        if not self.spent.cost:
            return self._free_text
        cost = self._priced_text
        return tr("over {cost}", cost=cost) if self.spent.unpriced else cost

    @property
    def _free_text(self) -> str:
        is_free = self.spent.tokens and not self.spent.unpriced and not self.is_demo
        return tr("free", "costs nothing") if is_free else ""

    @property
    def _priced_text(self) -> str:
        cost = format_usd(self.spent.cost)
        return tr("≈ {cost}", cost=cost) if self.spent.estimated else cost

    @property
    def short_budget_text(self) -> str:
        """Return how much of the budget is spent, without its size; empty without one."""
        if not self.budget_text:
            return ""
        return tr("{share} of budget", share=format_whole_percent(self.share))

    @property
    def budget_text(self) -> str:
        """Return how much of the budget that is; empty without one."""
        if not (self.budget.tokens or self.budget.cost):
            return ""
        share = format_whole_percent(self.share)
        cost = format_usd(self.budget.cost)
        tokens = format_token_count(self.budget.tokens)
        if self.budget.tokens and self.budget.cost:
            return tr("{share} of budget ({tokens} or {cost})", share=share, tokens=tokens, cost=cost)
        return tr("{share} of budget ({amount})", share=share, amount=tokens if self.budget.tokens else cost)


def budget_text(event: BudgetSet) -> str:
    cost = format_usd(event.cost)
    if event.tokens and event.cost:
        return tr("Budget: {tokens} tokens or {cost}", tokens=event.tokens, cost=cost)
    if event.tokens:
        return tr("Budget: {tokens} tokens", tokens=event.tokens)
    return tr("Budget: {cost}", cost=cost) if event.cost else tr("Budget: no limit")


def estimate_text(estimate: CostEstimate, model: str = "") -> str:
    """Return what work will take, on one line: "Reads ≈ 312k tokens · ≈ $0.94 · 3 calls".

    With a `model`, begin with its name.
    """
    tokens = format_tokens(estimate.tokens)
    parts = [tr("Reads ≈ {tokens} tokens", tokens=tokens)]
    if model:
        parts = [tr("{model} would read ≈ {tokens} tokens", model=model, tokens=tokens)]
    if not estimate.demo:
        parts.append(price_text(estimate))
    if estimate.calls > 1:
        parts.append(tr.plural(estimate.calls, "%n call", "%n calls"))
    return " · ".join(parts)


def price_text(estimate: CostEstimate) -> str:
    """Return the price of work: "≈ $0.42"."""
    if estimate.cost is None:
        return tr("price unknown")
    if not estimate.cost:
        return tr("free", "costs nothing")
    return tr("≈ {cost}", cost=format_usd(estimate.cost))


def cost_text(
    tokens: int, cost: float, demo: bool = False, is_estimated: bool = False, unpriced: int | None = None
) -> str:
    """Return what work took, on one line: "41.2k tokens · $0.12"; without a model, nothing.

    `unpriced` are the tokens whose price is not known; None in older logs: all of them if there is no cost.
    """
    if not tokens:
        return ""
    text = format_token_count(tokens)
    if is_estimated:
        text = tr("≈ {tokens}", tokens=text)
    if demo:
        return text
    if not cost:
        return f"{text} · {tr('free', 'costs nothing') if unpriced == 0 else tr('price unknown')}"
    price = format_usd(cost)
    return f"{text} · {tr('≈ {cost}', cost=price) if is_estimated else price}"


def parse_tokens(text: str) -> int:
    """Return a typed number of tokens, empty being 0; ValueError that says what is wrong."""
    plain = text.strip().replace("_", "").replace(" ", "").lower()
    scale = {"k": 1_000, "m": 1_000_000}.get(plain[-1:], 1)
    number = round(_parse_number(plain[:-1] if scale > 1 else plain) * scale, _SCALED_DIGITS)
    if number != int(number):
        raise ValueError(tr("Enter a whole number, for example 200,000 or 200k."))
    return int(_checked_amount(number))


def parse_usd(text: str) -> float:
    """Return a typed amount of US dollars, empty being 0; ValueError that says what is wrong."""
    return _checked_amount(_parse_number(text.strip().removeprefix("$").strip()))


def _parse_number(text: str) -> float:
    try:
        number = current_language().read_decimal(text or "0")
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(tr("Enter a number."))
    return number


def _checked_amount(number: float) -> float:
    if number < 0:
        raise ValueError(tr("Enter 0 or more."))
    if number > _MAX_AMOUNT:
        raise ValueError(tr("Enter a smaller number."))
    return number


def purposes_text(
    tokens: Mapping[Purpose, int], subagent_tokens: int = 0, other_versions_tokens: int = 0
) -> str:
    """Return what a session's tokens were spent on, with the most first; empty if all were answers."""
    if not (set(tokens) - {"answers"} or other_versions_tokens):
        return ""
    names: dict[Purpose, str] = {
        "answers": tr("answers"),
        "outputs": tr("forms of large outputs"),
        "summaries": tr("summaries"),
        "facts": tr("summaries"),
        "questions": tr("side questions"),
        "titles": tr("titles"),
        "unused": tr("canceled or not used"),
    }
    by_name = Counter[str]()
    for purpose, count in tokens.items():
        by_name[names[purpose]] += count
    spent = [(count, name) for name, count in by_name.items()]
    if subagent_tokens:
        spent.append((subagent_tokens, tr("subagents")))
    if other_versions_tokens:
        spent.append((other_versions_tokens, tr("other versions")))
    parts = " · ".join(f"{name} {format_tokens(count)}" for count, name in sorted(spent, reverse=True))
    return tr("Spent on: {parts}.", parts=parts)
