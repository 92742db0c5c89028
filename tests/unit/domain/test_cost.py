"""What a call costs by its reported reads and writes: known prices, known dollars."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.cost import (
    Budget,
    Spending,
    call_cost,
    call_spending,
    estimate_cost,
    spending_of,
    step_unpriced,
    tokens_by_purpose,
    unused_calls,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FormChosen
from helix_desktop.domain.events.session import SessionBranched, SessionStarted
from helix_desktop.domain.events.summary import HandoverFailed
from helix_desktop.domain.messages import ModelInfo, ToolCall, Usage
from helix_desktop.domain.tools import SubagentUsage
from helix_desktop.words.costs import CostState, price_text, purposes_text

PRICED = ModelInfo(
    "vendor",
    "m",
    price_in=4.0,
    price_cached=0.2,
    price_cache_write=5.0,
    price_cache_write_1h=8.0,
    price_out=20.0,
)
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(MILLION, 0), 4.0),
        (Usage(MILLION, 0, MILLION), 0.2),
        (Usage(MILLION, 0, 0, MILLION), 5.0),
        (Usage(MILLION, 0, 0, MILLION, MILLION), 8.0),
        (Usage(4 * MILLION, MILLION, MILLION, 2 * MILLION, MILLION), 0.2 + 5.0 + 8.0 + 4.0 + 20.0),
        (Usage(MILLION, 0, MILLION, MILLION, MILLION), 0.2),  # more than was sent is not billed
    ],
)
def test_reads_and_writes_have_their_own_prices(usage: Usage, dollars: float) -> None:
    assert call_cost(PRICED, usage) == pytest.approx(dollars)


def test_without_a_price_of_their_own_they_cost_what_other_input_does() -> None:
    usage = Usage(4 * MILLION, 0, MILLION, 2 * MILLION, MILLION)
    plain = ModelInfo("vendor", "m", price_in=4.0)
    assert call_cost(plain, usage) == pytest.approx(16.0)
    only_short = msgspec.structs.replace(plain, price_cache_write=5.0)
    assert call_cost(only_short, usage) == pytest.approx(4.0 + 4.0 + 5.0 + 5.0)


def test_the_bill_splits_what_was_reported() -> None:
    """A step without a report adds its estimate; one without a report on the cache only its tokens."""

    def spent(usage: Usage | None) -> Spending:
        return spending_of(AssistantSpoke("ok", "vendor/m", 7, usage=usage, estimate=500, cost=0.5))

    reported = spent(Usage(1_000, 20, 600, 300, reports_cache=True, reports_writes=True))
    assert reported == Spending(1_020, 0.5, False, 600, 300, 100)
    assert spent(Usage(1_000, 20)) == Spending(1_020, 0.5)
    assert spent(None) == Spending(507, 0.5, estimated=True)
    assert reported + spent(None) == Spending(1_527, 1.0, True, 600, 300, 100)


def test_what_has_no_price_stands_beside_the_cost() -> None:
    """The sum names the tokens that it leaves out; the demo model's have no price to know."""
    events: tuple[Event, ...] = (
        AssistantSpoke("ok", "vendor/m", 7, usage=Usage(1_000, 20), cost=0.5),
        AssistantSpoke("ok", "local/m", 7, usage=Usage(3_400, 100)),
        HandoverFailed("No handover was made.", spent=500),
        AssistantSpoke("ok", "demo/demo", 7, usage=Usage(200, 10), demo=True),
    )
    spent = sum(map(spending_of, events), Spending())
    assert (spent.tokens, spent.unpriced, spent.cost) == (5_230, 4_000, 0.5)
    assert CostState(spent).cost_text == "$0.50 + 4k tokens without a price"
    assert CostState(spent).short_cost_text == "over $0.50"
    unpriced = sum(map(spending_of, events[1:]), Spending())
    assert CostState(unpriced).text == "4k tokens sent and received · price unknown"
    assert CostState(spending_of(events[1])).text == "3.5k tokens sent and received · price unknown"
    limited = CostState(unpriced, Budget(cost=2.0))
    assert limited.text == "4k tokens sent and received · 4k tokens without a price"


def test_what_the_demo_model_played_was_not_sent() -> None:
    """Neither its answers nor the forms of outputs that it chose; what another model took later was."""
    events: tuple[Event, ...] = (
        SessionStarted("s"),
        UserSpoke("Go.", 1),
        AssistantSpoke("ok", "demo/demo", 7, usage=Usage(400_000, 10_000), demo=True),
        ToolAnswered("c", "read_file", "…", "", 5, 1, 1, intake_tokens=45_000),
    )
    played = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)])
    assert (played.spending.tokens, played.spending.sent) == (455_000, 0)
    assert CostState(played.spending).text == "Offline demo, nothing sent"
    assert CostState(played.spending).short_text == "Nothing sent"
    played.apply(RecordedEvent(5, 0, AssistantSpoke("ok", "local/m", 7, usage=Usage(3_400, 100))))
    assert CostState(played.spending).text == "3.5k tokens sent and received · price unknown"


def test_calls_of_one_event_are_priced_each_by_its_model() -> None:
    """A summary that another model had to write, and a stopped demo model: what has no price is known."""
    usage = Usage(1_000, 20)
    local, demo = ModelInfo("local", "m"), ModelInfo("demo", "demo", demo=True)
    mixed = call_spending(PRICED, usage) + call_spending(local, usage)
    failed = HandoverFailed("", spent=mixed.tokens, cost=mixed.cost, unpriced=mixed.unpriced)
    assert (spending_of(failed).unpriced, spending_of(failed).cost > 0) == (1_020, True)
    assert spending_of(unused_calls(call_spending(demo, usage))).unpriced == 0
    assert spending_of(unused_calls(call_spending(local, usage))).unpriced == 1_020


def test_what_a_branch_did_not_pay_includes_its_parent_s_subagents() -> None:
    """With its dollars: the parent's own line counts both."""
    answer = AssistantSpoke("", "vendor/m", 7, (ToolCall("c", "delegate", "{}"),), usage=Usage(900, 100))
    result = ToolAnswered("c", "delegate", "Done.", "", 5, 1, 1)
    events: tuple[Event, ...] = (
        SessionStarted("s"),
        UserSpoke("Go.", 1),
        msgspec.structs.replace(answer, cost=0.5),
        msgspec.structs.replace(result, delegated=SubagentUsage("done", 2, 400, 0.25)),
        SessionBranched("p", 4, "b"),
    )
    state = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)])
    assert (state.spending, state.inherited_spending) == (Spending(), Spending(1_400, 0.75))
    text = CostState(state.spending, inherited=state.inherited_spending).text
    assert text == "0 tokens sent and received · 1.4k tokens and $0.75 before the branch"


def test_tokens_are_told_by_what_they_were_spent_on() -> None:
    """They add up to the session's; what a model was asked in the background is named with its figure."""
    output = ToolAnswered("c", "run_command", "", "", 5, 1, 1, asked="failures")
    events: tuple[Event, ...] = (
        UserSpoke("Go on.", 3),
        AssistantSpoke("ok", "vendor/m", 7, usage=Usage(500_000, 20)),
        FormChosen(3, "preview", "", 10, intake_tokens=4_400),
        msgspec.structs.replace(output, form="preview", intake_tokens=900),
        msgspec.structs.replace(output, form="compact", intake_tokens=80),
        HandoverFailed("No handover was made.", spent=8_500),
    )
    tokens = tokens_by_purpose(events)
    assert tokens == {"answers": 500_020, "outputs": 4_480, "unused": 9_400}, "an extract in vain"
    assert sum(tokens.values()) == sum((spending_of(event) for event in events), Spending()).tokens
    assert purposes_text(tokens, 900) == (
        "Spent on: answers 500k · canceled or not used 9.4k · forms of large outputs 4.5k · subagents 900."
    )
    assert purposes_text({"answers": 500}) == ""


def test_a_free_model_costs_nothing_and_says_so() -> None:
    """Its price is known; that of the demo model is nobody's business."""
    free = ModelInfo("vendor", "m", free=True)
    spent = call_spending(free, Usage(900, 100))
    assert (spent.cost, spent.unpriced) == (0.0, 0)
    step = AssistantSpoke("Done.", "vendor/m", 100, usage=Usage(900, 100), unpriced=step_unpriced(free))
    assert spending_of(step) == Spending(1_000)
    assert CostState(spent).text == "1k tokens sent and received · free"
    assert CostState(spent).short_cost_text == "free"
    assert CostState(spent, is_demo=True).text == "1k tokens sent and received"
    assert price_text(estimate_cost(free, 900, 100)) == "free"
    assert price_text(estimate_cost(ModelInfo("vendor", "m"), 900, 100)) == "price unknown"
    unknown = call_spending(ModelInfo("vendor", "m"), Usage(900, 100))
    assert CostState(unknown).text == "1k tokens sent and received · price unknown"
    assert CostState(spent + unknown).short_cost_text == ""
