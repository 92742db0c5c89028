"""The figures of one replayed recording, and the sums of many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple, TypeVar

import msgspec

from helix_desktop.domain.messages import Message
from helix_desktop.replay.measure import Reachability, share_of, sum_structs
from helix_desktop.replay.next_call_identifiers import (
    IdentifierCoverage,
    IdentifierCoverageCounter,
    IdentifierUse,
)
from helix_desktop.replay.replayer import MechanismCounts
from tests.benchmarks.replay.recalls import Lookups, Recalls, median_tokens
from tests.benchmarks.replay.request_bills import BilledTotals

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
        times = seconds or [0.0]
        return cls(percentile(times, 0.5) * 1e3, percentile(times, 0.95) * 1e3, sum(times) / len(times) * 1e3)


class Absence(NamedTuple):
    """How far back what a call used, and its request did not have, was: in model calls.

    `age` since the identifier last occurred in the recording, `absence` since the last request that had the
    text, of that occurrence, unchanged; equal if none ever had it.
    """

    age: int
    absence: int


class AbsenceCounter(IdentifierCoverageCounter):
    """Counts coverage, and how far back what was absent was."""

    def __init__(self) -> None:
        super().__init__()
        self._last_calls: dict[str, int] = {}  # the newest model call whose request had a text, by the text
        self.absences: list[Absence] = []

    def add(
        self, call: int, uses: Sequence[IdentifierUse], request: Sequence[Message]
    ) -> list[IdentifierUse]:
        absent = super().add(call, uses, request)
        self._last_calls.update(dict.fromkeys(self.texts_of(request), call))
        for use in absent:
            last_call = self._last_calls.get(use.source, call - use.age)
            self.absences.append(Absence(use.age, call - last_call))
        return absent


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


def lossy(counts: MechanismCounts) -> int:
    """Return how often a shorter text replaced a longer one."""
    return counts.handovers + counts.observations + counts.reflections


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
    managed: BilledTotals
    unmanaged: BilledTotals
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


class HeavyTotals(msgspec.Struct, frozen=True):
    """The totals of recordings that nearly fill the window, each with the same weight.

    `mean_window...` is the mean of the recordings' mean requests, `median_peak...` the median of their
    largest, as shares of the same figure of the unmanaged session or of the window. `summaries` and `lossy`
    are per recording: summarizing calls, and replacements of texts by shorter ones. `longest_stretch` is the
    most history of any, in tokens, without a handover or checkpoint.
    """

    files: int
    mean_window_of_unmanaged: float
    mean_window_of_window: float
    median_peak_of_unmanaged: float
    median_peak_of_window: float
    summaries: float
    lossy: float
    longest_stretch: int


class Totals(msgspec.Struct, frozen=True):
    """Sums and shares of some recordings; 0.25 is a quarter.

    A `..._of_sums` divides what all managed sessions used by what all unmanaged ones did, so that long
    recordings weigh more; a `..._of_files` is the mean of the recordings' own shares. `tool_saved`,
    `reachable`, `in_window`, `arguments_reachable` and `coverage_share` (see `IdentifierCoverage`) are of
    sums. `checkpoint_input` is the median input of a call for a checkpoint, in tokens, `checkpoint_bill`
    that of all of them as a share of the unmanaged bill, and no part of `billed`.
    """

    files: int
    requests: int
    input_tokens: int
    unmanaged_input_tokens: int
    billed: float
    unmanaged_billed: float
    input_of_sums: float
    input_of_files: float
    billed_of_sums: float
    billed_of_files: float
    billed_by_message_of_sums: float
    billed_5_minutes_of_sums: float
    billed_uncached_of_sums: float
    tool_saved: float
    reachable: float
    least_reachable: float
    in_window: float
    arguments_reachable: float
    heavy: HeavyTotals | None
    counts: MechanismCounts
    summaries: int
    summary_tokens: int
    checkpoint_input: int
    checkpoint_bill: float
    recalls: Recalls
    coverage: IdentifierCoverage
    coverage_share: float
    coverage_share_old: float
    coverage_share_very_old: float
    recall_distance: RecallDistance
    lookups: Lookups
    lookup_share: float
    lookup_tokens: float
    long_messages: int
    rules_in_window: int
    rewrites: int
    over_window: int
    invalid_by_rules: int
    invalid_by_grammar: int
    not_made: int
    request_cpu: Timing
    feed_cpu: Timing


def group_by_source(measured: Iterable[MeasuredRecording]) -> dict[str, list[MeasuredRecording]]:
    """Group recordings by the name of their folder, in order of first appearance."""
    recordings_by_source: dict[str, list[MeasuredRecording]] = {}
    for recording in measured:
        recordings_by_source.setdefault(recording.result.source, []).append(recording)
    return recordings_by_source


def totals_of(measured: Sequence[MeasuredRecording]) -> Totals:
    """Return the totals of some recordings. Raises ValueError for none."""
    files = [recording.result for recording in measured]
    if not files:
        raise ValueError("there is nothing to add up")
    managed = sum_structs(BilledTotals, [result.managed for result in files])
    unmanaged = sum_structs(BilledTotals, [result.unmanaged for result in files])
    output_bytes = sum(result.reach.output_bytes for result in files)
    lookups = sum_structs(Lookups, [result.lookups for result in files])
    coverage = sum_structs(IdentifierCoverage, [result.coverage for result in files])
    checkpoint_tokens = [tokens for result in files for tokens in result.checkpoint_tokens]
    return Totals(
        files=len(files),
        requests=managed.requests,
        input_tokens=managed.input_tokens,
        unmanaged_input_tokens=unmanaged.input_tokens,
        billed=managed.billed,
        unmanaged_billed=unmanaged.billed,
        input_of_sums=share_of(managed.input_tokens, unmanaged.input_tokens),
        input_of_files=fmean(
            share_of(result.managed.input_tokens, result.unmanaged.input_tokens) for result in files
        ),
        billed_of_sums=share_of(managed.billed, unmanaged.billed),
        billed_of_files=fmean(share_of(result.managed.billed, result.unmanaged.billed) for result in files),
        billed_by_message_of_sums=share_of(managed.billed_by_message, unmanaged.billed_by_message),
        billed_5_minutes_of_sums=share_of(managed.billed_5_minutes, unmanaged.billed_5_minutes),
        billed_uncached_of_sums=share_of(managed.billed_uncached, unmanaged.billed_uncached),
        tool_saved=1 - share_of(managed.tool_tokens, unmanaged.tool_tokens),
        reachable=share_of(sum(result.reach.reachable_bytes for result in files), output_bytes),
        least_reachable=min(result.least_reachable for result in files),
        in_window=share_of(sum(result.reach.window_bytes for result in files), output_bytes),
        arguments_reachable=share_of(
            sum(result.reach.reachable_argument_bytes for result in files),
            sum(result.reach.argument_bytes for result in files),
        ),
        heavy=_heavy_totals([result for result in files if result.is_heavy]),
        counts=sum_structs(MechanismCounts, [result.counts for result in files]),
        summaries=sum(result.summaries for result in files),
        summary_tokens=sum(result.summary_tokens for result in files),
        checkpoint_input=percentile(checkpoint_tokens, 0.5) if checkpoint_tokens else 0,
        checkpoint_bill=sum(checkpoint_tokens) / max(1.0, unmanaged.billed),
        recalls=sum_structs(Recalls, [result.recalls for result in files]),
        coverage=coverage,
        coverage_share=coverage.share,
        coverage_share_old=coverage.share_old,
        coverage_share_very_old=coverage.share_very_old,
        recall_distance=RecallDistance.from_absences(
            [absence for recording in measured for absence in recording.absences]
        ),
        lookups=lookups,
        lookup_share=lookups.share,
        lookup_tokens=median_tokens([tokens for recording in measured for tokens in recording.lookup_tokens]),
        long_messages=sum(result.is_rule_in_window is not None for result in files),
        rules_in_window=sum(bool(result.is_rule_in_window) for result in files),
        rewrites=managed.rewrites,
        over_window=managed.over_window,
        invalid_by_rules=sum(result.faults.by_rules for result in files),
        invalid_by_grammar=sum(result.faults.by_grammar for result in files),
        not_made=sum(result.faults.not_made for result in files),
        request_cpu=Timing.from_seconds([time for recording in measured for time in recording.request_s]),
        feed_cpu=Timing.from_seconds([time for recording in measured for time in recording.feed_s]),
    )


def _heavy_totals(files: Sequence[RecordingResult]) -> HeavyTotals | None:
    if not files:
        return None
    return HeavyTotals(
        files=len(files),
        mean_window_of_unmanaged=fmean(
            result.managed.mean_window / result.unmanaged.mean_window for result in files
        ),
        mean_window_of_window=fmean(result.managed.mean_window / result.window for result in files),
        median_peak_of_unmanaged=median(
            result.managed.peak_window / result.unmanaged.peak_window for result in files
        ),
        median_peak_of_window=median(result.managed.peak_window / result.window for result in files),
        summaries=fmean(result.summaries for result in files),
        lossy=fmean(lossy(result.counts) for result in files),
        longest_stretch=max(result.longest_stretch for result in files),
    )
