"""The words for how many summaries needed a fallback, in the window and on the command line; no Qt."""

from __future__ import annotations

from helix_desktop.context.summaries.fallback_rate import FallbackRate
from helix_desktop.domain.user_text import join_sentences
from helix_desktop.words.numbers import format_integer, format_whole_percent
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")


def fallback_text(rate: FallbackRate) -> str:
    """Return how many summaries of the workspace needed a fallback; empty without summaries."""
    if not rate.summaries:
        return ""
    return tr.plural(
        rate.summaries,
        "Fallbacks in this workspace: {count} of %n summary ({share})",
        "Fallbacks in this workspace: {count} of %n summaries ({share})",
        count=format_integer(rate.fallbacks),
        share=format_whole_percent(rate.share),
    )


def fallback_advice(rate: FallbackRate) -> str:
    """Return why the newest one was needed, and what to do if there are many; empty if not."""
    if not rate.is_high:
        return ""
    reason = join_sentences(tr("Latest reason:"), rate.newest_reason)
    return translate(
        join_sentences(translate(reason), tr("Choose another model for summaries in Settings → Model roles."))
    )


def explain_fallback() -> str:
    """Return what a fallback is."""
    return tr(
        "A fallback: one call of the summary model was not enough, so parts, another model or no model."
    )
