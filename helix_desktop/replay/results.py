"""The figures of one replayed recording."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from helix_desktop.replay.coverage import Coverage
from helix_desktop.replay.ports import Counts
from helix_desktop.replay.reachability import Reachability
from helix_desktop.replay.request_totals import SentTotals
from helix_desktop.replay.simulated_recalls import Recalls

HEAVY_SHARE = 0.85
"""A recording is heavy when its largest request, unmanaged, takes more than this share of the window."""


class Timing(msgspec.Struct, frozen=True):
    """Processor time in milliseconds: median, 95th percentile (by nearest rank) and mean."""

    p50_ms: float
    p95_ms: float
    mean_ms: float

    @classmethod
    def from_seconds(cls, seconds: Sequence[float]) -> Timing:
        """Return the timing of measured times in seconds; zeros for none."""
        ordered = sorted(seconds) or [0.0]
        p50, p95 = (ordered[math.ceil(share * len(ordered)) - 1] * 1e3 for share in (0.5, 0.95))
        return cls(p50, p95, sum(ordered) / len(ordered) * 1e3)


class InvalidRequests(msgspec.Struct, frozen=True):
    """Counts of invalid model calls, and the first reasons.

    The request breaks the engine's rules, or the independent grammar; or the engine could not make one.
    """

    by_rules: int = 0
    by_grammar: int = 0
    not_made: int = 0
    reasons: tuple[str, ...] = ()


class RecordingResult(msgspec.Struct, frozen=True):
    """The figures of one recording. Shares are of what the unmanaged session sent."""

    file: str
    source: str
    window: int
    managed: SentTotals
    unmanaged: SentTotals
    counts: Counts
    summaries: int
    summary_tokens: int
    faults: InvalidRequests
    reach: Reachability
    least_reachable: float
    reach_checks: int
    recalls: Recalls
    coverage: Coverage
    request_cpu: Timing
    feed_cpu: Timing

    @property
    def is_heavy(self) -> bool:
        """Return True if the unmanaged recording nearly fills the window."""
        return self.unmanaged.peak_window > HEAVY_SHARE * self.window


class MeasuredRecording(msgspec.Struct, frozen=True):
    """A recording's figures, and the single processor times in seconds, which sums over recordings need."""

    result: RecordingResult
    request_s: tuple[float, ...]
    feed_s: tuple[float, ...]
