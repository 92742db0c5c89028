"""Format the figures, for programs and for people; and the size of what the app itself sends."""

from __future__ import annotations

import asyncio
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.agent.run_settings import schemas_json
from helix_desktop.agent.session_services import split_versions
from helix_desktop.agent.subagents import DELEGATE, delegate_spec
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.store.memory import MemoryStore
from helix_desktop.tools.environment import WorkspaceEnvironment, describe_environment
from helix_desktop.tools.shell.sandbox_detect import no_sandbox_provider
from helix_desktop.tools.tool import ToolGrants, clean_environment, description_of, parse_description
from helix_desktop.tools.workspace_tools import ToolSetup, create_workspace_tools, open_jail
from tests.benchmarks.replay.figures import (
    HeavyTotals,
    MeasuredRecording,
    Totals,
    group_by_source,
    totals_of,
)


class AppPrompt(msgspec.Struct, frozen=True):
    """The tokens of the system prompt, and of the schemas of all tools that a new workspace offers.

    `environment_tokens` are those of what a session in an empty folder of this machine gets at its start.
    """

    system_tokens: int
    tool_tokens: int
    environment_tokens: int = 0


def count_app_prompt() -> AppPrompt:
    """Count the shipped prompt and tools with the bundled vocabulary, as sent: the schemas as JSON."""
    tokens = MessageTokenCounter.bundled()
    system = split_versions(load_prompts())[0]["system"]
    return AppPrompt(
        tokens.text_tokens(system),
        tokens.text_tokens(schemas_json(_builtin_specs())),
        tokens.text_tokens(_environment()),
    )


def _environment() -> str:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sandboxes = no_sandbox_provider()
        environment = WorkspaceEnvironment(
            root, open_jail(root), clean_environment(os.environ), sandboxes, ToolGrants
        )
        return asyncio.run(describe_environment(environment)).replace(
            folder, "/workspace"
        )  # any name, any time


def _builtin_specs() -> tuple[ToolSpec, ...]:
    descriptions = resources_dir() / "prompts" / "tools"
    delegate = delegate_spec(*parse_description(description_of(DELEGATE, descriptions)))
    with tempfile.TemporaryDirectory() as folder:
        setup = ToolSetup(descriptions, MessageTokenCounter.bundled().count)
        tools = create_workspace_tools(Path(folder), MemoryStore(lambda: 0), setup)
        return (*tools.specs, delegate)


Cell = Callable[[Totals], str]


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


def _percent(share: float) -> str:
    return f"{share * 100:,.1f}"


def _percent_floor(share: float) -> str:
    """Format a share as percent, rounded down: 100.0 means that nothing is missing."""
    return f"{math.floor(share * 1000) / 10:,.1f}"


def _pair(first: int, second: int) -> str:
    return f"{first:,} / {second:,}"


def _decimal(number: float) -> str:
    return f"{number:,.2f}"


def _heavy(cell: Callable[[HeavyTotals], str]) -> Cell:
    return lambda totals: cell(totals.heavy) if totals.heavy else "-"


_FIGURES: Sequence[tuple[str, Cell]] = (
    ("recordings", lambda totals: f"{totals.files:,}"),
    ("model calls", lambda totals: f"{totals.requests:,}"),
    ("input, % of unmanaged", lambda totals: _percent(totals.input_of_sums)),
    ("  mean of recordings", lambda totals: _percent(totals.input_of_files)),
    ("billed, % of unmanaged", lambda totals: _percent(totals.billed_of_sums)),
    ("  mean of recordings", lambda totals: _percent(totals.billed_of_files)),
    (
        "  billed with a cache of 5 minutes, % of unmanaged",
        lambda totals: _percent(totals.billed_5_minutes_of_sums),
    ),
    ("  billed without a cache, % of unmanaged", lambda totals: _percent(totals.billed_uncached_of_sums)),
    ("  all checkpoints, not part of it, % of unmanaged", lambda totals: _percent(totals.checkpoint_bill)),
    ("  input of a checkpoint, median tokens", lambda totals: f"{totals.checkpoint_input:,}"),
    ("output tokens saved, %", lambda totals: _percent(totals.tool_saved)),
    ("outputs that can be recalled, % of bytes", lambda totals: _percent_floor(totals.reachable)),
    ("outputs in the context, % of bytes", lambda totals: _percent(totals.in_window)),
    (
        "call arguments that can be recalled, % of bytes",
        lambda totals: _percent_floor(totals.arguments_reachable),
    ),
    ("identifiers of the next call in the context, %", lambda totals: _percent(totals.coverage_share)),
    ("  last seen more than 5 model calls ago", lambda totals: _percent(totals.coverage_share_old)),
    ("  last seen more than 20 model calls ago", lambda totals: _percent(totals.coverage_share_very_old)),
    (
        "  of those outside it, model calls since they were in it, p50 / p90",
        lambda totals: _pair(totals.recall_distance.absence_p50, totals.recall_distance.absence_p90),
    ),
    (
        "  of those outside it, model calls since they last occurred, p50 / p90",
        lambda totals: _pair(totals.recall_distance.age_p50, totals.recall_distance.age_p90),
    ),
    ("identifiers outside the context that one call finds, %", lambda totals: _percent(totals.lookup_share)),
    ("  tokens of that call, median", lambda totals: f"{round(totals.lookup_tokens):,}"),
    (
        "a rule in a 3,000-token message is still in the context, % of recordings",
        lambda totals: (
            _percent(totals.rules_in_window / totals.long_messages) if totals.long_messages else "-"
        ),
    ),
    ("heavy recordings", _heavy(lambda totals: f"{totals.files:,}")),
    ("  mean context, % of unmanaged", _heavy(lambda totals: _percent(totals.mean_window_of_unmanaged))),
    (
        "  mean context, % of the context window",
        _heavy(lambda totals: _percent(totals.mean_window_of_window)),
    ),
    ("  median peak, % of unmanaged", _heavy(lambda totals: _percent(totals.median_peak_of_unmanaged))),
    ("  median peak, % of the context window", _heavy(lambda totals: _percent(totals.median_peak_of_window))),
    ("  summarizing calls per recording", _heavy(lambda totals: _decimal(totals.summaries))),
    ("  summaries and noted facts per recording", _heavy(lambda totals: _decimal(totals.lossy))),
    (
        "  longest history without a checkpoint or summary, tokens",
        _heavy(lambda totals: f"{totals.longest_stretch:,}"),
    ),
    ("requests over the context window", lambda totals: f"{totals.over_window:,}"),
    ("invalid requests", lambda totals: f"{max(totals.invalid_by_rules, totals.invalid_by_grammar):,}"),
    ("requests that couldn't be made", lambda totals: f"{totals.not_made:,}"),
    ("CPU time per request, p50 ms", lambda totals: _decimal(totals.request_cpu.p50_ms)),
    ("CPU time per request, p95 ms", lambda totals: _decimal(totals.request_cpu.p95_ms)),
    ("CPU time per message, p50 ms", lambda totals: _decimal(totals.feed_cpu.p50_ms)),
    ("CPU time per message, p95 ms", lambda totals: _decimal(totals.feed_cpu.p95_ms)),
    ("times outputs were cached", lambda totals: f"{totals.counts.sweeps:,}"),
    ("times steps were noted", lambda totals: f"{totals.counts.folds:,}"),
    ("times messages were summarized", lambda totals: f"{totals.counts.handovers:,}"),
    ("checkpoints", lambda totals: f"{totals.counts.checkpoints:,}"),
    ("times facts were noted", lambda totals: f"{totals.counts.observations:,}"),
    ("times facts were merged", lambda totals: f"{totals.counts.reflections:,}"),
    ("summaries without a model", lambda totals: f"{totals.counts.fallbacks:,}"),
    ("requests that don't continue the one before", lambda totals: f"{totals.rewrites:,}"),
    ("simulated recalls", lambda totals: f"{totals.recalls.calls:,}"),
)
"""The rows of the table; an indented one is a detail of the row before."""


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
        *((name, *map(cell, totals_by_name.values())) for name, cell in _FIGURES),
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


def app_prompt_line(prompt: AppPrompt) -> str:
    """Return the size of what is sent with every request, as a line below the table."""
    own = (
        f"System prompt and built-in tools: {prompt.system_tokens + prompt.tool_tokens:,} tokens "
        f"({prompt.system_tokens:,} and {prompt.tool_tokens:,})"
    )
    environment = f"environment, told once per session: {prompt.environment_tokens:,} tokens"
    return f"{own}; {environment}" if prompt.environment_tokens else own


def warning_lines(measured: Sequence[MeasuredRecording]) -> list[str]:
    """Return a line for each problem: lost outputs, and requests that a server would refuse."""
    lines = []
    for result in (recording.result for recording in measured):
        if result.reach.lost:
            lines.append(f"{result.file}: lost {', '.join(result.reach.lost)}")
        lines += [f"{result.file}: {reason}" for reason in result.faults.reasons]
    return lines
