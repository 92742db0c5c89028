"""Panic: the last rung of the ladder that makes a request fit, without a model."""

from __future__ import annotations

from helix_desktop.context import cut as cuts
from helix_desktop.context.event import UserSpoke
from helix_desktop.context.event_summary import HandoverMade, ObservationsMade
from helix_desktop.context.fold import Fold
from helix_desktop.context.layout import Block, Item, edges_of, parted
from helix_desktop.context.transcript import Transcript


def truncations(transcript: Transcript) -> list[Fold]:
    """The stretches to leave out: all that is closed but summaries, pins, first and newest user message.

    Each ends at a legal cut point. The newest step stays: without it the agent would do the same again.
    """
    live = [one for one in transcript.live() if isinstance(one, Item | Block)]
    end = max(cuts.legal(live), default=0)
    stay = _staying(live)
    edges = edges_of(transcript.covers)
    found: list[list[Item | Block]] = [[]]
    for position, entry in enumerate(live[:end]):
        if position in stay:
            found.append([])
            continue
        if found[-1] and parted(found[-1][-1].upto, entry.upto, edges):
            found.append([])
        found[-1].append(entry)
    stretches = [_left_out(transcript, entries) for entries in found if entries]
    return [one for one in stretches if one.gain > 0]


def _staying(live: list[Item | Block]) -> set[int]:
    """Positions of handover and observations, and of the first and newest messages of the person."""
    users = [n for n, one in enumerate(live) if isinstance(one, Item) and isinstance(one.event, UserSpoke)]
    summaries = [n for n, one in enumerate(live) if isinstance(one.event, HandoverMade | ObservationsMade)]
    return {*summaries, *users[:1], *users[-1:]}


def _left_out(transcript: Transcript, entries: list[Item | Block]) -> Fold:
    first, last = entries[0], entries[-1]
    return Fold(first.after, last.upto, sum(map(transcript.shown_tokens, entries)) - _NOTE, "truncate")


_NOTE = 70  # tokens of the note that stands for what was left out
