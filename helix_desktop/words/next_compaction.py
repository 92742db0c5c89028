"""When the conversation is compacted next, and why it is not now."""

from __future__ import annotations

from helix_desktop.context.policy_numbers import FIELDS, ContextPolicy
from helix_desktop.context.rewrites.compaction_due import BREAKER_FAILURES, CompactionOutlook
from helix_desktop.context.window.used_tokens import CompactionTrigger, UsageGauge
from helix_desktop.words.context_changes import limit_text
from helix_desktop.words.numbers import format_token_count, format_tokens
from helix_desktop.words.state_words import explain_hold
from helix_desktop.words.times import format_duration
from helix_desktop.words.translation import Translator

tr = Translator("Compaction")


def _distance_text(trigger: CompactionTrigger) -> str:
    distance = max(0, trigger.distance)
    if FIELDS[trigger.kind.policy_field].is_share:
        return format_tokens(distance)
    return limit_text(trigger.kind, distance)


def threshold_text(policy: ContextPolicy, trigger: CompactionTrigger) -> str:
    """Return where it is compacted, and where in a model's context window if that is earlier."""
    usual = limit_text(trigger.kind, round(getattr(policy, trigger.kind.policy_field), 2))
    here = limit_text(trigger.kind, trigger.limit)
    if here == usual:
        return usual
    return tr("{usual}, here {here} to leave room for the answer", usual=usual, here=here)


def explain_acts() -> str:
    """Return what Cached and Compacted mean: what stands in the context in place of what left it."""
    meaning = tr("Cached outputs are replaced by a short description, compacted turns by a shorter form.")
    return f"{meaning} {tr('The agent can recall both, Undo restores both.')}"


def explain_rows() -> str:
    """Return what brings back what left, beside the rows of the next request."""
    return tr("The agent recalls them; click rows for Undo.")


def compaction_text(outlook: CompactionOutlook, gauge: UsageGauge, policy: ContextPolicy) -> str:
    """Return when the conversation is compacted; if it is above the threshold and isn't, why, in a line."""
    share = limit_text(gauge.trigger.kind, gauge.trigger.limit)
    match outlook.state:
        case "off":
            return tr("Context management is off.")
        case "hold":
            return explain_hold()
        case "gave_up":
            return " ".join((tr("Compaction only when you start it."), breaker_text()))
        case "room":
            if policy.fold_after_steps or policy.observe_at:
                return tr(
                    "Every request sends this, so old parts leave to save tokens; at {share} they must.",
                    share=share,
                )
            room = _distance_text(gauge.trigger)
            return tr("Compacts at {share}, {room} left.", share=share, room=room)
        case "due":
            return tr("{share} is reached: compacts once a handover summary is written.", share=share)
        case "full" | "facts":
            return tr(
                "{share} is reached: before the next request, Helix caches outputs or compacts older turns.",
                share=share,
            )
        case "waiting":
            time = _pause_text(outlook.pause_ms // 1000)
            return tr(
                "{share} is reached: compacts {time} after the last attempt or undo.", share=share, time=time
            )
        case "failed":
            return tr(
                "{share} is reached: the last handover summary failed, the next is tried after more "
                "messages.",
                share=share,
            )
        case "too_little":
            once = tr("{share} is reached: compacts once that frees enough.", share=share)
            return f"{once}\n{_too_little_text(outlook)}"


def _too_little_text(outlook: CompactionOutlook) -> str:
    least = format_token_count(round(outlook.least))
    if outlook.freed is None:
        return tr("Too few messages lie before the newest ones, which always stay.")
    if outlook.freed <= 0:
        return tr("It would free nothing now. It has to free {least}.", least=least)
    return tr(
        "It would free about {tokens} now. It has to free {least}.",
        tokens=format_token_count(outlook.freed),
        least=least,
    )


def _pause_text(seconds: int) -> str:
    """Return how long a pause is; whole minutes without seconds."""
    if seconds % 60:
        return format_duration(seconds * 1000)
    return tr("{minutes} min", minutes=seconds // 60)


def restored_text(trigger: CompactionTrigger) -> str:
    """Return how long what an undo brought back stays in the context."""
    distance = max(0, trigger.distance)
    is_share = FIELDS[trigger.kind.policy_field].is_share
    room = format_token_count(distance) if is_share else limit_text(trigger.kind, distance)
    share = limit_text(trigger.kind, trigger.limit)
    return tr("What came back stays until the context reaches {share}, {room} left.", share=share, room=room)


def gauge_compaction_text(trigger: CompactionTrigger, is_managed: bool, is_on_hold: bool) -> str:
    if not is_managed:
        return tr("compaction off")
    if is_on_hold:
        return tr("paused")
    if trigger.is_due:
        return tr("above {share}", share=limit_text(trigger.kind, trigger.limit))
    return tr("compaction in ≈ {tokens}", tokens=_distance_text(trigger))


def next_try_text(failures: int) -> str:
    """Return whether Helix tries again by itself after so many failures in a row."""
    if failures >= BREAKER_FAILURES:
        return " ".join((tr("Helix doesn't try again by itself."), breaker_text()))
    return tr.plural(
        BREAKER_FAILURES,
        "Helix tries again later, until %n attempt has failed.",
        "Helix tries again later, until %n attempts in a row have failed.",
    )


def breaker_text() -> str:
    """Return why only the user compacts the conversation now."""
    return tr.plural(
        BREAKER_FAILURES,
        "The last attempt failed or freed too little.",
        "The last %n attempts failed or freed too little.",
    )
