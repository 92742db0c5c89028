"""Format the figures: a document for programs and a table for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.replay.app_prompt import AppPrompt
from helix_desktop.replay.results import MeasuredRecording, RecordingResult
from helix_desktop.replay.totals import HeavyTotals, Totals, group_by_source, totals_of
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import current_language, translate

text = TextContext("Replay")

Cell = Callable[[Totals], str]

_ALL = text("all", "all recordings, as a column of a table")


def to_document(measured: Sequence[MeasuredRecording], prompt: AppPrompt) -> dict[str, Any]:
    """Return all figures as plain objects: per recording, per source, in total; and the own prompt's size."""
    return {
        "prompt": msgspec.to_builtins(prompt),
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
        "coverage_share": own.coverage_share,
        "coverage_share_old": own.coverage_share_old,
        "coverage_share_very_old": own.coverage_share_very_old,
        "recall_distance": msgspec.to_builtins(own.recall_distance),
        "lookup_share": own.lookup_share,
        "lookup_tokens": own.lookup_tokens,
    }
    return {**msgspec.to_builtins(measured.result), **shares}


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the table; `is_detail` sets it below the row before."""

    name: str
    cell: Cell
    is_detail: bool = False


def _percent(share: float) -> str:
    return current_language().show_decimal(share * 100, 1)


def _percent_floor(share: float) -> str:
    """Format a share as percent, rounded down: 100.0 means that nothing is missing."""
    return current_language().show_decimal(math.floor(share * 1000) / 10, 1)


def _pair(first: int, second: int) -> str:
    return f"{format_integer(first)} / {format_integer(second)}"


def _decimal(number: float) -> str:
    return current_language().show_decimal(number, 2)


def _heavy(cell: Callable[[HeavyTotals], str]) -> Cell:
    return lambda totals: cell(totals.heavy) if totals.heavy else "-"


_FIGURES: Sequence[Figure] = (
    Figure(text("recordings"), lambda totals: format_integer(totals.files)),
    Figure(text("model calls"), lambda totals: format_integer(totals.requests)),
    Figure(text("input, % of unmanaged"), lambda totals: _percent(totals.input_of_sums)),
    Figure(text("mean of recordings"), lambda totals: _percent(totals.input_of_files), is_detail=True),
    Figure(text("billed, % of unmanaged"), lambda totals: _percent(totals.billed_of_sums)),
    Figure(text("mean of recordings"), lambda totals: _percent(totals.billed_of_files), is_detail=True),
    Figure(
        text("billed with a cache of 5 minutes, % of unmanaged"),
        lambda totals: _percent(totals.billed_5_minutes_of_sums),
        is_detail=True,
    ),
    Figure(
        text("billed without a cache, % of unmanaged"),
        lambda totals: _percent(totals.billed_uncached_of_sums),
        is_detail=True,
    ),
    Figure(
        text("all checkpoints, not part of it, % of unmanaged"),
        lambda totals: _percent(totals.checkpoint_bill),
        is_detail=True,
    ),
    Figure(
        text("input of a checkpoint, median tokens"),
        lambda totals: format_integer(totals.checkpoint_input),
        is_detail=True,
    ),
    Figure(text("output tokens saved, %"), lambda totals: _percent(totals.tool_saved)),
    Figure(text("outputs that can be recalled, % of bytes"), lambda totals: _percent_floor(totals.reachable)),
    Figure(text("outputs in the context, % of bytes"), lambda totals: _percent(totals.in_window)),
    Figure(
        text("call arguments that can be recalled, % of bytes"),
        lambda totals: _percent_floor(totals.arguments_reachable),
    ),
    Figure(
        text("identifiers of the next call in the context, %"),
        lambda totals: _percent(totals.coverage_share),
    ),
    Figure(
        text("last seen more than 5 model calls ago"),
        lambda totals: _percent(totals.coverage_share_old),
        is_detail=True,
    ),
    Figure(
        text("last seen more than 20 model calls ago"),
        lambda totals: _percent(totals.coverage_share_very_old),
        is_detail=True,
    ),
    Figure(
        text("of those outside it, model calls since they were in it, p50 / p90"),
        lambda totals: _pair(totals.recall_distance.absence_p50, totals.recall_distance.absence_p90),
        is_detail=True,
    ),
    Figure(
        text("of those outside it, model calls since they last occurred, p50 / p90"),
        lambda totals: _pair(totals.recall_distance.age_p50, totals.recall_distance.age_p90),
        is_detail=True,
    ),
    Figure(
        text("identifiers outside the context that one call finds, %"),
        lambda totals: _percent(totals.lookup_share),
    ),
    Figure(
        text("tokens of that call, median"),
        lambda totals: format_integer(round(totals.lookup_tokens)),
        is_detail=True,
    ),
    Figure(
        text("a rule in a 3,000-token message is still in the context, % of recordings"),
        lambda totals: (
            _percent(totals.rules_in_window / totals.long_messages) if totals.long_messages else "-"
        ),
    ),
    Figure(text("heavy recordings"), _heavy(lambda totals: format_integer(totals.files))),
    Figure(
        text("mean context, % of unmanaged"),
        _heavy(lambda totals: _percent(totals.mean_window_of_unmanaged)),
        is_detail=True,
    ),
    Figure(
        text("mean context, % of the context window"),
        _heavy(lambda totals: _percent(totals.mean_window_of_window)),
        is_detail=True,
    ),
    Figure(
        text("median peak, % of unmanaged"),
        _heavy(lambda totals: _percent(totals.median_peak_of_unmanaged)),
        is_detail=True,
    ),
    Figure(
        text("median peak, % of the context window"),
        _heavy(lambda totals: _percent(totals.median_peak_of_window)),
        is_detail=True,
    ),
    Figure(
        text("summarizing calls per recording"),
        _heavy(lambda totals: _decimal(totals.summaries)),
        is_detail=True,
    ),
    Figure(
        text("summaries and noted facts per recording"),
        _heavy(lambda totals: _decimal(totals.lossy)),
        is_detail=True,
    ),
    Figure(
        text("longest history without a checkpoint or summary, tokens"),
        _heavy(lambda totals: format_integer(totals.longest_stretch)),
        is_detail=True,
    ),
    Figure(text("requests over the context window"), lambda totals: format_integer(totals.over_window)),
    Figure(
        text("invalid requests"),
        lambda totals: format_integer(max(totals.invalid_by_rules, totals.invalid_by_grammar)),
    ),
    Figure(text("requests that couldn't be made"), lambda totals: format_integer(totals.not_made)),
    Figure(text("CPU time per request, p50 ms"), lambda totals: _decimal(totals.request_cpu.p50_ms)),
    Figure(text("CPU time per request, p95 ms"), lambda totals: _decimal(totals.request_cpu.p95_ms)),
    Figure(text("CPU time per message, p50 ms"), lambda totals: _decimal(totals.feed_cpu.p50_ms)),
    Figure(text("CPU time per message, p95 ms"), lambda totals: _decimal(totals.feed_cpu.p95_ms)),
    Figure(text("times outputs were cached"), lambda totals: format_integer(totals.counts.sweeps)),
    Figure(text("times steps were noted"), lambda totals: format_integer(totals.counts.folds)),
    Figure(text("times messages were summarized"), lambda totals: format_integer(totals.counts.handovers)),
    Figure(text("checkpoints"), lambda totals: format_integer(totals.counts.checkpoints)),
    Figure(text("times facts were noted"), lambda totals: format_integer(totals.counts.observations)),
    Figure(text("times facts were merged"), lambda totals: format_integer(totals.counts.reflections)),
    Figure(text("summaries without a model"), lambda totals: format_integer(totals.counts.fallbacks)),
    Figure(
        text("requests that don't continue the one before"), lambda totals: format_integer(totals.rewrites)
    ),
    Figure(text("simulated recalls"), lambda totals: format_integer(totals.recalls.calls)),
)


def totals_by_column(measured: Sequence[MeasuredRecording]) -> dict[str, Totals]:
    """Return the totals of all recordings, then of each source if there are several."""
    sources = group_by_source(measured)
    several = sources if len(sources) > 1 else {}
    return {
        translate(_ALL): totals_of(measured),
        **{name: totals_of(recordings) for name, recordings in several.items()},
    }


def format_table(totals_by_name: Mapping[str, Totals], title: str = "") -> str:
    """Format a table with a row per figure and a column per entry of `totals_by_name`."""
    rows = [
        (title, *totals_by_name),
        *((_row_name(figure), *map(figure.cell, totals_by_name.values())) for figure in _FIGURES),
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


def _row_name(figure: Figure) -> str:
    return f"{'  ' if figure.is_detail else ''}{translate(figure.name)}"


def app_prompt_line(prompt: AppPrompt) -> str:
    """Return the size of what is sent with every request, as a line below the table."""
    environment = translate(
        text(
            "environment, told once per session: {tokens} tokens",
            tokens=format_integer(prompt.environment_tokens),
        )
    )
    own = translate(
        text(
            "System prompt and built-in tools: {tokens} tokens ({system} and {tools})",
            tokens=format_integer(prompt.system_tokens + prompt.tool_tokens),
            system=format_integer(prompt.system_tokens),
            tools=format_integer(prompt.tool_tokens),
        )
    )
    return f"{own}; {environment}" if prompt.environment_tokens else own


def warning_lines(measured: Sequence[MeasuredRecording]) -> list[str]:
    """Return a line for each problem: lost outputs, and requests that a server would refuse."""
    return [line for recording in measured for line in _recording_warnings(recording.result)]


def _recording_warnings(result: RecordingResult) -> list[str]:
    warnings = []
    if result.reach.lost:
        warnings.append(translate(text("{file}: lost {calls}", file=result.file, calls=result.reach.lost)))
    warnings += [
        translate(text("{file}: {problem}", file=result.file, problem=reason))
        for reason in result.faults.reasons
    ]
    return warnings
