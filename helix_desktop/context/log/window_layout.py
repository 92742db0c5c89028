"""The rewrites of a session, made, undone, active: which events they cover, and what stands between them.

A cover is a handover, a set of observations or a fold, with the range of events it replaces. Active covers
never overlap: the higher kind wins, then the wider range; what the winner hides returns when it is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from helix_desktop.domain.events.conversation import MessageEvent
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Excluded,
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import InstructionsAdded
from helix_desktop.domain.events.summary import (
    HandoverMade,
    Observation,
    ObservationsMade,
    ObservationsPlaced,
)

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
        done, upto = position(cover.upto), cover.upto
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


Undoable = SweepMade | FoldMade | ObservationsPlaced | HandoverMade | FormChosen | Excluded
RewriteEvent = Undoable | Pinned | Unpinned | Undone | Redone
T = TypeVar("T")


class CoverRange(NamedTuple):
    """What a summary stands for: the events behind `after` up to `upto`, but `left_out` (0: none)."""

    after: int
    upto: int
    left_out: int = 0


class RewriteState:
    """The state of all rewrites, by the seq of their event; only `apply` changes it."""

    def __init__(self) -> None:
        self.by_seq: dict[int, Undoable] = {}
        self.observations: dict[int, ObservationsMade] = {}
        self.undone: dict[int, int] = {}  # the seq of the undoing, by that of the rewrite
        self._put_back: set[int] = set()  # of those undone: not by the user
        self.pinned: frozenset[int] = frozenset()
        self.unpinned: frozenset[int] = frozenset()  # pinned once, and no longer
        self.masked: set[int] = set()
        self.sweep_exempt: frozenset[int] = frozenset()
        self.restored: frozenset[int] = frozenset()  # whole again by the user: stays below the threshold
        self._placed_seqs: set[int] = set()
        self._replaced_by: dict[int, tuple[int, ...]] = {}  # handovers, by those that were written again
        self.chosen_forms: dict[int, FormChosen] = {}
        self.excluded: dict[int, Excluded] = {}  # by each of its targets
        self.excluded_texts: dict[int, Excluded] = {}  # of the opening, by their parts
        self.anchors: dict[int, SweepMade] = {}  # sweeps whose anchors stand below an output, by its seq

    def fork(self) -> RewriteState:
        copied = RewriteState()
        copied.by_seq, copied.observations, copied.undone = (
            dict(self.by_seq),
            dict(self.observations),
            dict(self.undone),
        )
        copied.pinned, copied.masked, copied.sweep_exempt = self.pinned, set(self.masked), self.sweep_exempt
        copied.unpinned, copied.restored = self.unpinned, self.restored
        copied._placed_seqs, copied._put_back = set(self._placed_seqs), set(self._put_back)
        copied._replaced_by = dict(self._replaced_by)
        copied.chosen_forms, copied.anchors = dict(self.chosen_forms), dict(self.anchors)
        copied.excluded, copied.excluded_texts = self.excluded, self.excluded_texts  # never changed in place
        return copied

    def apply(self, seq: int, rewrite: RewriteEvent) -> None:
        match rewrite:
            case Pinned(target=target):
                self.pinned |= {target}
                self.unpinned -= {target}
            case Unpinned(target=target):
                self.pinned -= {target}
                self.unpinned |= {target}
            case Undone(target=target, refused=refused):
                self.undone[target] = seq
                self._put_back |= {target} if refused else set()
            case Redone(target=target):
                self.undone.pop(target, None)
                self._put_back.discard(target)
            case SweepMade(masked=masked):
                self.by_seq[seq] = rewrite
                if self.is_active(seq):
                    self.masked.update(target for target in masked if target not in self.pinned)
                    self._keep_anchors(rewrite)
                    self.restored -= self.masked
                    self.sweep_exempt -= self.masked
                return
            case FoldMade() | HandoverMade() | ObservationsPlaced():
                self._apply_cover(seq, rewrite)
                return
            case FormChosen() | Excluded():
                self.by_seq[seq] = rewrite
        self._recompute()

    def _apply_cover(self, seq: int, rewrite: FoldMade | HandoverMade | ObservationsPlaced) -> None:
        self.by_seq[seq] = rewrite
        if isinstance(rewrite, ObservationsPlaced):
            self._placed_seqs.add(rewrite.made)
        elif isinstance(rewrite, HandoverMade):
            for replaced_seq in (earlier for earlier in rewrite.replaces if earlier < seq):
                self._replaced_by[replaced_seq] = (*self._replaced_by.get(replaced_seq, ()), seq)

    def _recompute(self) -> None:
        masked: set[int] = set()
        forms: dict[int, FormChosen] = {}
        excluded: dict[int, Excluded] = {}
        self.excluded_texts = {}
        self.anchors = {}
        for seq, rewrite in self.by_seq.items():
            if isinstance(rewrite, SweepMade) and self.is_active(seq):
                masked.update(rewrite.masked)
                self._keep_anchors(rewrite)
            elif isinstance(rewrite, FormChosen) and self.is_active(seq):
                masked.discard(rewrite.target)
                excluded.pop(rewrite.target, None)
                forms[rewrite.target] = rewrite
            elif isinstance(rewrite, Excluded) and self.is_active(seq):
                if rewrite.part:
                    self.excluded_texts = {**self.excluded_texts, rewrite.part: rewrite}
                else:
                    excluded |= dict.fromkeys(rewrite.targets, rewrite)
        released: set[int] = set()
        for rewrite in self.undone_by_user:
            if isinstance(rewrite, SweepMade):
                released.update(seq for seq in rewrite.masked if seq not in masked)
            elif cover := self._cover_of(rewrite):
                released.update(range(cover.after + 1, cover.upto + 1))
        self.masked = masked - self.pinned
        whole = {target for target, choice in forms.items() if choice.form == "full"}
        self.restored = frozenset((released | whole) - masked)
        self.sweep_exempt = frozenset((released | forms.keys()) - masked)
        self.chosen_forms = forms
        self.excluded = {target: event for target, event in excluded.items() if target not in self.pinned}

    @property
    def undone_by_user(self) -> list[Undoable]:
        """Return the rewrites that the user undid, each with its sweep: not made again automatically."""
        seqs = (seq for seq in self.undone if seq not in self._put_back)
        both = (each for seq in seqs for each in (seq, self.attached_to(seq)) if each)
        return [self.by_seq[seq] for seq in both]

    @property
    def excluded_covers(self) -> tuple[CoverRange, ...]:
        active = (self.by_seq.get(seq) for seq in self.excluded if self.is_active(seq))
        return tuple(filter(None, map(self._cover_of, active)))

    def _cover_of(self, rewrite: Undoable | None) -> CoverRange | None:
        match rewrite:
            case HandoverMade(upto=upto, kept=kept):
                return CoverRange(0, upto, kept)
            case FoldMade(after=after, upto=upto):
                return CoverRange(after, upto)
            case ObservationsPlaced(made=made) if made in self.observations:
                return CoverRange(self.observations[made].after, self.observations[made].upto)
        return None

    def first_changed(self, rewrite: RewriteEvent) -> int:
        """Return the first event whose place in the window a rewrite changed; 0: perhaps the first of all."""
        match rewrite:
            case Undone(target=target) | Redone(target=target):
                return self._first_changed_by_undo(target)
            case Excluded(targets=seqs, part=0) if not self.by_seq.keys() & set(seqs):
                return min(seqs)
            case SweepMade(masked=seqs):
                return min(seqs, default=0)
            case FoldMade(after=after):
                return after + 1
            case FormChosen(target=target) | Pinned(target=target) | Unpinned(target=target):
                return target
        placed = self.observations.get(rewrite.made) if isinstance(rewrite, ObservationsPlaced) else None
        return placed.after + 1 if placed is not None else 0

    def _first_changed_by_undo(self, seq: int) -> int:
        """Return `first_changed` of an undo or redo of `seq`: it takes the sweep recorded with it along."""
        with_it = self.by_seq.get(self.attached_to(seq))
        changed = [rewrite for rewrite in (self.by_seq.get(seq), with_it) if rewrite is not None]
        if any(isinstance(rewrite, ObservationsPlaced) for rewrite in changed):
            return 0  # the block before them was one with them
        return min(map(self.first_changed, changed), default=0)

    def attached_to(self, seq: int) -> int:
        """Return the sweep that was recorded with a rewrite: it falls and returns with it. 0 for none."""
        sweep = self.by_seq.get(seq + 1)
        return seq + 1 if isinstance(sweep, SweepMade) and sweep.reason in ATTACHED_SWEEP_REASONS else 0

    def _keep_anchors(self, sweep: SweepMade) -> None:
        if sweep.anchors:
            self.anchors[sweep.carrier] = sweep

    def is_undoable(self, seq: int) -> bool:
        return seq in self.by_seq

    def had_undone_handover(self, seq: int) -> bool:
        """Return True if at event `seq` a handover stood in the window that was undone since."""
        return any(
            begin < seq < end and isinstance(self.by_seq.get(begin), HandoverMade)
            for begin, end in self.undone.items()
        )

    def is_active(self, seq: int) -> bool:
        """Return True if a rewrite is active.

        A sweep recorded with another rewrite is active only with that one, a handover that was written again
        only while the newer one is not.
        """
        if seq - 1 in self.undone and self.attached_to(seq - 1):
            return False
        return seq not in self.undone and not self.replaced_by(seq)

    def replaced_by(self, seq: int) -> int:
        """Return the active handover that was written in place of handover `seq`, 0 for none.

        It names that one: it may cover less, and by width the former would stand in the window.
        """
        # Each names all before it: only from the newest on are they few to ask.
        return next(filter(self.is_active, reversed(self._replaced_by.get(seq, ()))), 0)

    def of_kind(self, kind: type[T]) -> dict[int, T]:
        """Return all rewrites of a kind, undone or not."""
        return {seq: rewrite for seq, rewrite in self.by_seq.items() if isinstance(rewrite, kind)}

    def _active(self, kind: type[T]) -> dict[int, T]:
        return {seq: rewrite for seq, rewrite in self.of_kind(kind).items() if self.is_active(seq)}

    @property
    def sweeps(self) -> Mapping[int, SweepMade]:
        return self.of_kind(SweepMade)

    @property
    def handovers(self) -> Mapping[int, HandoverMade]:
        return self.of_kind(HandoverMade)

    @property
    def folds(self) -> Mapping[int, FoldMade]:
        return self.of_kind(FoldMade)

    @property
    def active_handovers(self) -> Mapping[int, HandoverMade]:
        return self._active(HandoverMade)

    @property
    def active_folds(self) -> Mapping[int, FoldMade]:
        return self._active(FoldMade)

    @property
    def placements(self) -> Mapping[int, ObservationsMade]:
        """Return the observations that were placed, undone ones too, by the event that placed them."""
        return {
            seq: self.observations[placement.made]
            for seq, placement in self.of_kind(ObservationsPlaced).items()
            if placement.made in self.observations
        }

    @property
    def placed_observations(self) -> Mapping[int, ObservationsMade]:
        """Return the active observations, by the event that placed them."""
        return {seq: event for seq, event in self.placements.items() if self.is_active(seq)}

    @property
    def unplaced_seqs(self) -> list[int]:
        return [seq for seq in self.observations if seq not in self._placed_seqs]
