"""What the window of the handovers says of the context."""

from __future__ import annotations

import pytest

from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.ui.handover.versions import context_text

FULL = "The context is 14 % full."
NEXT = "At 85 %, a summary like this replaces older messages."


@pytest.mark.parametrize(
    ("used", "left_out", "is_reported", "text"),
    [
        (3_360, 0, True, f"{FULL} {NEXT}"),
        (3_360, 0, False, f"The context is ≈ 14 % full. {NEXT}"),
        (
            3_360,
            5_640,
            True,
            f"{FULL} With every message whole, it would be ≈ 61 %. {NEXT}",
        ),
        (
            *(3_360, 668_320, True),
            f"{FULL} All messages would take ≈ 1.34M tokens; the context window has room for 24k. {NEXT}",
        ),
        (22_000, -40, True, "The context is 92 % full. Above 85 %, it is compacted once that frees enough."),
    ],
)
def test_it_says_how_full_the_context_is_and_would_be(
    used: int, left_out: int, is_reported: bool, text: str
) -> None:
    """What was left out is counted as the provider does: it reports twice our tokens."""
    gauge = UsageGauge(used, 24_000, 2_000, 20_400, is_reported, ratio=2.0)
    assert context_text(gauge, left_out, is_managed=True) == text


def test_with_the_policy_off_nothing_is_said_to_come() -> None:
    gauge = UsageGauge(3_360, 24_000, 2_000, 20_400, is_reported=True)
    assert context_text(gauge, 0, is_managed=False) == f"{FULL} Context management is off."
