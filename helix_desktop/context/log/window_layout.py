"""What stands in the window: messages, and the summaries that cover older ones, in order.

A cover is a handover, a set of observations or a fold, with the range of events it replaces. Active covers
never overlap: the higher kind wins, then the wider range; what the winner hides returns when it is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from helix_desktop.domain.events.conversation import MessageEvent
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import InstructionsAdded
from helix_desktop.domain.events.summary import HandoverMade, Observation, ObservationsMade

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
    event: MessageEvent
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
        return self.covers[0].event

    @property
    def after(self) -> int:
        """Return the event before the first it covers."""
        return self.covers[0].after

    @property
    def upto(self) -> int:
        return max(cover.upto for cover in self.covers)


class PinnedCopy(msgspec.Struct, frozen=True):
    """A pinned output whose call is covered: it appears in the window as a message of its own."""

    item: LogItem

    @property
    def seq(self) -> int:
        """Return the event of the output."""
        return self.item.seq

    @property
    def event(self) -> MessageEvent:
        return self.item.event

    @property
    def upto(self) -> int:
        return self.item.upto


class AddedInstructions(msgspec.Struct, frozen=True):
    """Instructions that came after the session's start: they stay in the window, behind what covers them."""

    seq: int
    event: InstructionsAdded

    @property
    def after(self) -> int:
        return self.seq - 1

    @property
    def upto(self) -> int:
        return self.seq


WindowEntry = LogItem | SummaryBlock | PinnedCopy | AddedInstructions


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


def cover_over(inner: Cover, active: Iterable[Cover], candidates: Iterable[Cover]) -> int:
    """Return the active cover that another one would not take the place of if it were a candidate, 0 if none.

    `active` are those of the `candidates`.
    """
    truncations = [cover for cover in (*candidates, inner) if _is_truncation(cover)]
    own = _precedence(inner, truncations)
    over = (
        cover.seq
        for cover in active
        if cover.after < inner.upto and inner.after < cover.upto and _precedence(cover, truncations) < own
    )
    return next(over, 0)


def edges_of(covers: Iterable[Cover]) -> tuple[int, ...]:
    """Return where handovers and observations begin and end: no fold across an edge can be active."""
    return tuple(
        edge
        for cover in covers
        if not isinstance(cover.event, FoldMade)
        for edge in (cover.after, cover.upto)
    )


def crosses_edge(before: int, seq: int, edges: Iterable[int]) -> bool:
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
    instructions: Sequence[AddedInstructions] = (),
) -> list[WindowEntry]:
    """Return the window's entries in order: blocks, what stays of their ranges, messages between and after.

    Of what a block covers stay pinned outputs, and instructions in force when it was made. `position` returns
    how many items lie at or before an event; `covers` are active and in log order. All observations are
    placed together, where the first of them begins.
    """
    observed = tuple(cover for cover in covers if isinstance(cover.event, ObservationsMade))
    entries: list[WindowEntry] = []
    done = upto = 0
    for cover in covers:
        entries += _in_log_order(items[done : position(cover.after)], instructions, upto, cover.after)
        if cover not in observed:
            entries.append(SummaryBlock((cover,)))
        elif cover is observed[0]:
            entries.append(SummaryBlock(observed))
        done = position(cover.upto)
        upto = cover.upto
        entries += [PinnedCopy(item) for item in pinned if cover.after < item.seq <= cover.upto]
        entries += [added for added in instructions if _outlasts(added, cover, instructions)]
        if isinstance(cover.event, HandoverMade) and cover.event.kept:
            entries.append(items[position(cover.event.kept) - 1])
    entries += _in_log_order(items[done:], instructions, upto)
    return entries


def _in_log_order(
    items: Sequence[LogItem], instructions: Sequence[AddedInstructions], after: int, upto: int = 1 << 62
) -> list[LogItem | AddedInstructions]:
    """Return messages with the instructions after event `after`, up to and including `upto`, among them."""
    between = [added for added in instructions if after < added.seq <= upto]
    return sorted([*items, *between], key=lambda entry: entry.seq) if between else [*items]


def newest_instructions(instructions: Iterable[AddedInstructions]) -> set[int]:
    """Return the events of the instructions whose place no newer ones took."""
    return set({added.event.text.key: added.seq for added in instructions}.values())


def _outlasts(added: AddedInstructions, cover: Cover, instructions: Sequence[AddedInstructions]) -> bool:
    """Return True if these instructions lie in a cover, and nothing had taken their place when it was made.

    What takes their place later must not change what is sent before it: they go with the next cover.
    """
    return cover.after < added.seq <= cover.upto and not any(
        added.seq < newer.seq < cover.seq and newer.event.text.key == added.event.text.key
        for newer in instructions
    )


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


def ended_observations(generations: Iterable[ObservationsMade]) -> dict[Observation, int]:
    """Return what these generations mark as over, with the tokens of its lines."""
    return {
        ended.observation: ended.tokens
        for generation in generations
        if generation.over
        for ended in generation.over
    }


def ended_tokens(generations: Sequence[ObservationsMade]) -> int:
    """Return the tokens of the facts among these generations' that others of them mark as over."""
    ended = ended_observations(generations)
    if not ended:
        return 0
    present = {observation for generation in generations for observation in generation.observations}
    return sum(tokens for observation, tokens in ended.items() if observation in present)
