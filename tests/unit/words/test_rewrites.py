"""What the user reads of a rewrite, and of what was chosen for a session."""

from __future__ import annotations

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.rewrite import Excluded, Pinned, Unpinned
from helix_desktop.domain.events.session import BudgetSet
from helix_desktop.words.rewrites import (
    budget_text,
    excluded_text,
    masked_contents_text,
    model_text,
    pin_text,
)


@pytest.mark.parametrize(
    ("outputs", "calls", "image_messages", "text"),
    [
        (1, 0, 0, "1 output cached"),
        (1_200, 0, 0, "1,200 outputs cached"),
        (0, 1, 0, "Cached: arguments of 1 call"),
        (1, 0, 2, "Cached: 1 output and images of 2 messages"),
        (3, 2, 1, "Cached: 3 outputs, arguments of 2 calls and images of 1 message"),
    ],
)
def test_cached_contents_are_counted_by_kind(
    outputs: int, calls: int, image_messages: int, text: str
) -> None:
    assert masked_contents_text(outputs, calls, image_messages) == text


def test_an_exclusion_says_what_was_left_out() -> None:
    """Its row says how the context's size changed."""
    excluded = Excluded((7,), "excluded", 30, "f" * 64, 900)
    assert excluded_text(excluded, Transcript()) == "You left out instructions"


@pytest.mark.parametrize(
    ("tokens", "cost", "text"),
    [
        (0, 0.0, "Budget: no limit"),
        (200_000, 0.0, "Budget: 200,000 tokens"),
        (0, 2.5, "Budget: $2.50"),
        (200_000, 2.5, "Budget: 200,000 tokens or $2.50"),
    ],
)
def test_a_budget_names_its_limits(tokens: int, cost: float, text: str) -> None:
    assert budget_text(BudgetSet(tokens, cost)) == text


def test_a_model_that_was_chosen_is_named() -> None:
    assert model_text("") == "Model for this session: workspace default"
    assert model_text("demo/offline") == "Model for this session: offline demo model"
    assert model_text("lab/m") == "Model for this session: lab/m"


def test_a_pin_on_an_unknown_output_names_its_event() -> None:
    assert pin_text(Pinned(7), Transcript()) == "You pinned e7 · always kept in context"
    assert pin_text(Unpinned(7), Transcript()) == "You unpinned e7"
