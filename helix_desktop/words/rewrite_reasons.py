"""The words for why a rewrite was made, the same in the window and on the command line; no Qt."""

from __future__ import annotations

from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    HandoverTrigger,
    PlacementReason,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.numbers import format_percent
from helix_desktop.words.translation import Translator, translate

tr = Translator("Compaction")
text = TextContext("Compaction")

_MINUTES_OF_HOUR = 60
_TOO_LARGE = text("context was full")
_CACHE_COLD = text("idle, or another model")
_MANUAL = text("you asked")
_COMPACTED = text("with a compaction")
_PLACEMENTS: dict[PlacementReason, TranslatableText] = {
    PlacementReason.IMMEDIATE: text("at once"),
    PlacementReason.COLD: _CACHE_COLD,
    PlacementReason.REWRITE: text("with another change"),
    PlacementReason.OVERFLOW: _TOO_LARGE,
    PlacementReason.MANUAL: _MANUAL,
}
_SWEEPS: dict[SweepReason, TranslatableText] = {
    SweepReason.COLD: _CACHE_COLD,
    SweepReason.FOLD: _COMPACTED,
    SweepReason.OBSERVATIONS: _COMPACTED,
    SweepReason.HANDOVER: _COMPACTED,
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
    return _reached_text(threshold) if threshold else tr("automatic")


def placement_text(reason: PlacementReason, threshold: float, averted_handover_at: float = 0.0) -> str:
    """Return why observations were put in place, or that the context is below a share again with them."""
    if averted_handover_at:
        share = format_percent(averted_handover_at)
        return tr("back below {share}", share=share)
    if reason is not PlacementReason.THRESHOLD:
        return translate(_PLACEMENTS[reason])
    if not threshold:
        return tr("context above the threshold")
    return _reached_text(threshold)


def _reached_text(threshold: float) -> str:
    return tr("{share} reached", share=format_percent(threshold))


def sweep_reason_text(reason: SweepReason) -> str:
    """Return why a sweep was made; empty for the usual one, of enough that was ready."""
    return translate(_SWEEPS.get(reason, ""))


def divider_reason_text(
    event: SweepMade | FoldMade | ObservationsPlaced | HandoverMade | Excluded, idle_ms: int
) -> str:
    """Return why the context changed, for the end of one line; the last answer was `idle_ms` before."""
    match event:
        case HandoverMade(revises=revises) if revises:
            return tr("you edited the handover")
        case HandoverMade(trigger=HandoverTrigger.MANUAL) | SweepMade(reason=SweepReason.MANUAL):
            return translate(_MANUAL)
        case ObservationsPlaced(reason=PlacementReason.MANUAL):
            return translate(_MANUAL)
        case Excluded():
            return tr("you left something out")
        case HandoverMade(trigger=HandoverTrigger.OVERFLOW) | SweepMade(reason=SweepReason.OVERFLOW):
            return translate(_TOO_LARGE)
        case ObservationsPlaced(reason=PlacementReason.OVERFLOW) | FoldMade(how="truncate"):
            return translate(_TOO_LARGE)
        case SweepMade(reason=SweepReason.COLD) | ObservationsPlaced(reason=PlacementReason.COLD):
            minutes = idle_ms // 60_000
            if not minutes:  # no provider's cache ends sooner: it is cold as another model is to answer
                return tr("another model")
            if minutes < _MINUTES_OF_HOUR:
                return tr("idle for {minutes} min", minutes=minutes)
            return tr("idle for {hours} h", hours=minutes // _MINUTES_OF_HOUR)
        case SweepMade(reason=SweepReason.REFUSED):
            return translate(_SWEEPS[SweepReason.REFUSED])
        case SweepMade():
            return tr("older outputs cached")
        case FoldMade():
            return tr("older steps compacted")
        case HandoverMade(threshold=share) | ObservationsPlaced(averted_handover_at=share) if share:
            return _reached_text(share)
        case ObservationsPlaced(threshold=share) if share:
            return _reached_text(share)
    return tr("older messages compacted")
