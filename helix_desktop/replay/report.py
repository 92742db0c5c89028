"""Format the figures: a document for programs and a table for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from helix_desktop.replay.results import MeasuredRecording, RecordingResult
from helix_desktop.replay.totals import HeavyTotals, Totals, group_by_source, totals_of

Cell = Callable[[Totals], str]


def to_document(measured: Sequence[MeasuredRecording]) -> dict[str, Any]:
    """Return all figures as plain objects: per recording, per source, and in total."""
    return {
        "files": [_recording_document(recording) for recording in measured],
        "sources": {
            name: msgspec.to_builtins(totals_of(recordings))
            for name, recordings in group_by_source(measured).items()
        },
        "total": msgspec.to_builtins(totals_of(measured)),
    }


def _recording_document(measured: MeasuredRecording) -> dict[str, Any]:
    own = totals_of([measured])
    shares = {
        "heavy": measured.result.is_heavy,
        "input_of_unmanaged": own.input_of_sums,
        "billed_of_unmanaged": own.billed_of_sums,
        "tool_saved": own.tool_saved,
        "reachable": own.reachable,
        "in_window": own.in_window,
    }
    return {**msgspec.to_builtins(measured.result), **shares}


def _format_percent(share: float) -> str:
    return f"{share * 100:.1f}"


def _format_percent_floor(share: float) -> str:
    """Format a share as percent, rounded down: 100.0 means that nothing is missing."""
    return f"{math.floor(share * 1000) / 10:.1f}"


def _heavy(cell: Callable[[HeavyTotals], str]) -> Cell:
    return lambda totals: cell(totals.heavy) if totals.heavy else "-"


_FIGURES: Sequence[tuple[str, Cell]] = (
    ("recordings", lambda totals: f"{totals.files:,}"),
    ("model calls", lambda totals: f"{totals.requests:,}"),
    ("input, % of unmanaged", lambda totals: _format_percent(totals.input_of_sums)),
    ("  mean of recordings", lambda totals: _format_percent(totals.input_of_files)),
    ("billed, % of unmanaged", lambda totals: _format_percent(totals.billed_of_sums)),
    ("  mean of recordings", lambda totals: _format_percent(totals.billed_of_files)),
    ("tool tokens saved, %", lambda totals: _format_percent(totals.tool_saved)),
    ("outputs reachable, % of bytes", lambda totals: _format_percent_floor(totals.reachable)),
    ("outputs in the window, % of bytes", lambda totals: _format_percent(totals.in_window)),
    (
        "call arguments reachable, % of bytes",
        lambda totals: _format_percent_floor(totals.arguments_reachable),
    ),
    ("heavy recordings", _heavy(lambda totals: f"{totals.files:,}")),
    (
        "  mean window, % of unmanaged",
        _heavy(lambda totals: _format_percent(totals.mean_window_of_unmanaged)),
    ),
    ("  mean window, % of the window", _heavy(lambda totals: _format_percent(totals.mean_window_of_window))),
    (
        "  median peak, % of unmanaged",
        _heavy(lambda totals: _format_percent(totals.median_peak_of_unmanaged)),
    ),
    ("  median peak, % of the window", _heavy(lambda totals: _format_percent(totals.median_peak_of_window))),
    ("  summarising calls each", _heavy(lambda totals: f"{totals.summaries:.2f}")),
    ("  lossy events each", _heavy(lambda totals: f"{totals.lossy:.2f}")),
    ("requests over the window", lambda totals: f"{totals.over_window:,}"),
    ("invalid requests", lambda totals: f"{max(totals.invalid_by_rules, totals.invalid_by_grammar):,}"),
    ("requests that could not be made", lambda totals: f"{totals.not_made:,}"),
    ("processor per request, p50 ms", lambda totals: f"{totals.request_cpu.p50_ms:.2f}"),
    ("processor per request, p95 ms", lambda totals: f"{totals.request_cpu.p95_ms:.2f}"),
    ("processor per message, p50 ms", lambda totals: f"{totals.feed_cpu.p50_ms:.2f}"),
    ("processor per message, p95 ms", lambda totals: f"{totals.feed_cpu.p95_ms:.2f}"),
)
_COUNTS: Sequence[tuple[str, Cell]] = (
    ("sweeps", lambda totals: f"{totals.counts.sweeps:,}"),
    ("folds", lambda totals: f"{totals.counts.folds:,}"),
    ("handovers", lambda totals: f"{totals.counts.handovers:,}"),
    ("observations", lambda totals: f"{totals.counts.observations:,}"),
    ("reflections", lambda totals: f"{totals.counts.reflections:,}"),
    ("fallbacks", lambda totals: f"{totals.counts.fallbacks:,}"),
    ("panics", lambda totals: f"{totals.counts.panics:,}"),
    ("requests that are no continuation", lambda totals: f"{totals.rewrites:,}"),
    ("recalls put in", lambda totals: f"{totals.recalls.calls:,}"),
)


def totals_by_column(measured: Sequence[MeasuredRecording]) -> dict[str, Totals]:
    """Return the totals of all recordings, then of each source if there are several."""
    sources = group_by_source(measured)
    several = sources if len(sources) > 1 else {}
    return {
        "all": totals_of(measured),
        **{name: totals_of(recordings) for name, recordings in several.items()},
    }


def format_table(totals_by_name: Mapping[str, Totals], title: str = "") -> str:
    """Format a table with a row per figure and a column per entry of `totals_by_name`."""
    rows = [
        (title, *totals_by_name),
        *((name, *map(cell, totals_by_name.values())) for name, cell in (*_FIGURES, *_COUNTS)),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(totals_by_name) + 1)]
    lines = [
        "  ".join(
            (f"{row[0]:<{widths[0]}}", *(f"{row[column]:>{widths[column]}}" for column in range(1, len(row))))
        )
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def warning_lines(measured: Sequence[MeasuredRecording]) -> list[str]:
    """Return a line for each problem: lost outputs, and requests that a server would refuse."""
    return [line for recording in measured for line in _recording_warnings(recording.result)]


def _recording_warnings(result: RecordingResult) -> list[str]:
    warnings = []
    if result.reach.lost:
        warnings.append(f"{result.file}: lost {', '.join(result.reach.lost)}")
    warnings += [f"{result.file}: {reason}" for reason in result.faults.reasons]
    return warnings
