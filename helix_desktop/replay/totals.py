"""Sum up the figures of many recordings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import TypeVar

import msgspec

from helix_desktop.replay.identifier_coverage import IdentifierCoverage
from helix_desktop.replay.lookups import Lookups, median_tokens
from helix_desktop.replay.ports import MechanismCounts
from helix_desktop.replay.request_totals import SUMMARIZED, SentTotals
from helix_desktop.replay.results import (
    MeasuredRecording,
    RecallDistance,
    RecordingResult,
    Timing,
    percentile,
)
from helix_desktop.replay.simulated_recalls import Recalls

CountsT = TypeVar("CountsT", MechanismCounts, Recalls, IdentifierCoverage, Lookups, SentTotals)


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
    managed = _sum_structs(SentTotals, [result.managed for result in files])
    unmanaged = _sum_structs(SentTotals, [result.unmanaged for result in files])
    output_bytes = sum(result.reach.output_bytes for result in files)
    lookups = _sum_structs(Lookups, [result.lookups for result in files])
    coverage = _sum_structs(IdentifierCoverage, [result.coverage for result in files])
    checkpoint_tokens = [tokens for result in files for tokens in result.checkpoint_tokens]
    return Totals(
        files=len(files),
        requests=managed.requests,
        input_tokens=managed.input_tokens,
        unmanaged_input_tokens=unmanaged.input_tokens,
        billed=managed.billed,
        unmanaged_billed=unmanaged.billed,
        input_of_sums=_share(managed.input_tokens, unmanaged.input_tokens),
        input_of_files=fmean(
            _share(result.managed.input_tokens, result.unmanaged.input_tokens) for result in files
        ),
        billed_of_sums=_share(managed.billed, unmanaged.billed),
        billed_of_files=fmean(_share(result.managed.billed, result.unmanaged.billed) for result in files),
        billed_by_message_of_sums=_share(managed.billed_by_message, unmanaged.billed_by_message),
        billed_5_minutes_of_sums=_share(managed.billed_5_minutes, unmanaged.billed_5_minutes),
        billed_uncached_of_sums=_share(managed.billed_uncached, unmanaged.billed_uncached),
        tool_saved=1 - _share(managed.tool_tokens, unmanaged.tool_tokens),
        reachable=_share(sum(result.reach.reachable_bytes for result in files), output_bytes),
        least_reachable=min(result.least_reachable for result in files),
        in_window=_share(sum(result.reach.window_bytes for result in files), output_bytes),
        arguments_reachable=_share(
            sum(result.reach.reachable_argument_bytes for result in files),
            sum(result.reach.argument_bytes for result in files),
        ),
        heavy=_heavy_totals([result for result in files if result.is_heavy]),
        counts=_sum_structs(MechanismCounts, [result.counts for result in files]),
        summaries=sum(result.summaries for result in files),
        summary_tokens=sum(result.summary_tokens for result in files),
        checkpoint_input=percentile(checkpoint_tokens, 0.5) if checkpoint_tokens else 0,
        checkpoint_bill=SUMMARIZED * sum(checkpoint_tokens) / max(1.0, unmanaged.billed),
        recalls=_sum_structs(Recalls, [result.recalls for result in files]),
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
        lossy=fmean(result.counts.lossy for result in files),
        longest_stretch=max(result.longest_stretch for result in files),
    )


def _share(part: float, total: float) -> float:
    """Return the share of a total; 1 if the total is 0."""
    return part / total if total else 1.0


def _sum_structs(struct_type: type[CountsT], structs: Iterable[CountsT]) -> CountsT:
    """Add structs of numbers field by field."""
    rows = map(msgspec.structs.astuple, structs)
    return struct_type(*(sum(column) for column in zip(*rows, strict=True)))
