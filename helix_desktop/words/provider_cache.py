"""The provider's cache in words: what a request read from it, and why it did not read more; no Qt."""

from __future__ import annotations

from helix_desktop.context.window.provider_cache import MissCause, MissKind
from helix_desktop.domain.messages import Usage
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, translate

tr = Translator("Provider cache")
text = TextContext("Provider cache")

_MINUTE, _HOUR = 60, 3_600  # seconds
_CAUSES: dict[MissKind, TranslatableText] = {
    "first": text("First request of the session."),
    "unreported": text("The provider doesn't report this discount."),
    "tools": text("The tools changed."),
    "system": text("The system prompt changed."),
    "effort": text("The reasoning effort changed."),
    "notes": text("The text of summaries changed."),
    "small": text("The request before was below the provider's minimum size."),
    "unexplained": text("The provider read less than it had stored although nothing changed."),
    "sweep": text("Outputs were cached."),
    "fold": text("Older messages were compacted."),
    "observations": text("Older messages were compacted."),
    "handover": text("Older messages were compacted."),
    "form": text("An output got another form."),
    "exclude": text("Something was left out."),
    "pin": text("An output was pinned."),
    "unpin": text("An output was unpinned."),
    "undo": text("A change was undone."),
    "redo": text("A change was redone."),
}


def usage_text(usage: Usage) -> str:
    """Return the input of a request as the provider reported it: "28.1k read · 1.2k written · 310 new"."""
    parts = [tr("{tokens} read", "from the prompt cache", tokens=format_tokens(usage.cached))]
    if usage.cache_writes:
        parts.append(tr("{tokens} written", "to the prompt cache", tokens=format_tokens(usage.cache_writes)))
    parts.append(
        tr("{tokens} new", "input tokens not in the prompt cache", tokens=format_tokens(usage.fresh))
    )
    return " · ".join(parts)


def miss_text(cause: MissCause) -> str:
    if cause.kind == "model":
        return tr("Another model answered before: {model}.", model=cause.previous_model)
    if cause.kind == "idle":
        return tr(
            "{waited} since the request before; the discount lasts {lifetime}.",
            waited=lifetime_text(cause.waited_s),
            lifetime=lifetime_text(cause.lifetime_s),
        )
    return translate(_CAUSES[cause.kind])


def lifetime_text(seconds: int) -> str:
    """Return how long something lasts, in whole minutes or hours: "5 min", "1 h", "1 h 20 min"."""
    if seconds < _HOUR:
        return tr("{minutes} min", minutes=max(1, seconds // _MINUTE))
    minutes = seconds % _HOUR // _MINUTE
    hours = tr("{hours} h", hours=seconds // _HOUR)
    return tr("{hours} {minutes} min", hours=hours, minutes=minutes) if minutes else hours
