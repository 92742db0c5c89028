"""How many summaries and extracts needed a fallback: several calls, another model, or none."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FormChosen
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade

MAX_RATE = 0.05  # fallbacks above this share of the summaries are worth doing something about


class FallbackRate(msgspec.Struct, frozen=True):
    """Handovers, observations and extracts, those of them with a fallback, and why the newest needed one."""

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
        """Return the fallbacks as a share of the summaries; 0 without any."""
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
            case HandoverMade(revises=seq) if seq:
                pass  # no summary: the user changed one
            case HandoverMade(fallback=reason) | ObservationsMade(fallback=reason):
                newest = FallbackRate(1, 1, reason, recorded.at) if reason else FallbackRate(1)
                total += newest
            case ToolAnswered(asked=asked, intake_note=reason) if asked:
                total += FallbackRate(1, 1, reason, recorded.at, True) if reason else FallbackRate(1)
            case FormChosen(form="compact", intake_note=reason):
                total += FallbackRate(1, 1, reason, recorded.at, True) if reason else FallbackRate(1)
    return total
