"""The cost of model calls in tokens and US dollars, and the budget of a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    SideQuestionAnswered,
    ToolAnswered,
    TurnEnded,
)
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import FormChosen
from helix_desktop.domain.events.session import SessionRenamed
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    ObservationsFailed,
    ObservationsMade,
    SavedHandoverDraft,
)
from helix_desktop.domain.messages import ModelInfo, Usage

WARNING_SHARE = 0.8  # of a budget: from here on it is told
_MILLION = 1_000_000


class Spending(msgspec.Struct, frozen=True):
    """Input and output tokens, and US dollars where prices are known; `estimated`: some by our count.

    `cached`, `cache_writes` and `fresh` are input tokens read from the provider's cache, stored there and
    neither, of the calls for which the provider reported them: the session's own steps. `unpriced` are the
    tokens of calls whose price is not known, which `cost` leaves out; those of the demo model have none. Of
    `tokens`, `demo` are the demo model's, which were sent nowhere.
    """

    tokens: int = 0
    cost: float = 0.0
    estimated: bool = False
    cached: int = 0
    cache_writes: int = 0
    fresh: int = 0
    unpriced: int = 0
    demo: int = 0

    @property
    def sent(self) -> int:
        """Return the tokens that were sent to a server, or received from it."""
        return self.tokens - self.demo

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.estimated or other.estimated,
            self.cached + other.cached,
            self.cache_writes + other.cache_writes,
            self.fresh + other.fresh,
            self.unpriced + other.unpriced,
            self.demo + other.demo,
        )


NOTHING_SPENT = Spending()
"""Of an event that cost nothing: nearly all of a log, so nothing is added up for them."""


class Budget(msgspec.Struct, frozen=True):
    """Limits of spending: input and output tokens, US dollars; 0: no limit."""

    tokens: int = 0
    cost: float = 0.0

    def share(self, spent: Spending) -> float:
        """Return the spent share of the budget, 1.0 being all of it: the larger share of the two limits."""
        tokens = spent.tokens / self.tokens if self.tokens else 0.0
        return max(tokens, spent.cost / self.cost if self.cost else 0.0)


BackgroundWork = Literal["handover", "observations", "checkpoint"]
SpendReply = Literal["allow", "refuse"]


class CostEstimate(msgspec.Struct, frozen=True):
    """The estimated cost of work: tokens that its calls read, and US dollars with their answers.

    `cost` is None where the prices of the `model` (a label) are not known. The demo model costs nothing.
    """

    tokens: int
    cost: float | None = None
    calls: int = 1
    model: str = ""
    demo: bool = False


class SpendRequest(msgspec.Struct, frozen=True):
    """Background work that waits for the user's approval: the user started it, and sees its price first."""

    work: BackgroundWork
    estimate: CostEstimate


def estimate_cost(info: ModelInfo, input_tokens: int, output_tokens: int, calls: int = 1) -> CostEstimate:
    """Return the estimated cost of `calls` calls of a model with these tokens in total."""
    has_price = info.price_in or info.free or info.demo
    cost = call_cost(info, Usage(input_tokens, output_tokens)) if has_price else None
    return CostEstimate(input_tokens, cost, calls, info.label, info.demo)


def format_usd(amount: float) -> str:
    """Format US dollars: $12.30, and with four decimals below ten cents: $0.0042."""
    if 0 < amount < 0.0001:  # noqa: PLR2004 - a figure of zeros says nothing
        return "< $0.0001"
    is_small = 0 < amount < 0.09995  # noqa: PLR2004 - ten cents, as four decimals round
    return f"${amount:.4f}" if is_small else f"${amount:,.2f}"


def call_cost(info: ModelInfo, usage: Usage) -> float:
    """Return the US dollars of a call; what has no price of its own costs what other input does."""
    cached = min(usage.cached, usage.input)
    writes = min(usage.cache_writes, usage.input - cached)
    writes_1h = min(usage.cache_writes_1h, writes)
    write_price = info.price_cache_write or info.price_in
    price = (usage.input - cached - writes) * info.price_in
    price += cached * (info.price_cached or info.price_in)
    price += (writes - writes_1h) * write_price + writes_1h * (info.price_cache_write_1h or write_price)
    return (price + usage.output * info.price_out) / _MILLION


def call_spending(info: ModelInfo, usage: Usage, estimated: bool = False) -> Spending:
    """Return what a call took; `estimated`: its usage is by our count."""
    tokens = usage.input + usage.output
    unpriced = 0 if info.demo or info.free or info.price_in or info.price_out else tokens
    return Spending(tokens, call_cost(info, usage), estimated, cached=usage.cached, unpriced=unpriced)


def unused_calls(spent: Spending) -> HandoverDiscarded:
    """Return the event that records what calls took that came to nothing."""
    return HandoverDiscarded(spent.tokens, spent.cost, spent.estimated, spent.unpriced)


def step_cost(info: ModelInfo, response: AssistantSpoke) -> float:
    """Return the US dollars of a step, by its reported usage, or by our count."""
    usage = response.usage
    if usage is None or usage.input <= 0:
        usage = Usage(round(response.estimate * response.ratio), response.tokens)
    return call_cost(info, usage)


def step_unpriced(info: ModelInfo) -> int | None:
    """Return 0 for a step of a free model, whose price is known; None where the step's cost says it."""
    return 0 if info.free else None


def _step_spending(response: AssistantSpoke) -> Spending:
    usage = response.usage
    if usage is None or usage.input <= 0:  # some local servers report zeros
        tokens = round(response.estimate * response.ratio) + response.tokens
        return Spending(tokens, response.cost, estimated=True)
    tokens = usage.input + usage.output
    if not (usage.reports_cache or usage.cached):
        return Spending(tokens, response.cost)
    return Spending(tokens, response.cost, False, usage.cached, usage.cache_writes, usage.fresh)


def spending_of(event: Event) -> Spending:
    """Return the cost of the model calls behind an event; those of a subagent count in its own session.

    In older logs calls of an event that cost nothing had no price, unless the demo model answered.
    """
    spent = _paid_for(event)
    if spent is NOTHING_SPENT:
        return spent
    if getattr(event, "demo", False):
        spent = msgspec.structs.replace(spent, demo=spent.tokens)
    unpriced: int | None = getattr(event, "intake_unpriced", getattr(event, "unpriced", None))
    if unpriced is not None:
        return msgspec.structs.replace(spent, unpriced=min(unpriced, spent.tokens))
    if spent.cost or getattr(event, "demo", False):
        return spent
    return msgspec.structs.replace(spent, unpriced=spent.tokens)


def _paid_for(event: Event) -> Spending:
    match event:
        case AssistantSpoke(agent=agent) if agent:  # another agent made and paid for it
            return NOTHING_SPENT
        case AssistantSpoke():
            return _step_spending(event)
        case ToolAnswered(chosen="timeout", intake_tokens=tokens) if tokens:  # no report came
            return Spending(tokens, event.intake_cost, estimated=True)
        case ToolAnswered() | FormChosen():
            if not (event.intake_tokens or event.intake_cost or event.intake_estimated):
                return NOTHING_SPENT
            return Spending(event.intake_tokens, event.intake_cost, event.intake_estimated)
        case HandoverMade(prepaid=True):
            return NOTHING_SPENT
        case TurnEnded():
            return Spending(event.spent, event.cost, event.spent > 0)
        case (
            HandoverMade()
            | HandoverFailed()
            | HandoverDiscarded()
            | SideQuestionAnswered()
            | ObservationsMade()
            | ObservationsFailed()
            | SessionRenamed()
        ):
            return Spending(event.spent, event.cost, event.estimated)
    return NOTHING_SPENT


def delegated_spending(event: Event) -> Spending:
    """Return what the subagent behind a result spent, which its own session counts."""
    if not isinstance(event, ToolAnswered) or event.delegated is None:
        return NOTHING_SPENT
    return Spending(event.delegated.tokens, event.delegated.cost, event.delegated.estimated)


Purpose: TypeAlias = Literal["answers", "outputs", "summaries", "facts", "questions", "titles", "unused"]
"""What a model was called for: `outputs` is the choice of their form, `unused` what was refused, canceled or
not taken: extracts that came too late, summaries, facts, side questions without an answer, requests whose
connection broke."""


def tokens_by_purpose(events: Iterable[Event]) -> dict[Purpose, int]:
    """Return the input and output tokens that `spending_of` counts, by what they were spent on."""
    tokens: dict[Purpose, int] = {}
    for event in events:
        spent = spending_of(event).tokens
        if spent:
            purpose = _purpose_of(event)
            tokens[purpose] = tokens.get(purpose, 0) + spent
    return tokens


def _purpose_of(event: Event) -> Purpose:
    match event:
        case ToolAnswered(asked=asked, form=form) if asked and form != "compact":
            return "unused"
        case ToolAnswered() | FormChosen():
            return "outputs"
        case (
            HandoverMade()
            | HandoverDiscarded(prepared=HandoverPrepared())
            | HandoverDiscarded(draft=SavedHandoverDraft())
        ):
            return "summaries"
        case ObservationsMade():
            return "facts"
        case SideQuestionAnswered():
            return "questions"
        case SessionRenamed():
            return "titles"
        case HandoverDiscarded() | HandoverFailed() | ObservationsFailed():
            return "unused"
    return "answers"
