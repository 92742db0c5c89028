"""The layout: which rewrites cover which stretches of the log, and what stands between them.

A cover is a handover, a set of observations or a fold, with the stretch of events it replaces. Covers that
hold never overlap: the greater kind and the wider stretch wins, and what lies inside it comes back when the
winner is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade

_RANK = {HandoverMade: 0, ObservationsMade: 1, FoldMade: 2}


class LogItem(msgspec.Struct, frozen=True):
    """One message of the log; `step` counts model calls, `cumulative` tokens up to and with it.

    `saving` is what its markers save of its form as it came, `words` what it says in words, both in tokens.
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
        """The event before it: as a stretch it is one event long."""
        return self.seq - 1

    @property
    def upto(self) -> int:
        """The event itself."""
        return self.seq


class Cover(msgspec.Struct, frozen=True):
    """A rewrite that stands for the events behind `after`, up to and with `upto`; `seq` is its own event."""

    seq: int
    after: int
    upto: int
    event: HandoverMade | ObservationsMade | FoldMade


class SummaryBlock(msgspec.Struct, frozen=True):
    """One message that stands for older ones: a handover, a note, or all observations that hold."""

    covers: tuple[Cover, ...]

    @property
    def seq(self) -> int:
        """The event that made it; the first one where several did."""
        return self.covers[0].seq

    @property
    def event(self) -> HandoverMade | ObservationsMade | FoldMade:
        """The event behind `seq`."""
        return self.covers[0].event

    @property
    def after(self) -> int:
        """The event before the first one it covers."""
        return self.covers[0].after

    @property
    def upto(self) -> int:
        """The last event it covers."""
        return max(cover.upto for cover in self.covers)


class PinnedCopy(msgspec.Struct, frozen=True):
    """A pinned output whose call is covered: it stands in the window as a message of its own."""

    item: LogItem


WindowEntry = LogItem | SummaryBlock | PinnedCopy


def active_covers(covers: Iterable[Cover]) -> list[Cover]:
    """The covers that count, in the order of what they cover; none overlaps another."""
    taken: list[Cover] = []
    found = list(covers)
    left_out = [one for one in found if _is_truncation(one)]
    for cover in sorted(found, key=lambda one: _precedence(one, left_out)):
        if cover.upto > cover.after and not any(
            one.after < cover.upto and cover.after < one.upto for one in taken
        ):
            taken.append(cover)
    return sorted(taken, key=lambda one: one.after)


def edges_of(covers: Iterable[Cover]) -> tuple[int, ...]:
    """Where handovers and observations begin and end: no fold that crosses one of these could hold."""
    return tuple(
        edge for one in covers if not isinstance(one.event, FoldMade) for edge in (one.after, one.upto)
    )


def crosses_edge(before: int, seq: int, edges: Iterable[int]) -> bool:
    """Whether an edge lies between an event and a later one."""
    return any(before <= edge < seq for edge in edges)


def _is_truncation(cover: Cover) -> bool:
    return isinstance(cover.event, FoldMade) and cover.event.how == "truncate"


def _precedence(cover: Cover, left_out: Sequence[Cover]) -> tuple[int, int, int]:
    """Rank, width, age. A truncation leaves out observations too; a note over it takes its rank."""
    width = cover.upto if isinstance(cover.event, HandoverMade) else cover.upto - cover.after
    rank = _RANK[type(cover.event)]
    if any(cover.after <= one.after and one.upto <= cover.upto for one in left_out):
        rank = min(rank, _RANK[ObservationsMade])
    return (rank, -width, -cover.seq)


def arrange_entries(
    items: Sequence[LogItem],
    position: Callable[[int], int],
    covers: Sequence[Cover],
    pinned: Sequence[LogItem],
) -> list[WindowEntry]:
    """The entries of the window, in order: blocks, pinned outputs inside them, messages between and behind.

    `position` tells how many items lie at or before an event; `covers` are in force and in order. The
    observations stand together, where the first of them begins.
    """
    observed = tuple(one for one in covers if isinstance(one.event, ObservationsMade))
    found: list[WindowEntry] = []
    done = 0
    for cover in covers:
        found += items[done : position(cover.after)]
        if cover not in observed:
            found.append(SummaryBlock((cover,)))
        elif cover is observed[0]:
            found.append(SummaryBlock(observed))
        done = position(cover.upto)
        found += [PinnedCopy(one) for one in pinned if cover.after < one.seq <= cover.upto]
        if isinstance(cover.event, HandoverMade) and cover.event.kept:
            found.append(items[position(cover.event.kept) - 1])
    found += items[done:]
    return found


def build_covers(
    handovers: Mapping[int, HandoverMade],
    observations: Mapping[int, ObservationsMade],
    folds: Mapping[int, FoldMade],
) -> list[Cover]:
    """The covers that these rewrites are, each under the event that put it in place."""
    found = [Cover(seq, 0, one.upto, one) for seq, one in handovers.items()]
    found += [Cover(seq, one.after, one.upto, one) for seq, one in observations.items()]
    found += [Cover(seq, one.after, one.upto, one) for seq, one in folds.items()]
    return found
