"""How many summaries and extracts needed a fallback: other calls than one of their model, or none at all."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    ObservationsMade,
)
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Context")

MAX_RATE = 0.05  # fallbacks above this share of what is counted are worth doing something about


class FallbackRate(msgspec.Struct, frozen=True):
    """Summaries, cuts and extracts, those with a fallback, and why the newest needed one.

    Summaries are handovers, checkpoints and observations.
    A cut leaves older messages out because no summary of them came; an extract that failed is a preview.
    """

    summaries: int = 0
    fallbacks: int = 0
    newest_reason: str = ""
    newest_at_ms: int = 0
    newest_is_extract: bool = False

    def __add__(self, other: FallbackRate) -> FallbackRate:
        """Return both together."""
        newest = max(self, other, key=lambda rate: rate.newest_at_ms)
        return FallbackRate(
            self.summaries + other.summaries,
            self.fallbacks + other.fallbacks,
            newest.newest_reason,
            newest.newest_at_ms,
            newest.newest_is_extract,
        )

    @property
    def share(self) -> float:
        """Return the fallbacks as a share of all that is counted; 0 of nothing."""
        return self.fallbacks / self.summaries if self.summaries else 0.0

    @property
    def is_high(self) -> bool:
        """Return True if something is to be done about it."""
        return self.share > MAX_RATE


NO_SUMMARIES = FallbackRate()


def fallback_rate(log: Iterable[RecordedEvent]) -> FallbackRate:
    """Return the fallbacks of one session; what it began with was counted in the session that it is of."""
    total = NO_SUMMARIES
    for recorded in log:
        match recorded.event:
            case HandoverMade(origin=origin, calls=0) if origin:
                pass  # counted where it was written
            case (
                HandoverMade(revises=seq)
                | HandoverDiscarded(prepared=HandoverPrepared(HandoverMade(revises=seq)))
            ) if seq:
                pass  # no summary: the user changed one
            case HandoverMade(calls=0, checkpoint=seq, fallback="") if seq:
                pass  # counted as the checkpoint that is put in place
            case HandoverDiscarded(prepared=HandoverPrepared(HandoverMade(fallback=reason))):
                total += _counted(recorded, reason)
            case HandoverMade(fallback=reason) | ObservationsMade(fallback=reason):
                total += _counted(recorded, reason)
            case FoldMade(how="truncate"):
                total += _counted(recorded, _text("Older messages were left out to make room."))
            case ToolAnswered(asked=asked, form=form, intake_note=note) if asked:
                failed = "" if form == "compact" else _text("The model didn't write an extract.")
                total += _counted(recorded, note or failed, is_extract=True)
            case FormChosen(form="compact", intake_note=note):
                total += _counted(recorded, note, is_extract=True)
    return total


def _counted(recorded: RecordedEvent, reason: str = "", is_extract: bool = False) -> FallbackRate:
    return FallbackRate(1, 1, reason, recorded.at, is_extract) if reason else FallbackRate(1)
