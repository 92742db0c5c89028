"""The handover as it would be now: made without a model from the whole history, and never stored."""

from __future__ import annotations

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.handover_fallback import extractive_handover
from helix_desktop.domain.events.summary import Section


class PresentHandover(msgspec.Struct, frozen=True):
    """The handover of all `messages` up to event `upto`: six sections and ledger."""

    upto: int
    messages: int
    sections: tuple[Section, ...]
    ledger: str


def present_handover(transcript: Transcript, ledger_tokens: int) -> PresentHandover:
    """Return the handover of the whole history as it would be now, without a model."""
    items = transcript.items[:]
    handover = transcript.handover
    sections = extractive_handover(items, handover[1] if handover else None)
    ledger = build_ledger(items).text(ledger_tokens)
    return PresentHandover(items[-1].seq if items else 0, len(items), sections, ledger)
