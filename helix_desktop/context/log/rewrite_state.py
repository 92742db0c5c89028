"""The rewrites of a session: which were made, undone, active; and which observations are over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

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
from helix_desktop.domain.events.summary import (
    HandoverMade,
    Observation,
    ObservationsMade,
    ObservationsPlaced,
)


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


class ExcludedCover(NamedTuple):
    """What an excluded summary stands for: events behind `after` up to `upto`, but `left_out` (0: none)."""

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
        self._placed_seqs: set[int] = set()
        self._replaced_by: dict[int, tuple[int, ...]] = {}  # handovers, by those that were written again
        self.chosen_forms: dict[int, FormChosen] = {}
        self.excluded: dict[int, Excluded] = {}  # by each of its targets
        self.excluded_texts: dict[int, Excluded] = {}  # of the opening, by their parts
        self.anchors: dict[int, SweepMade] = {}  # sweeps whose anchors stand below an output, by its seq

    def fork(self) -> RewriteState:
        """Return an independent copy."""
        copied = RewriteState()
        copied.by_seq, copied.observations, copied.undone = (
            dict(self.by_seq),
            dict(self.observations),
            dict(self.undone),
        )
        copied.pinned, copied.masked, copied.sweep_exempt = self.pinned, set(self.masked), self.sweep_exempt
        copied.unpinned = self.unpinned
        copied._placed_seqs, copied._put_back = set(self._placed_seqs), set(self._put_back)
        copied._replaced_by = dict(self._replaced_by)
        copied.chosen_forms, copied.anchors = dict(self.chosen_forms), dict(self.anchors)
        copied.excluded, copied.excluded_texts = self.excluded, self.excluded_texts  # never changed in place
        return copied

    def apply(self, seq: int, rewrite: RewriteEvent) -> None:
        """Apply a rewrite recorded as `seq`."""
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
        sweeps = (rewrite for rewrite in self.undone_by_user if isinstance(rewrite, SweepMade))
        released = {seq for sweep in sweeps for seq in sweep.masked}
        self.masked = masked - self.pinned
        self.sweep_exempt = frozenset((released | forms.keys()) - masked)
        self.chosen_forms = forms
        self.excluded = {target: event for target, event in excluded.items() if target not in self.pinned}

    @property
    def undone_by_user(self) -> list[Undoable]:
        """Return the rewrites that the user undid: they are not made again automatically."""
        return [self.by_seq[seq] for seq in self.undone if seq not in self._put_back]

    @property
    def excluded_covers(self) -> tuple[ExcludedCover, ...]:
        """Return what the excluded summaries that are active stand for."""
        return tuple(filter(None, map(self._cover_of, self.excluded)))

    def _cover_of(self, seq: int) -> ExcludedCover | None:
        rewrite = self.by_seq.get(seq) if self.is_active(seq) else None
        match rewrite:
            case HandoverMade(upto=upto, kept=kept):
                return ExcludedCover(0, upto, kept)
            case FoldMade(after=after, upto=upto):
                return ExcludedCover(after, upto)
            case ObservationsPlaced(made=made) if made in self.observations:
                return ExcludedCover(self.observations[made].after, self.observations[made].upto)
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
        attached = self.by_seq.get(seq + 1)
        changed = [rewrite for rewrite in (self.by_seq.get(seq), attached) if rewrite is not None]
        if not isinstance(attached, SweepMade) or attached.reason not in ATTACHED_SWEEP_REASONS:
            changed = changed[:1]
        if any(isinstance(rewrite, ObservationsPlaced) for rewrite in changed):
            return 0  # the block before them was one with them
        return min(map(self.first_changed, changed), default=0)

    def _keep_anchors(self, sweep: SweepMade) -> None:
        if sweep.anchors:
            self.anchors[sweep.carrier] = sweep

    def is_undoable(self, seq: int) -> bool:
        """Return True if that event is a rewrite that can be undone."""
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
        rewrite = self.by_seq.get(seq)
        if (
            isinstance(rewrite, SweepMade)
            and rewrite.reason in ATTACHED_SWEEP_REASONS
            and seq - 1 in self.undone
        ):
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
        """Return all sweeps."""
        return self.of_kind(SweepMade)

    @property
    def handovers(self) -> Mapping[int, HandoverMade]:
        """Return all handovers."""
        return self.of_kind(HandoverMade)

    @property
    def folds(self) -> Mapping[int, FoldMade]:
        """Return all folds."""
        return self.of_kind(FoldMade)

    @property
    def active_handovers(self) -> Mapping[int, HandoverMade]:
        """Return the active handovers."""
        return self._active(HandoverMade)

    @property
    def active_folds(self) -> Mapping[int, FoldMade]:
        """Return the active folds."""
        return self._active(FoldMade)

    @property
    def placed_observations(self) -> Mapping[int, ObservationsMade]:
        """Return the active observations, by the event that placed them."""
        placements = self._active(ObservationsPlaced)
        return {
            seq: self.observations[placement.made]
            for seq, placement in placements.items()
            if placement.made in self.observations
        }

    @property
    def unplaced_seqs(self) -> list[int]:
        """Return the seqs of observations that were prepared and never placed."""
        return [seq for seq in self.observations if seq not in self._placed_seqs]
