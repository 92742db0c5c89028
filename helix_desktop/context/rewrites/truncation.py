"""Panic: the last rung of the ladder that makes a request fit, without a model."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, crosses_edge, edges_of
from helix_desktop.context.rewrites.fold import FoldPlan
from helix_desktop.context.summaries import cut_points as cuts
from helix_desktop.domain.events.session import UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade


def plan_truncations(transcript: Transcript) -> list[FoldPlan]:
    """The stretches to leave out: all that is closed but summaries, pins, first and newest user message.

    Each ends at a legal cut point. The newest step stays: without it the agent would do the same again.
    """
    live = [one for one in transcript.window_entries() if isinstance(one, LogItem | SummaryBlock)]
    end = max(cuts.legal_cuts(live), default=0)
    stay = _preserved_positions(live)
    edges = edges_of(transcript.covers)
    found: list[list[LogItem | SummaryBlock]] = [[]]
    for position, entry in enumerate(live[:end]):
        if position in stay:
            found.append([])
            continue
        if found[-1] and crosses_edge(found[-1][-1].upto, entry.upto, edges):
            found.append([])
        found[-1].append(entry)
    stretches = [_truncation(transcript, entries) for entries in found if entries]
    return [one for one in stretches if one.gain > 0]


def _preserved_positions(entries: list[LogItem | SummaryBlock]) -> set[int]:
    """Positions of handover and observations, and of the first and newest messages of the person."""
    users = [
        n for n, one in enumerate(entries) if isinstance(one, LogItem) and isinstance(one.event, UserSpoke)
    ]
    summaries = [n for n, one in enumerate(entries) if isinstance(one.event, HandoverMade | ObservationsMade)]
    return {*summaries, *users[:1], *users[-1:]}


def _truncation(transcript: Transcript, entries: list[LogItem | SummaryBlock]) -> FoldPlan:
    first, last = entries[0], entries[-1]
    return FoldPlan(
        first.after, last.upto, sum(map(transcript.entry_tokens, entries)) - _NOTE_TOKENS, "truncate"
    )


_NOTE_TOKENS = 70  # tokens of the note that stands for what was left out
