"""The words for why a rewrite was made, the same in the window and on the command line; no Qt."""

from __future__ import annotations

from helix_desktop.domain.events.rewrite import HandoverTrigger, PlacementReason, SweepReason
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.numbers import format_percent
from helix_desktop.words.translation import Translator, translate

tr = Translator("Compaction")
text = TextContext("Compaction")

_TOO_LARGE = text("request was too large")
_CACHE_COLD = text("prompt cache had expired")
_MANUAL = text("manual")
_PLACEMENTS: dict[PlacementReason, TranslatableText] = {
    PlacementReason.IMMEDIATE: text("at once"),
    PlacementReason.COLD: _CACHE_COLD,
    PlacementReason.REWRITE: text("together with another change"),
    PlacementReason.OVERFLOW: _TOO_LARGE,
    PlacementReason.MANUAL: _MANUAL,
}
_SWEEPS: dict[SweepReason, TranslatableText] = {
    SweepReason.COLD: _CACHE_COLD,
    SweepReason.FOLD: text("together with a note"),
    SweepReason.OBSERVATIONS: text("together with observations"),
    SweepReason.HANDOVER: text("together with a compaction"),
    SweepReason.OVERFLOW: _TOO_LARGE,
    SweepReason.MANUAL: _MANUAL,
    SweepReason.REFUSED: text("provider refused the images"),
}


def trigger_text(trigger: HandoverTrigger, threshold: float) -> str:
    """Return what started a handover; `threshold` is a share of the context window, 0: not known."""
    match trigger:
        case HandoverTrigger.MANUAL:
            return translate(_MANUAL)
        case HandoverTrigger.OVERFLOW:
            return translate(_TOO_LARGE)
        case HandoverTrigger.CONTINUED:
            return tr("start of this session")
    return tr("automatic at {share}", share=format_percent(threshold)) if threshold else tr("automatic")


def placement_text(reason: PlacementReason, threshold: float, averted_handover_at: float = 0.0) -> str:
    """Return why observations were put in place, or that the context is below a share again with them."""
    if averted_handover_at:
        share = format_percent(averted_handover_at)
        return tr("back below {share}", share=share)
    if reason is not PlacementReason.THRESHOLD:
        return translate(_PLACEMENTS[reason])
    if not threshold:
        return tr("context above the threshold")
    return tr("context above {share}", share=format_percent(threshold))


def sweep_reason_text(reason: SweepReason) -> str:
    """Return why a sweep was made; empty for the usual one, of enough that was ready."""
    return translate(_SWEEPS.get(reason, ""))
