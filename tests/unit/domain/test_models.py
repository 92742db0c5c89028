"""Models: which figures count, what calls cost, effort, and what goes along with requests."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.choices import Effort, EffortLevel, SentEffort, fit_level, sort_levels
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
from helix_desktop.domain.model_spec import (
    DEFAULT_RESERVE,
    DEFAULT_WINDOW,
    ModelSpec,
    SourcedSpec,
    SpecOrigin,
    resolve_spec,
)
from helix_desktop.domain.request_extras import RequestExtras, merge_fields
from helix_desktop.domain.tools import SubagentUsage
from helix_desktop.words.costs import CostState, price_text, purposes_text
from tests.support.tables import for_each

TOKENS = st.integers(0, 3_000_000)
FIGURES = st.builds(
    ModelSpec,
    window=TOKENS,
    input=TOKENS,
    output=TOKENS,
    reserve=TOKENS,
    price_in=st.floats(0, 100),
    price_out=st.floats(0, 100),
    images=st.none() | st.booleans(),
)


def reported_specs(origin: SpecOrigin, **figures: float) -> SourcedSpec:
    return SourcedSpec(origin, f"the {origin} says so", ModelSpec(**figures))  # type: ignore[arg-type]  # figures by their names


def test_an_unknown_model_gets_marked_defaults() -> None:
    facts = resolve_spec().values
    assert (facts["window"].value, facts["reserve"].value) == (DEFAULT_WINDOW, DEFAULT_RESERVE)
    assert {fact.origin for fact in facts.values()} == {"assumed"}


def test_the_first_source_wins_and_the_next_fills_its_gaps() -> None:
    facts = resolve_spec(
        reported_specs("you", window=9_000), reported_specs("server", window=8_000, output=700)
    ).values
    assert (facts["window"].value, facts["window"].source) == (9_000, "the you says so")
    assert (facts["output"].value, facts["output"].origin) == (700, "server")


def test_a_request_limit_below_the_window_is_the_reserve() -> None:
    assert resolve_spec(reported_specs("catalog", window=400_000, input=272_000)).number("reserve") == 128_000


@pytest.mark.parametrize(
    ("window", "output", "reserve", "rule"),
    [
        (160_000, 0, 10_000, "1/16 of the context window"),
        (32_000, 0, 4_096, "the minimum"),
        (8_000, 0, 2_000, "1/4 of the context window, the most that is reserved"),
        (1_000_000, 0, 32_000, "the maximum"),
        (160_000, 8_192, 8_192, "the longest output of the model"),
    ],
)
def test_the_reserve_names_the_rule_it_follows(window: int, output: int, reserve: int, rule: str) -> None:
    facts = resolve_spec(reported_specs("server", window=window, output=output)).values["reserve"]
    assert (facts.value, facts.source) == (reserve, rule)


@given(st.lists(FIGURES, max_size=3))
def test_every_model_has_a_window_that_leaves_space(specs: list[ModelSpec]) -> None:
    info = resolve_spec(*(SourcedSpec("server", "", figures) for figures in specs)).model_info("here", "m")
    assert info.window > 0
    assert 0 <= info.reserve < info.window


def test_a_source_that_says_free_wins_over_the_prices_of_a_later_one() -> None:
    """A price of the user's own wins over it."""
    free = ModelSpec(free=True)
    priced = ModelSpec(price_in=3.0, price_out=15.0)
    reported = SourcedSpec("server", "", free)
    published = SourcedSpec("catalog", "", priced)
    assert resolve_spec(reported, published).model_info("here", "m").free
    assert resolve_spec(reported, published).number("price_in") == 0
    assert not resolve_spec(SourcedSpec("you", "", priced), reported).is_free


UP_TO_HIGH: tuple[EffortLevel, ...] = ("low", "medium", "high")


@pytest.mark.parametrize(
    ("effort", "levels", "sent"),
    [
        ("", UP_TO_HIGH, ""),
        ("default", UP_TO_HIGH, ""),
        ("max", UP_TO_HIGH, "high"),
        ("medium", UP_TO_HIGH, "medium"),
        ("minimal", UP_TO_HIGH, "low"),
        ("medium", ("none", "low", "high"), "low"),
        ("xhigh", (), "xhigh"),
    ],
)
def test_the_nearest_level_is_sent(effort: Effort, levels: tuple[EffortLevel, ...], sent: SentEffort) -> None:
    assert fit_level(effort, levels) == sent


def test_a_model_that_cannot_think_is_sent_nothing_and_offers_nothing() -> None:
    info = ModelInfo("box", "small")
    assert (info.offered_efforts, info.fit_effort("high")) == (("low", "medium", "high"), "high")
    mute = msgspec.structs.replace(info, reasoning=False)
    assert (mute.offered_efforts, mute.fit_effort("high")) == ((), "")


def test_levels_come_in_order_and_other_names_are_left_out() -> None:
    assert sort_levels(["max", "ultra", "low", None]) == ("low", "max")


@for_each(
    ("extras", "words"),
    [
        (RequestExtras({"Authorization": "Bearer x"}), "carries the API key"),
        (RequestExtras(secret_headers=("X-API-Key",)), "carries the API key"),
        (RequestExtras({"Content-Length": "0"}), "Helix sets it"),
        (RequestExtras({"X Title": "a"}), "isn't a header name"),
        (RequestExtras({"X-Title": "a\r\nHost: evil"}), "characters that headers can't have"),
        (RequestExtras({"X-Title": "a"}, ("x-title",)), "listed twice"),
        (RequestExtras(body={"messages": []}), "Helix sets it"),
        (RequestExtras(body={"max_tokens": 5}), "set the model's output"),
        (RequestExtras(body={"provider": {"order": [None]}}), "can't be null"),
    ],
)
def test_what_would_break_a_request_is_refused_with_the_reason(extras: RequestExtras, words: str) -> None:
    assert words in extras.fault("anthropic")


def test_what_providers_ask_for_is_taken() -> None:
    extras = RequestExtras(
        {"HTTP-Referer": "https://helix.example", "anthropic-beta": "fast"},
        ("X-Gateway-Token",),
        {"service_tier": "flex", "max_tokens": 5, "provider": {"order": ["a", "b"]}},
    )
    assert extras.fault("openai-chat") == ""


def test_what_a_model_says_counts_more_than_what_its_provider_says() -> None:
    general = RequestExtras(
        {"X-Team": "all", "X-App": "helix"}, ("X-Token",), {"a": {"x": 1, "y": 1}, "b": 1}
    )
    own = RequestExtras({"x-team": "lab"}, (), {"a": {"y": 2}})
    both = general.with_narrower(own)
    assert both == RequestExtras(
        {"X-App": "helix", "x-team": "lab"}, ("X-Token",), {"a": {"x": 1, "y": 2}, "b": 1}
    )
    assert not RequestExtras()
    assert merge_fields({"a": {"x": 1}}, {"a": 3}) == {"a": 3}


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
    assert call_cost(ModelInfo("vendor", "m"), Usage(MILLION, MILLION)) == 0.0


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
    local = ModelInfo("local", "m")
    demo = ModelInfo("demo", "demo", demo=True)
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
