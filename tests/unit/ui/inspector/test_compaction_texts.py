"""What the inspector says of the next compaction: the engine's judgment in words."""

from __future__ import annotations

import pytest

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.planner import CompactionOutlook
from helix_desktop.context.window.usage_gauge import CompactionTrigger, UsageGauge
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.words.rewrite_reasons import compaction_text, gauge_compaction_text, preview_trigger_text

_GAUGE = UsageGauge(14_000, 25_000, 1_500, 13_250, True)


@pytest.mark.parametrize(
    ("outlook", "text"),
    [
        (CompactionOutlook("off"), "Context management is off."),
        (
            CompactionOutlook("room"),
            "Older messages are compacted at {at}: 0 left. Earlier when that saves tokens.",
        ),
        (CompactionOutlook("due"), "Older messages are compacted at {at}: due now."),
        (
            CompactionOutlook("waiting", 90_000),
            "Older messages are compacted at {at}, at least 1 min 30 s after the last try.",
        ),
        (
            CompactionOutlook("waiting", 60_000),
            "Older messages are compacted at {at}, at least 1 min after the last try.",
        ),
        (
            CompactionOutlook("too_little", freed=1_200, least=2_500),
            "Older messages are compacted at {at}, once that frees enough.\n"
            "It would free about 1.2k tokens now. It has to free 2.5k tokens.",
        ),
        (
            CompactionOutlook("too_little", freed=-40, least=2_500),
            "Older messages are compacted at {at}, once that frees enough.\n"
            "It would free nothing now. It has to free 2.5k tokens.",
        ),
        (
            CompactionOutlook("too_little"),
            "Older messages are compacted at {at}, once that frees enough.\n"
            "Too few messages lie before the newest ones, which always stay.",
        ),
    ],
)
def test_above_the_threshold_it_says_why_nothing_happens(outlook: CompactionOutlook, text: str) -> None:
    """Never that a compaction is due which the engine would not make."""
    assert compaction_text(outlook, _GAUGE, ContextPolicy(handover_at=0.53)) == text.format(at="53 %")
    here = "85 %, here 53 % to leave room for the answer"
    assert compaction_text(outlook, _GAUGE, ContextPolicy()) == text.format(at=here)


WORDS = {HandoverTrigger.THRESHOLD: ("compaction in ≈ 5k", "above 53 %", "At 53 % at", "Above 53 %,")}
"""What the gauge and the preview say of each trigger of the policy, far from it and beyond it."""


@pytest.mark.parametrize("kind", [kind for kind in HandoverTrigger if kind.is_by_policy])
def test_each_trigger_of_the_policy_has_words_before_it_is_due(kind: HandoverTrigger) -> None:
    assert kind in WORDS, f"words/rewrite_reasons.py says nothing of {kind} before it is due"
    far, beyond = CompactionTrigger(kind, 5_000, 0.53), CompactionTrigger(kind, -1, 0.53)
    texts = [gauge_compaction_text(trigger, True, False) for trigger in (far, beyond)]
    texts += [preview_trigger_text(trigger, True) for trigger in (far, beyond)]
    assert all(map(str.startswith, texts, WORDS[kind])), texts
