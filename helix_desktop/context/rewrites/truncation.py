"""Truncation: the last resort that makes a request fit, without a model."""

from __future__ import annotations

from itertools import accumulate

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, crosses_edge, edges_of
from helix_desktop.context.rewrites.fold import FoldPlan
from helix_desktop.context.summaries import cut_points as cuts
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade


def plan_truncations(transcript: Transcript, tokens: int) -> list[FoldPlan]:
    """Return the ranges to leave out: the oldest closed steps that free these tokens of ours, else all.

    Summaries, pins, first and newest user message stay. Each ends at a legal cut point. The newest step
    stays: without it the agent would repeat it.
    """
    live = [entry for entry in transcript.window.entries() if isinstance(entry, LogItem | SummaryBlock)]
    preserved = _preserved_positions(live)
    end = _end_of_truncation(transcript, live, preserved, tokens)
    edges = edges_of(transcript.window.covers)
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


def _end_of_truncation(
    transcript: Transcript, entries: list[LogItem | SummaryBlock], preserved: set[int], tokens: int
) -> int:
    """Return the first legal cut before which enough can be left out; the last one if none has enough."""
    freed = [
        0 if position in preserved else transcript.window.entry_tokens(entry) * _FREED_SHARE
        for position, entry in enumerate(entries)
    ]
    before = [0.0, *accumulate(freed)]
    legal = cuts.legal_cuts(entries)
    return next((cut for cut in legal if before[cut] >= tokens), max(legal, default=0))


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
        first.after, last.upto, sum(map(transcript.window.entry_tokens, entries)) - _NOTE_TOKENS, "truncate"
    )


_NOTE_TOKENS = 70  # tokens of the note that stands for what was left out
_FREED_SHARE = 0.6  # of what is left out: the user's words in the note take up to 3/8 of it
