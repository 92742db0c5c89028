"""The words for how many summaries and extracts needed a fallback, in the window and on the command line."""

from __future__ import annotations

from helix_desktop.context.summaries.summary_task import FallbackRate
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")


def fallback_text(rate: FallbackRate) -> str:
    """Return how many summaries and extracts of the workspace needed a fallback; empty if none did."""
    if not rate.fallbacks:
        return ""
    return tr.plural(
        rate.summaries,
        "In this workspace, {count} of %n summary or extract needed a fallback.",
        "In this workspace, {count} of %n summaries and extracts needed a fallback.",
        count=format_integer(rate.fallbacks),
    )


def fallback_advice(rate: FallbackRate) -> str:
    """Return why the newest one was needed, and what to do if there are many; empty if not."""
    if not rate.is_high:
        return ""
    reason = join_sentences(tr("Latest reason:"), rate.newest_reason)
    advice = (
        tr("Choose another model for large outputs in Settings → Model roles.")
        if rate.newest_is_extract
        else tr("Choose another model for compaction in Settings → Model roles.")
    )
    return translate(join_sentences(translate(reason), advice))


def explain_fallback() -> str:
    """Return what happened in place of one call of the model."""
    return tr(
        "Written in parts, by another model or without one, or some messages were not read. "
        "For an extract that no model wrote, the agent got a preview."
    )
