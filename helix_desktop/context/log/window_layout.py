"""Lay out the window: which rewrites cover which events of the log, and what stands between them.

A cover is a handover, a set of observations or a fold, with the range of events it replaces. Active covers
never overlap: the higher kind wins, then the wider range; what the winner hides returns when it is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade

_RANK = {HandoverMade: 0, ObservationsMade: 1, FoldMade: 2}


class LogItem(msgspec.Struct, frozen=True):
    """A message of the log. `step` counts model calls.

    `cumulative_tokens` counts the tokens up to and including it, `saving` the tokens its markers save of its
    original form, `word_tokens` the tokens of its plain text.
    """

    seq: int
    at_ms: int
    step: int
    turn: int
    event: UserSpoke | AssistantSpoke | ToolAnswered
    tokens: int
    cumulative_tokens: int
    saving: int = 0
    word_tokens: int = 0

    @property
    def after(self) -> int:
        """Return the event before it: a message covers a range of one event."""
        return self.seq - 1

    @property
    def upto(self) -> int:
        """Return its own event."""
        return self.seq


class Cover(msgspec.Struct, frozen=True):
    """A rewrite that replaces the events after `after` up to and including `upto`; `seq` is its own event."""

    seq: int
    after: int
    upto: int
    event: HandoverMade | ObservationsMade | FoldMade


class SummaryBlock(msgspec.Struct, frozen=True):
    """One message that replaces older ones: a handover, a note, or all active observations."""

    covers: tuple[Cover, ...]

    @property
    def seq(self) -> int:
        """Return the event that made it; the first if there are several."""
        return self.covers[0].seq

    @property
    def event(self) -> HandoverMade | ObservationsMade | FoldMade:
        """Return the event recorded as `seq`."""
        return self.covers[0].event

    @property
    def after(self) -> int:
        """Return the event before the first it covers."""
        return self.covers[0].after

    @property
    def upto(self) -> int:
        """Return the last event it covers."""
        return max(cover.upto for cover in self.covers)


class PinnedCopy(msgspec.Struct, frozen=True):
    """A pinned output whose call is covered: it appears in the window as a message of its own."""

    item: LogItem


WindowEntry = LogItem | SummaryBlock | PinnedCopy


def active_covers(covers: Iterable[Cover]) -> list[Cover]:
    """Return the active covers in log order; none overlaps another."""
    active: list[Cover] = []
    candidates = list(covers)
    truncations = [cover for cover in candidates if _is_truncation(cover)]
    for cover in sorted(candidates, key=lambda candidate: _precedence(candidate, truncations)):
        if cover.upto > cover.after and not any(
            other.after < cover.upto and cover.after < other.upto for other in active
        ):
            active.append(cover)
    return sorted(active, key=lambda cover: cover.after)


def edges_of(covers: Iterable[Cover]) -> tuple[int, ...]:
    """Return where handovers and observations begin and end: no fold across an edge can be active."""
    return tuple(
        edge
        for cover in covers
        if not isinstance(cover.event, FoldMade)
        for edge in (cover.after, cover.upto)
    )


def crosses_edge(before: int, seq: int, edges: Iterable[int]) -> bool:
    """Return True if an edge lies between an event and a later one."""
    return any(before <= edge < seq for edge in edges)


def _is_truncation(cover: Cover) -> bool:
    return isinstance(cover.event, FoldMade) and cover.event.how == "truncate"


def _precedence(cover: Cover, truncations: Sequence[Cover]) -> tuple[int, int, int]:
    """Return rank, width and age. A truncation may hide observations too; a note over it takes its rank."""
    width = cover.upto if isinstance(cover.event, HandoverMade) else cover.upto - cover.after
    rank = _RANK[type(cover.event)]
    if any(cover.after <= truncation.after and truncation.upto <= cover.upto for truncation in truncations):
        rank = min(rank, _RANK[ObservationsMade])
    return (rank, -width, -cover.seq)


def arrange_entries(
    items: Sequence[LogItem],
    position: Callable[[int], int],
    covers: Sequence[Cover],
    pinned: Sequence[LogItem],
) -> list[WindowEntry]:
    """Return the window's entries in order: blocks, pinned outputs inside them, messages between and after.

    `position` returns how many items lie at or before an event; `covers` are active and in log order. All
    observations are placed together, where the first of them begins.
    """
    observed = tuple(cover for cover in covers if isinstance(cover.event, ObservationsMade))
    entries: list[WindowEntry] = []
    done = 0
    for cover in covers:
        entries += items[done : position(cover.after)]
        if cover not in observed:
            entries.append(SummaryBlock((cover,)))
        elif cover is observed[0]:
            entries.append(SummaryBlock(observed))
        done = position(cover.upto)
        entries += [PinnedCopy(item) for item in pinned if cover.after < item.seq <= cover.upto]
        if isinstance(cover.event, HandoverMade) and cover.event.kept:
            entries.append(items[position(cover.event.kept) - 1])
    entries += items[done:]
    return entries


def build_covers(
    handovers: Mapping[int, HandoverMade],
    observations: Mapping[int, ObservationsMade],
    folds: Mapping[int, FoldMade],
) -> list[Cover]:
    """Return a cover for each rewrite, under the seq of the event that placed it."""
    covers = [Cover(seq, 0, rewrite.upto, rewrite) for seq, rewrite in handovers.items()]
    covers += [Cover(seq, rewrite.after, rewrite.upto, rewrite) for seq, rewrite in observations.items()]
    covers += [Cover(seq, rewrite.after, rewrite.upto, rewrite) for seq, rewrite in folds.items()]
    return covers
