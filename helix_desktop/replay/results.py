"""The figures of one replayed recording."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from helix_desktop.replay.identifier_coverage import Absence, IdentifierCoverage
from helix_desktop.replay.lookups import Lookups
from helix_desktop.replay.ports import MechanismCounts
from helix_desktop.replay.reachability import Reachability
from helix_desktop.replay.request_totals import SentTotals
from helix_desktop.replay.simulated_recalls import Recalls

Number = TypeVar("Number", int, float)

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
        times = seconds or [0.0]
        return cls(percentile(times, 0.5) * 1e3, percentile(times, 0.95) * 1e3, sum(times) / len(times) * 1e3)


class RecallDistance(msgspec.Struct, frozen=True):
    """How far back what was used outside the window was: medians and 90th percentiles, see `Absence`."""

    age_p50: int
    age_p90: int
    absence_p50: int
    absence_p90: int

    @classmethod
    def from_absences(cls, absences: Sequence[Absence]) -> RecallDistance:
        """Return the distances; zeros for none."""
        ages, times = zip(*absences or [Absence(0, 0)], strict=True)
        return cls(*(percentile(values, share) for values in (ages, times) for share in (0.5, 0.9)))


def percentile(values: Sequence[Number], share: float) -> Number:
    """Return a percentile by nearest rank: 0.9 is the 90th. Raises IndexError for no values."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


class InvalidRequests(msgspec.Struct, frozen=True):
    """Counts of invalid model calls, and the first reasons.

    The request breaks the engine's rules, or the independent grammar; or the engine could not make one.
    """

    by_rules: int = 0
    by_grammar: int = 0
    not_made: int = 0
    reasons: tuple[str, ...] = ()


class RecordingResult(msgspec.Struct, frozen=True):
    """The figures of one recording. Shares are of what the unmanaged session sent.

    `checkpoint_tokens` are the input of each call for a checkpoint, which is no summary and not billed;
    `longest_stretch` is the most history, in tokens, without a handover or checkpoint.
    `is_rule_in_window`: a rule in the middle of a long first message is in the last request; null: not tried.
    `request_cpu` is of what the app does between the last output and a model call: the window projected and
    validated, and rewrites that are due only then; not of sending it. `feed_cpu` is of what it does with each
    message that arrives, and at the end of a turn. That includes the rewrites due when an answer comes:
    made while its tools run, their tokens counted, and recorded (in a store in memory).
    """

    file: str
    source: str
    window: int
    managed: SentTotals
    unmanaged: SentTotals
    counts: MechanismCounts
    summaries: int
    summary_tokens: int
    checkpoint_tokens: tuple[int, ...]
    longest_stretch: int
    faults: InvalidRequests
    reach: Reachability
    least_reachable: float
    reach_checks: int
    recalls: Recalls
    coverage: IdentifierCoverage
    lookups: Lookups
    is_rule_in_window: bool | None
    request_cpu: Timing
    feed_cpu: Timing

    @property
    def is_heavy(self) -> bool:
        """Return True if the unmanaged recording nearly fills the window."""
        return self.unmanaged.peak_window > HEAVY_SHARE * self.window


class MeasuredRecording(msgspec.Struct, frozen=True):
    """A recording's figures, and the single values that figures of several recordings are made of.

    Processor times in seconds, absences, and the tokens of each lookup that found what it was for.
    """

    result: RecordingResult
    request_s: tuple[float, ...]
    feed_s: tuple[float, ...]
    absences: tuple[Absence, ...] = ()
    lookup_tokens: tuple[int, ...] = ()
