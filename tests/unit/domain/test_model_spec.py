"""Which of a model's figures count: the closest source, and a window that always has space for an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.model_spec import (
    DEFAULT_RESERVE,
    DEFAULT_WINDOW,
    ModelSpec,
    SourcedSpec,
    SpecOrigin,
    resolve_spec,
)

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
    free, priced = ModelSpec(free=True), ModelSpec(price_in=3.0, price_out=15.0)
    reported, published = SourcedSpec("server", "", free), SourcedSpec("catalog", "", priced)
    assert resolve_spec(reported, published).model_info("here", "m").free
    assert resolve_spec(reported, published).number("price_in") == 0
    assert not resolve_spec(SourcedSpec("you", "", priced), reported).is_free
