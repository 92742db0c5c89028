"""The events that rewrite a window, and why: sweeps, folds, forms, exclusions, pins, undo and redo."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from helix_desktop.domain.events.session import EventBase


class HandoverTrigger(StrEnum):
    """What started a handover: the policy's threshold, the user, a request that did not fit.

    CONTINUED: the session began with it; it is of another session.
    """

    THRESHOLD = "threshold"
    MANUAL = "manual"
    OVERFLOW = "overflow"
    CONTINUED = "continued"

    @property
    def policy_field(self) -> str:
        """The field of the policy that says when; empty if something else does."""
        match self:
            case HandoverTrigger.THRESHOLD:
                return "handover_at"
            case HandoverTrigger.MANUAL | HandoverTrigger.OVERFLOW | HandoverTrigger.CONTINUED:
                return ""

    @property
    def is_by_policy(self) -> bool:
        """True if the policy says when; such a handover can wait, and is tried again after a failure."""
        return bool(self.policy_field)


class PlacementReason(StrEnum):
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


class SweepReason(StrEnum):
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


class SummaryProblem(StrEnum):
    """Why a model's summary was not put in place: too short for what it read, or about none of it."""

    SHORT = "short"
    UNSPECIFIC = "unspecific"


ATTACHED_SWEEP_REASONS = frozenset({SweepReason.HANDOVER, SweepReason.FOLD, SweepReason.OBSERVATIONS})
"""Reasons of sweeps that hold and fall with the rewrite recorded before them."""


FoldKind = Literal["fold", "condense", "truncate"]
Form = Literal["full", "preview", "compact"]


class SweepMade(EventBase, frozen=True, tag="sweep-made"):
    """Old content became markers.

    `swept` holds the seqs of ToolAnswered events (outputs), AssistantSpoke events (arguments) and UserSpoke
    events (images). `anchors` is a line with identifiers that left the window; it stands below the marker of
    the output `carrier`. `averted_handover_at` is the share of the context window at which a handover was due
    before and no more after; 0: none was.
    """

    swept: tuple[int, ...] = msgspec.field(name="masked")
    saved: int
    reason: SweepReason
    anchors: str = ""
    anchor_tokens: int = 0
    carrier: int = 0
    averted_handover_at: float = 0.0


class FoldMade(EventBase, frozen=True, tag="fold-made"):
    """Older steps became one note: every event after `after` up to and including `upto`.

    `index` is the digest of the index entry that names all it covers; `tokens` counts the note, `saved` what
    it saved. "condense" replaces notes by a shorter one, "truncate" leaves only the index. The text of a note
    ends with a line of the identifiers that left the window. `averted_handover_at` is as of a sweep.
    `fallback` says why no model wrote a summary of what "truncate" leaves out; empty: none was asked to.
    """

    after: int
    upto: int
    text: str
    tokens: int
    index: str
    index_entries: int
    steps: int
    saved: int
    how: FoldKind = "fold"
    averted_handover_at: float = 0.0
    fallback: str = ""


class FormChosen(EventBase, frozen=True, tag="form-chosen"):
    """The user chose another shown form for the output recorded as `target`.

    In full, and without `text`, also for another message of which something was cached.
    For a compact one `asked` are their instructions, and `intake_tokens` (`intake_cached` of them cached)
    went in and out of `intake_model` in `intake_ms`, for `intake_cost` US dollars, some of it by our
    count if `intake_estimated`, without the tokens `intake_unpriced`; `intake_note` says why it was
    not done the default way.
    """

    target: int
    form: Form
    text: str
    tokens: int
    asked: str = ""
    intake_tokens: int = 0
    intake_cached: int = 0
    intake_ms: int = 0
    intake_model: str = ""
    intake_note: str = ""
    intake_cost: float = 0.0
    intake_estimated: bool = False
    intake_unpriced: int | None = None


class Pinned(EventBase, frozen=True, tag="pinned"):
    """The user pinned the output recorded as `target`: it stays in the window in full, on every path."""

    target: int


class Unpinned(EventBase, frozen=True, tag="unpinned"):
    target: int


class Excluded(EventBase, frozen=True, tag="excluded"):
    """Something is left out of the requests that follow: `text` stands in its place.

    The user did that, or `by_filter`: it is an output that the content filter of the provider refused.
    `targets` are the events of a message, of added instructions, or of all that one summary block holds;
    with a `part`, that text of the opening recorded as the target, counted from 1. `digest` names what stood
    there; `tokens` counts what stands there now.
    """

    targets: tuple[int, ...]
    text: str
    tokens: int
    digest: str
    saved: int = 0
    part: int = 0
    by_filter: bool = False


class Undone(EventBase, frozen=True, tag="undone"):
    """A rewrite is no longer active: sweep, fold, handover, placed observations, form, exclusion.

    `refused`: the user did not undo it, the provider refused the request that it was to make fit.
    """

    target: int
    refused: bool = False


class Redone(EventBase, frozen=True, tag="redone"):
    target: int
