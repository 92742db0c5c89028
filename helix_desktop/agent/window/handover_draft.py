"""A draft of a handover: written, not recorded; for a person to look at, to edit, to take or to drop."""

from __future__ import annotations

import msgspec

from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.domain.events.summary import HandoverMade, Section


class HandoverDraft(msgspec.Struct, frozen=True):
    """What a handover up to `cut` would be; `text` is its six sections as Markdown, to be edited.

    `made` is the event it would become.
    """

    cut: CutPoint
    text: str
    event: HandoverMade

    @property
    def sections(self) -> tuple[Section, ...]:
        """The six sections."""
        return self.event.sections

    @property
    def ledger(self) -> str:
        """The artifact ledger, which is added as it is."""
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
        """Who wrote it."""
        return self.event.model

    @property
    def fallback(self) -> str:
        """What had to be done other than ask the first model once, and why; empty when nothing."""
        return self.event.fallback
