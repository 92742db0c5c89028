"""The figures of many recordings together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import TypeVar

import msgspec

from helix_desktop.replay.ports import Counts
from helix_desktop.replay.recall_model import Recalls
from helix_desktop.replay.results import MeasuredRecording, RecordingResult, Timing

CountsT = TypeVar("CountsT", Counts, Recalls)


class HeavyTotals(msgspec.Struct, frozen=True):
    """The recordings that press on the window, each counting as much as any other.

    `mean_window...` is the mean of the recordings' mean requests, `median_peak...` the median of their
    largest, as shares of the same figure of the unmanaged session or of the window. `summaries` and `lossy`
    are per recording: summarising calls, and shorter texts put in the place of longer ones.
    """

    files: int
    mean_window_of_unmanaged: float
    mean_window_of_window: float
    median_peak_of_unmanaged: float
    median_peak_of_window: float
    summaries: float
    lossy: float


class Totals(msgspec.Struct, frozen=True):
    """Sums and shares of some recordings; 0.25 is a quarter.

    A `..._of_sums` divides what all managed sessions took by what all unmanaged ones did, so that long
    recordings weigh more; a `..._of_files` is the mean of the recordings' own shares. `tool_saved`,
    `reachable`, `in_window` and `arguments_reachable` are of sums.
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
    tool_saved: float
    reachable: float
    least_reachable: float
    in_window: float
    arguments_reachable: float
    heavy: HeavyTotals | None
    counts: Counts
    summaries: int
    summary_tokens: int
    recalls: Recalls
    rewrites: int
    over_window: int
    invalid_by_rules: int
    invalid_by_grammar: int
    not_made: int
    request_cpu: Timing
    feed_cpu: Timing


def group_by_source(measured: Iterable[MeasuredRecording]) -> dict[str, list[MeasuredRecording]]:
    """Recordings by the name of their folder, in order of first sight."""
    found: dict[str, list[MeasuredRecording]] = {}
    for one in measured:
        found.setdefault(one.result.source, []).append(one)
    return found


def totals_of(measured: Sequence[MeasuredRecording]) -> Totals:
    """The figures of some recordings together. Raises ValueError for none."""
    files = [one.result for one in measured]
    if not files:
        raise ValueError("there is nothing to add up")
    managed_input, unmanaged_input = _sum_pairs(
        files, lambda one: (one.managed.input_tokens, one.unmanaged.input_tokens)
    )
    billed, unmanaged_billed = _sum_pairs(files, lambda one: (one.managed.billed, one.unmanaged.billed))
    by_message, unmanaged_by_message = _sum_pairs(
        files, lambda one: (one.managed.billed_by_message, one.unmanaged.billed_by_message)
    )
    tool, unmanaged_tool = _sum_pairs(files, lambda one: (one.managed.tool_tokens, one.unmanaged.tool_tokens))
    output_bytes = sum(one.reach.output_bytes for one in files)
    return Totals(
        files=len(files),
        requests=sum(one.managed.requests for one in files),
        input_tokens=int(managed_input),
        unmanaged_input_tokens=int(unmanaged_input),
        billed=billed,
        unmanaged_billed=unmanaged_billed,
        input_of_sums=_share(managed_input, unmanaged_input),
        input_of_files=fmean(_share(one.managed.input_tokens, one.unmanaged.input_tokens) for one in files),
        billed_of_sums=_share(billed, unmanaged_billed),
        billed_of_files=fmean(_share(one.managed.billed, one.unmanaged.billed) for one in files),
        billed_by_message_of_sums=_share(by_message, unmanaged_by_message),
        tool_saved=1 - _share(tool, unmanaged_tool),
        reachable=_share(sum(one.reach.reachable_bytes for one in files), output_bytes),
        least_reachable=min(one.least_reachable for one in files),
        in_window=_share(sum(one.reach.window_bytes for one in files), output_bytes),
        arguments_reachable=_share(
            sum(one.reach.reachable_argument_bytes for one in files),
            sum(one.reach.argument_bytes for one in files),
        ),
        heavy=_heavy_totals([one for one in files if one.is_heavy]),
        counts=_sum_structs(Counts, [one.counts for one in files]),
        summaries=sum(one.summaries for one in files),
        summary_tokens=sum(one.summary_tokens for one in files),
        recalls=_sum_structs(Recalls, [one.recalls for one in files]),
        rewrites=sum(one.managed.rewrites for one in files),
        over_window=sum(one.managed.over_window for one in files),
        invalid_by_rules=sum(one.faults.by_rules for one in files),
        invalid_by_grammar=sum(one.faults.by_grammar for one in files),
        not_made=sum(one.faults.not_made for one in files),
        request_cpu=Timing.from_seconds([time for one in measured for time in one.request_s]),
        feed_cpu=Timing.from_seconds([time for one in measured for time in one.feed_s]),
    )


def _heavy_totals(files: Sequence[RecordingResult]) -> HeavyTotals | None:
    if not files:
        return None
    return HeavyTotals(
        files=len(files),
        mean_window_of_unmanaged=fmean(one.managed.mean_window / one.unmanaged.mean_window for one in files),
        mean_window_of_window=fmean(one.managed.mean_window / one.window for one in files),
        median_peak_of_unmanaged=median(one.managed.peak_window / one.unmanaged.peak_window for one in files),
        median_peak_of_window=median(one.managed.peak_window / one.window for one in files),
        summaries=fmean(one.summaries for one in files),
        lossy=fmean(one.counts.lossy for one in files),
    )


def _sum_pairs(
    files: Iterable[RecordingResult], pair: Callable[[RecordingResult], tuple[float, float]]
) -> tuple[float, float]:
    pairs = [pair(one) for one in files]
    return sum(managed for managed, _ in pairs), sum(unmanaged for _, unmanaged in pairs)


def _share(part: float, total: float) -> float:
    """A share of what there is; all of nothing is there."""
    return part / total if total else 1.0


def _sum_structs(struct_type: type[CountsT], structs: Iterable[CountsT]) -> CountsT:
    """Structs of numbers, added field by field."""
    rows = map(msgspec.structs.astuple, structs)
    return struct_type(*(sum(column) for column in zip(*rows, strict=True)))
