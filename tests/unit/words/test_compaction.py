"""What the inspector says of the next compaction: the engine's judgment in words."""

from __future__ import annotations

import pytest

from helix_desktop.context.policy_numbers import FORM, ContextPolicy
from helix_desktop.context.rewrites.compaction_due import CompactionOutlook
from helix_desktop.context.window.used_tokens import CompactionTrigger, UsageGauge
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.words.compaction import limit_text, trigger_text
from helix_desktop.words.next_compaction import (
    compaction_text,
    explain_acts,
    gauge_compaction_text,
    threshold_text,
)
from tests.support.tables import for_each

_GAUGE = UsageGauge(14_000, 25_000, 1_500, 13_250, True)


@for_each(
    ("outlook", "text"),
    [
        (CompactionOutlook("off"), "Context management is off."),
        (
            CompactionOutlook("gave_up"),
            "Compaction only when you start it. The last 3 attempts failed or freed too little.",
        ),
        (
            CompactionOutlook("room"),
            "Caches and compacts when that saves tokens, and at {at}.",
        ),
        (CompactionOutlook("due"), "{at} is reached: compacts once a summary is written."),
        (
            CompactionOutlook("waiting", 90_000),
            "{at} is reached: compacts 1 min 30 s after the last attempt or undo.",
        ),
        (
            CompactionOutlook("waiting", 60_000),
            "{at} is reached: compacts 1 min after the last attempt or undo.",
        ),
        (
            CompactionOutlook("too_little", freed=1_200, least=2_500),
            "{at} is reached: compacts once that frees enough.\n"
            "It would free about 1.2k tokens now. It has to free 2.5k tokens.",
        ),
        (
            CompactionOutlook("too_little", freed=-40, least=2_500),
            "{at} is reached: compacts once that frees enough.\n"
            "It would free nothing now. It has to free 2.5k tokens.",
        ),
        (
            CompactionOutlook("too_little"),
            "{at} is reached: compacts once that frees enough.\n"
            "Too few messages lie before the newest ones, which always stay.",
        ),
    ],
)
def test_above_the_threshold_it_says_why_nothing_happens(outlook: CompactionOutlook, text: str) -> None:
    """Never that a compaction is due which the engine would not make."""
    assert compaction_text(outlook, _GAUGE, ContextPolicy()) == text.format(at="53 %")


def test_the_panel_says_how_much_is_left_and_explains_what_the_policy_does() -> None:
    outlook, gauge = CompactionOutlook("room"), UsageGauge(6_400, 25_000, 1_500, 21_250, True)
    room = compaction_text(outlook, gauge, ContextPolicy())
    assert room == "Caches and compacts when that saves tokens, and at 85 %."
    assert "compacted messages a summary" in explain_acts()
    without_notes = ContextPolicy(fold_after_steps=0, observe_at=0.0)
    assert compaction_text(outlook, gauge, without_notes) == "Compacts at 85 %, 14.8k left."


@pytest.mark.parametrize("kind", [kind for kind in HandoverTrigger if kind.is_by_policy])
def test_a_trigger_of_the_policy_is_said_in_the_unit_of_its_field(kind: HandoverTrigger) -> None:
    assert kind.policy_field in {name for _, names in FORM for name in names}, "not on the policy page"
    limit = limit_text(kind, 0.53)
    far, beyond = CompactionTrigger(kind, 5, 0.53), CompactionTrigger(kind, -1, 0.53)
    assert gauge_compaction_text(far, True, False).startswith("compaction in ≈ 5")
    assert limit in gauge_compaction_text(beyond, True, False)
    assert limit in trigger_text(kind, 0.53)


@pytest.mark.parametrize(
    ("limit", "text"), [(0.85, "85 %"), (0.75, "85 %, here 75 % to leave room for the answer")]
)
def test_the_threshold_is_the_number_of_the_policy_unless_the_answer_needs_the_room(
    limit: float, text: str
) -> None:
    kind = next(trigger for trigger in HandoverTrigger if trigger.policy_field == "handover_at")
    assert threshold_text(ContextPolicy(), CompactionTrigger(kind, 0, limit)) == text
