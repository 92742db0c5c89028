"""Drafts of handovers: written or changed, not recorded, for the user to edit, accept or discard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.handover import HandoverPart
from helix_desktop.context.summaries.summary_coverage import CoveredFacts
from helix_desktop.domain.events.summary import HandoverMade, Section
from helix_desktop.domain.translatable_text import OptionalText


class HandoverDraft(msgspec.Struct, frozen=True):
    """A handover up to `cut`, not recorded; `text` is its six sections as Markdown, to be edited.

    `event` is the event it would become. `doubt` says why it may say too little: only the user can accept it.
    `sweep_savings` are the tokens, by our count, that `after` is smaller for what is cached along with it.
    """

    cut: CutPoint
    text: str
    event: HandoverMade
    doubt: OptionalText = ""
    sweep_savings: int = 0

    @property
    def sections(self) -> tuple[Section, ...]:
        """The six sections."""
        return self.event.sections

    @property
    def ledger(self) -> str:
        """The artifact ledger, which is not edited."""
        return self.event.ledger

    @property
    def before(self) -> int:
        """Tokens of the window now."""
        return self.event.before

    @property
    def after(self) -> int:
        """Tokens of the window with this handover."""
        return self.event.after

    @property
    def model(self) -> str:
        """The model that wrote it."""
        return self.event.model

    @property
    def fallback(self) -> str:
        """How and why the summary deviates from one call of the first model; empty if it does not."""
        return self.event.fallback


@dataclass(frozen=True, slots=True)
class RestoredDraft:
    """A saved draft to go on with, with the `text` as the user changed it; its cost is recorded."""

    draft: HandoverDraft
    text: str
    is_whole: bool


class CountedPart(NamedTuple):
    """A part of the message that a handover is sent as, and its tokens by our count."""

    part: HandoverPart
    tokens: int


@dataclass(frozen=True, slots=True)
class RevisionDraft:
    """A recorded handover that the user edits: what it says now and said at first.

    Its sentences may cite `valid_seqs`; `facts` are those of the messages that it covers.
    """

    seq: int
    handover: HandoverMade
    original: HandoverMade
    valid_seqs: frozenset[int]
    facts: CoveredFacts
