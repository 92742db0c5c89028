"""When the conversation is compacted, or why it is not compacted now, as text; no Qt."""

from __future__ import annotations

from helix_desktop.context.rewrites.planner import BREAKER_FAILURES, CompactionOutlook, CompactionState
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.words.numbers import format_token_count, format_tokens, format_whole_percent
from helix_desktop.words.rewrite_explanations import explain_hold
from helix_desktop.words.times import format_duration
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_MINUTE = 60  # seconds


def compaction_text(outlook: CompactionOutlook, gauge: UsageGauge) -> str:
    """Return when the conversation is compacted; if it is above the threshold and isn't, why, in a line."""
    state = outlook.state
    if state == "off":
        return tr("Context management is off")
    if state == "hold":
        return explain_hold()
    if state == "paused":
        return tr.plural(
            BREAKER_FAILURES,
            "Compacts only when you start it: the last try failed or freed too little",
            "Compacts only when you start it: the last %n tries failed or freed too little",
        )
    share = format_whole_percent(gauge.handover_threshold / gauge.window)
    left = format_tokens(max(0, gauge.handover_threshold - gauge.used))
    texts: dict[CompactionState, str] = {
        "room": tr("Compacts at {share} · {tokens} left", share=share, tokens=left),
        "due": tr("Compacts at {share} · due now", share=share),
        "full": tr("Compacts at {share} · room is made with the next request", share=share),
        "facts": tr("Compacts at {share} · older messages are noted first", share=share),
        "waiting": tr(
            "Compacts at {share} · at least {time} after the last try",
            share=share,
            time=pause_text(outlook.wait_ms // 1000),
        ),
        "too_little": tr("Compacts at {share} once it pays", share=share) + "\n" + _too_little_text(outlook),
    }
    return texts[state]


def _too_little_text(outlook: CompactionOutlook) -> str:
    least = format_token_count(round(outlook.least))
    if outlook.freed is None:
        return tr("Too few messages lie before the newest ones, which stay in full.")
    if outlook.freed <= 0:
        return tr("A summary could be as large as what it replaces. It has to free {least}.", least=least)
    return tr(
        "A summary would free about {tokens}. It has to free {least}.",
        tokens=format_token_count(outlook.freed),
        least=least,
    )


def pause_text(seconds: int) -> str:
    """Return how long a pause is; whole minutes without seconds."""
    if seconds % _MINUTE:
        return format_duration(seconds * 1000)
    return tr("{minutes} min", minutes=seconds // _MINUTE)
