"""The words for why a rewrite was made, the same in the window and on the command line; no Qt."""

from __future__ import annotations

from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger, PlacementReason, SweepReason
from helix_desktop.words.numbers import format_percent

_CONTEXT_FULL = "context was full"
_CACHE_COLD = "provider cache had expired"
_PLACEMENTS = {
    PlacementReason.IMMEDIATE: "as soon as they were ready",
    PlacementReason.COLD: _CACHE_COLD,
    PlacementReason.REWRITE: "with another rewrite",
    PlacementReason.OVERFLOW: _CONTEXT_FULL,
    PlacementReason.MANUAL: "manual",
}
_SWEEPS = {
    SweepReason.BATCH: "",
    SweepReason.COLD: _CACHE_COLD,
    SweepReason.FOLD: "with the fold",
    SweepReason.OBSERVATIONS: "with the observations",
    SweepReason.HANDOVER: "with the handover",
    SweepReason.OVERFLOW: _CONTEXT_FULL,
    SweepReason.MANUAL: "manual",
    SweepReason.REFUSED: "refused by the model's server",
}


def trigger_text(trigger: HandoverTrigger, threshold: float) -> str:
    """Return what started a handover; `threshold` is a share of the context window, 0: not known."""
    match trigger:
        case HandoverTrigger.MANUAL:
            return "manual"
        case HandoverTrigger.OVERFLOW:
            return _CONTEXT_FULL
    return f"automatic at {format_percent(threshold)}" if threshold else "automatic"


def placement_text(reason: PlacementReason, threshold: float) -> str:
    """Return why observations were put in place; `threshold` as of `trigger_text`."""
    if reason is not PlacementReason.THRESHOLD:
        return _PLACEMENTS[reason]
    return f"context reached {format_percent(threshold) if threshold else 'the threshold'}"


def sweep_reason_text(reason: SweepReason) -> str:
    """Return why a sweep was made; empty for the usual one, of enough that was ripe."""
    return _SWEEPS[reason]
