"""What the inspector says of the next request: its cost, and what waits for a rewrite now."""

from __future__ import annotations

import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites.planner import RewriteStatus, rewrite_status
from helix_desktop.context.window.provider_cache import RequestCost
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.ui.inspector.from_window import with_rewrite_status
from helix_desktop.ui.inspector.inspector_data import InspectorState
from tests.support.histories import SessionSimulator

_GAUGE = UsageGauge(3_100, 20_000, 1_000, 17_000, True)
_COST = RequestCost(3_000, 100, None)


def state_with(status: RewriteStatus, cost: RequestCost = _COST) -> InspectorState:
    """Return what the inspector shows at 3.1k tokens."""
    state = InspectorState(3_100, 20_000, False, "", 0.85, 1_000)
    return with_rewrite_status(state, status, PROFILES["balanced"], _GAUGE, cost)


@pytest.mark.parametrize("profile", ["balanced", "lean", "classic", "plain"])
def test_nothing_is_said_of_later_requests(profile: str) -> None:
    """In a context of 9k tokens a note was announced in about 4 model calls, and never came."""
    simulator = SessionSimulator(PROFILES[profile])
    simulator.send_message("Begin.")
    for step in range(12):
        simulator.step(f"Step {step}.", 1)
        simulator.answer_call(0, f"{step} line of output\n" * 100)
        status = rewrite_status(simulator.transcript, simulator.policy, simulator.gauge(), simulator.now_ms)
        state = InspectorState(9_000, 128_000, False, "", 0.85, 1_000)
        gauge = simulator.gauge()
        shown = with_rewrite_status(state, status, simulator.policy, gauge, RequestCost(0, 9_000, None))
        words = [shown.cost_text, shown.facts_text]
        assert not [text for text in words if "about" in text or "model call" in text or "by then" in text]


def test_a_request_that_does_not_fit_is_not_announced_with_its_size() -> None:
    """It is made to fit before it is sent."""
    large = RequestCost(0, 20_100, None)
    assert state_with(RewriteStatus(), large).cost_text == (
        "Next request: at most 19k tokens, once room is made"
    )


def test_facts_are_not_said_to_be_due_before_they_are() -> None:
    """29.6 % was rounded to 30 %, where they are noted."""
    assert state_with(RewriteStatus(unobserved=5_920)).facts_text == (
        "Facts are written once new messages take 30 % of the context, 29 % now."
    )


@pytest.mark.parametrize(
    ("failures", "note"),
    [
        (0, ""),
        (1, "The last try failed. Helix tries again later."),
        (2, "The last 2 tries failed. Helix tries again later."),
        (3, "Written only when you start it: the last 3 tries failed."),
    ],
)
def test_facts_that_could_not_be_noted_are_not_announced_as_if_nothing_was(failures: int, note: str) -> None:
    text = state_with(RewriteStatus(unobserved=9_000, failed_observations=failures)).facts_text
    assert text.partition("\n")[2] == note
