"""Truncation: the last resort that makes a request fit, without a model."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, crosses_edge, edges_of
from helix_desktop.context.rewrites.fold import FoldPlan
from helix_desktop.context.summaries import cut_points as cuts
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade


def plan_truncations(transcript: Transcript) -> list[FoldPlan]:
    """Return the ranges to leave out: all closed steps but summaries, pins, first and newest user message.

    Each ends at a legal cut point. The newest step stays: without it the agent would repeat it.
    """
    live = [entry for entry in transcript.window_entries() if isinstance(entry, LogItem | SummaryBlock)]
    end = max(cuts.legal_cuts(live), default=0)
    preserved = _preserved_positions(live)
    edges = edges_of(transcript.covers)
    stretches: list[list[LogItem | SummaryBlock]] = [[]]
    for position, entry in enumerate(live[:end]):
        if position in preserved:
            stretches.append([])
            continue
        if stretches[-1] and crosses_edge(stretches[-1][-1].upto, entry.upto, edges):
            stretches.append([])
        stretches[-1].append(entry)
    plans = [_truncation(transcript, entries) for entries in stretches if entries]
    return [plan for plan in plans if plan.gain > 0]


def _preserved_positions(entries: list[LogItem | SummaryBlock]) -> set[int]:
    """Return the positions of handover and observations, and of the user's first and newest messages."""
    users = [
        n
        for n, entry in enumerate(entries)
        if isinstance(entry, LogItem) and isinstance(entry.event, UserSpoke)
    ]
    summaries = [
        n for n, entry in enumerate(entries) if isinstance(entry.event, HandoverMade | ObservationsMade)
    ]
    return {*summaries, *users[:1], *users[-1:]}


def _truncation(transcript: Transcript, entries: list[LogItem | SummaryBlock]) -> FoldPlan:
    first, last = entries[0], entries[-1]
    return FoldPlan(
        first.after, last.upto, sum(map(transcript.entry_tokens, entries)) - _NOTE_TOKENS, "truncate"
    )


_NOTE_TOKENS = 70  # tokens of the note that stands for what was left out
