"""Why a rewrite was made, as kinds: these are stored; the words for them are made where they show."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

_OLD_TEXTS = {
    "85 %": "threshold",
    "level": "threshold",
    "by hand": "manual",
    "no room": "overflow",
    "at once": "immediate",
}
"""What older logs hold: the texts of the screen, "85 %" whatever the policy's threshold was."""


class RewriteKind(StrEnum):
    """A kind that is stored by its value; the text that older logs hold for it is read as the kind."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        current = _OLD_TEXTS.get(value) if isinstance(value, str) else None
        return next((kind for kind in cls if kind.value == current), None)


class HandoverTrigger(RewriteKind):
    """What started a handover: the policy's threshold, the user, a request that did not fit.

    CONTINUED: the session began with it; it is of another session.
    """

    THRESHOLD = "threshold"
    MANUAL = "manual"
    OVERFLOW = "overflow"
    CONTINUED = "continued"


class PlacementReason(RewriteKind):
    """Why prepared observations were put in place when they were.

    IMMEDIATE: the policy has them wait for nothing. THRESHOLD: the context had filled to the policy's share.
    COLD: the provider's cache had expired. REWRITE: another rewrite was made anyway.
    """

    IMMEDIATE = "immediate"
    THRESHOLD = "threshold"
    COLD = "cold"
    REWRITE = "rewrite"
    OVERFLOW = "overflow"
    MANUAL = "manual"


class SweepReason(RewriteKind):
    """Why a sweep was made: enough was ready, or the provider's cache cold, or with another rewrite.

    REFUSED: the model's server refused the images.
    """

    BATCH = "batch"
    COLD = "cold"
    FOLD = "fold"
    OBSERVATIONS = "observations"
    HANDOVER = "handover"
    OVERFLOW = "overflow"
    MANUAL = "manual"
    REFUSED = "refused"


class SummaryProblem(RewriteKind):
    """Why a model's summary was not put in place: too short for what it read, or about none of it."""

    SHORT = "short"
    UNSPECIFIC = "unspecific"


ATTACHED_SWEEP_REASONS = frozenset({SweepReason.HANDOVER, SweepReason.FOLD, SweepReason.OBSERVATIONS})
"""Reasons of sweeps that hold and fall with the rewrite recorded before them."""
