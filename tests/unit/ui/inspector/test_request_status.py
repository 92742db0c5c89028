"""What the inspector says that the next request costs."""

from __future__ import annotations

from helix_desktop.context.window.provider_cache import RequestCost
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.ui.inspector.from_window import with_request_cost
from helix_desktop.ui.inspector.request_groups import InspectorState


def test_a_request_that_does_not_fit_is_not_announced_with_its_size() -> None:
    """It is made to fit before it is sent."""
    gauge = UsageGauge(3_100, 20_000, 1_000, 17_000, True)
    shown = with_request_cost(InspectorState(gauge), RequestCost(0, 20_100, None))
    assert shown.cost_text == "Next request: at most 19k tokens"
