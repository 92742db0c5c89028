"""Panic: the last rung of the ladder that makes a request fit, without a model (CONTEXT.md 3.6)."""

from __future__ import annotations

from helix_desktop.context import cut as cuts
from helix_desktop.context.event import HandoverMade, UserSpoke
from helix_desktop.context.fold import Fold
from helix_desktop.context.layout import Block, Entry, Item
from helix_desktop.context.transcript import Transcript


def truncations(transcript: Transcript) -> list[Fold]:
    """The stretches to leave out: all that is closed but handover, pins, first and newest user message.

    Each ends at a legal cut point. The newest step stays: without it the agent would do the same again.
    """
    live = [one for one in transcript.live() if isinstance(one, Item | Block)]
    end = max(cuts.legal(live), default=0)
    stay = _staying(live)
    found: list[Fold] = []
    start = 0
    for position in range(end + 1):
        if position == end or position in stay:
            if position > start:
                found.append(_left_out(transcript, live[start:position]))
            start = position + 1
    return [one for one in found if one.gain > 0]


def _staying(live: list[Item | Block]) -> set[int]:
    """Positions of the handover, and of the first and newest messages of the person."""
    users = [n for n, one in enumerate(live) if isinstance(one, Item) and isinstance(one.event, UserSpoke)]
    handovers = [n for n, one in enumerate(live) if isinstance(one.event, HandoverMade)]
    return {*handovers, *users[:1], *users[-1:]}


def _left_out(transcript: Transcript, entries: list[Item | Block]) -> Fold:
    first, last = entries[0], entries[-1]
    after = first.covers[0].after if isinstance(first, Block) else first.seq - 1
    upto = last.upto if isinstance(last, Block) else last.seq
    return Fold(after, upto, sum(_tokens(transcript, one) for one in entries) - _NOTE, "truncate")


def _tokens(transcript: Transcript, entry: Entry) -> int:
    return transcript.shown_tokens(entry)


_NOTE = 70  # tokens of the note that stands for what was left out
