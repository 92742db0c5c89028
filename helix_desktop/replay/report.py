"""The figures for their readers: one document for programs, one table for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from helix_desktop.replay.results import MeasuredRecording, RecordingResult
from helix_desktop.replay.totals import HeavyTotals, Totals, group_by_source, totals_of

Cell = Callable[[Totals], str]


def to_document(measured: Sequence[MeasuredRecording]) -> dict[str, Any]:
    """All figures as plain objects: each recording's, those of each source, and of all together."""
    return {
        "files": [_recording_document(one) for one in measured],
        "sources": {
            name: msgspec.to_builtins(totals_of(ones)) for name, ones in group_by_source(measured).items()
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
    """Rounded down: 100.0 means that nothing is missing."""
    return f"{math.floor(share * 1000) / 10:.1f}"


def _heavy(cell: Callable[[HeavyTotals], str]) -> Cell:
    return lambda one: cell(one.heavy) if one.heavy else "-"


_FIGURES: Sequence[tuple[str, Cell]] = (
    ("recordings", lambda one: f"{one.files:,}"),
    ("model calls", lambda one: f"{one.requests:,}"),
    ("input, % of unmanaged", lambda one: _format_percent(one.input_of_sums)),
    ("  mean of recordings", lambda one: _format_percent(one.input_of_files)),
    ("billed, % of unmanaged", lambda one: _format_percent(one.billed_of_sums)),
    ("  mean of recordings", lambda one: _format_percent(one.billed_of_files)),
    ("tool tokens saved, %", lambda one: _format_percent(one.tool_saved)),
    ("outputs reachable, % of bytes", lambda one: _format_percent_floor(one.reachable)),
    ("outputs in the window, % of bytes", lambda one: _format_percent(one.in_window)),
    ("call arguments reachable, % of bytes", lambda one: _format_percent_floor(one.arguments_reachable)),
    ("heavy recordings", _heavy(lambda one: f"{one.files:,}")),
    ("  mean window, % of unmanaged", _heavy(lambda one: _format_percent(one.mean_window_of_unmanaged))),
    ("  mean window, % of the window", _heavy(lambda one: _format_percent(one.mean_window_of_window))),
    ("  median peak, % of unmanaged", _heavy(lambda one: _format_percent(one.median_peak_of_unmanaged))),
    ("  median peak, % of the window", _heavy(lambda one: _format_percent(one.median_peak_of_window))),
    ("  summarising calls each", _heavy(lambda one: f"{one.summaries:.2f}")),
    ("  lossy events each", _heavy(lambda one: f"{one.lossy:.2f}")),
    ("requests over the window", lambda one: f"{one.over_window:,}"),
    ("invalid requests", lambda one: f"{max(one.invalid_by_rules, one.invalid_by_grammar):,}"),
    ("requests that could not be made", lambda one: f"{one.not_made:,}"),
    ("processor per request, p50 ms", lambda one: f"{one.request_cpu.p50_ms:.2f}"),
    ("processor per request, p95 ms", lambda one: f"{one.request_cpu.p95_ms:.2f}"),
    ("processor per message, p50 ms", lambda one: f"{one.feed_cpu.p50_ms:.2f}"),
    ("processor per message, p95 ms", lambda one: f"{one.feed_cpu.p95_ms:.2f}"),
)
_COUNTS: Sequence[tuple[str, Cell]] = (
    ("sweeps", lambda one: f"{one.counts.sweeps:,}"),
    ("folds", lambda one: f"{one.counts.folds:,}"),
    ("handovers", lambda one: f"{one.counts.handovers:,}"),
    ("observations", lambda one: f"{one.counts.observations:,}"),
    ("reflections", lambda one: f"{one.counts.reflections:,}"),
    ("fallbacks", lambda one: f"{one.counts.fallbacks:,}"),
    ("panics", lambda one: f"{one.counts.panics:,}"),
    ("requests that are no continuation", lambda one: f"{one.rewrites:,}"),
    ("recalls put in", lambda one: f"{one.recalls.calls:,}"),
)


def totals_by_column(measured: Sequence[MeasuredRecording]) -> dict[str, Totals]:
    """All recordings together, then each source if there are several."""
    sources = group_by_source(measured)
    several = sources if len(sources) > 1 else {}
    return {"all": totals_of(measured), **{name: totals_of(ones) for name, ones in several.items()}}


def format_table(totals_by_name: Mapping[str, Totals], title: str = "") -> str:
    """A row for each figure, a column for each of these."""
    rows = [
        (title, *totals_by_name),
        *((name, *map(cell, totals_by_name.values())) for name, cell in (*_FIGURES, *_COUNTS)),
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(totals_by_name) + 1)]
    lines = [
        "  ".join((f"{row[0]:<{widths[0]}}", *(f"{row[at]:>{widths[at]}}" for at in range(1, len(row)))))
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def warning_lines(measured: Sequence[MeasuredRecording]) -> list[str]:
    """A line for each thing that should not be: lost outputs, and requests that a server would refuse."""
    return [line for one in measured for line in _recording_warnings(one.result)]


def _recording_warnings(result: RecordingResult) -> list[str]:
    found = []
    if result.reach.lost:
        found.append(f"{result.file}: lost {', '.join(result.reach.lost)}")
    found += [f"{result.file}: {reason}" for reason in result.faults.reasons]
    return found
