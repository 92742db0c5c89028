"""The state of all rewrites of a session: which were made, undone, are active, and what they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced

T = TypeVar("T")

Undoable = SweepMade | FoldMade | ObservationsPlaced | HandoverMade | FormChosen | Excluded
RewriteEvent = Undoable | Pinned | Unpinned | Undone | Redone


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
        self._undone_by_helix: set[int] = set()  # of those undone, by no user
        self.pinned: frozenset[int] = frozenset()
        self.unpinned: frozenset[int] = frozenset()  # pinned once, and no longer
        self.swept: set[int] = set()
        self.sweep_exempt: frozenset[int] = frozenset()
        self.restored: frozenset[int] = frozenset()  # whole again by the user: not taken below the threshold
        self._placed_seqs: set[int] = set()
        self._replaced_by: dict[int, tuple[int, ...]] = {}  # handovers, by those that were written again
        self.chosen_forms: dict[int, FormChosen] = {}
        self.excluded: dict[int, Excluded] = {}  # by each of its targets
        self.excluded_texts: dict[int, Excluded] = {}  # of the opening, by their parts
        self.anchors: dict[int, SweepMade] = {}  # sweeps whose anchors stand below an output, by its seq
        self.unshown: dict[int, int] = {}  # outputs that no request held, each with the sweep that took it
        # What the user brought back, with the event that had changed its file by then; 0: none had.
        self.changes_when_restored: dict[int, int] = {}

    def fork(self) -> RewriteState:
        copied = RewriteState()
        copied.by_seq = dict(self.by_seq)
        copied.observations = dict(self.observations)
        copied.undone = dict(self.undone)
        copied.pinned = self.pinned
        copied.swept = set(self.swept)
        copied.sweep_exempt = self.sweep_exempt
        copied.unpinned = self.unpinned
        copied.restored = self.restored
        copied._placed_seqs = set(self._placed_seqs)
        copied._undone_by_helix = set(self._undone_by_helix)
        copied._replaced_by = dict(self._replaced_by)
        copied.chosen_forms = dict(self.chosen_forms)
        copied.anchors = dict(self.anchors)
        # These two are never changed in place.
        copied.excluded = self.excluded
        copied.excluded_texts = self.excluded_texts
        copied.changes_when_restored = dict(self.changes_when_restored)
        copied.unshown = dict(self.unshown)
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
                self._undone_by_helix |= {target} if refused else set()
            case Redone(target=target):
                self.undone.pop(target, None)
                self._undone_by_helix.discard(target)
            case SweepMade(swept=swept):
                self.by_seq[seq] = rewrite
                if self.is_active(seq):
                    self.swept.update(target for target in swept if target not in self.pinned)
                    self._keep_anchors(rewrite)
                    self.restored -= self.swept
                    self.sweep_exempt -= self.swept
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
        swept: set[int] = set()
        forms: dict[int, FormChosen] = {}
        excluded: dict[int, Excluded] = {}
        self.excluded_texts = {}
        self.anchors = {}
        for seq, rewrite in self.by_seq.items():
            if isinstance(rewrite, SweepMade) and self.is_active(seq):
                swept.update(rewrite.swept)
                self._keep_anchors(rewrite)
            elif isinstance(rewrite, FormChosen) and self.is_active(seq):
                swept.discard(rewrite.target)
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
                released.update(seq for seq in rewrite.swept if seq not in swept)
            elif cover := self._cover_of(rewrite):
                released.update(range(cover.after + 1, cover.upto + 1))
        self.swept = swept - self.pinned
        whole = {target for target, choice in forms.items() if choice.form == "full"}
        self.restored = frozenset((released | whole) - swept)
        self.sweep_exempt = frozenset((released | forms.keys()) - swept)
        self.chosen_forms = forms
        self.excluded = {target: event for target, event in excluded.items() if target not in self.pinned}

    def brought_back(self, rewrite: RewriteEvent) -> Sequence[int]:
        """Return the messages that a rewrite by the user, which is not applied yet, brings back."""
        match rewrite:
            case Pinned(target=target) if target in self.swept:
                return (target,)
            case FormChosen(target=target, form="full"):
                return (target,)
            case Undone(target=target, refused=False):
                sweeps = (self.by_seq.get(seq) for seq in (target, self.attached_to(target)))
                return [seq for sweep in sweeps if isinstance(sweep, SweepMade) for seq in sweep.swept]
        return ()

    def is_unshown(self, seq: int) -> bool:
        """Return True if markers stand for an output that there was no room for when it came."""
        sweep_seq = self.unshown.get(seq, 0)
        return bool(sweep_seq) and seq in self.swept and self.is_active(sweep_seq)

    def edited_since(self, seq: int) -> int:
        """Return the event that had changed a file when the user brought its text back, 0 for none.

        A later one stands in the window itself, and must not change what was sent before it.
        """
        changed_by = self.changes_when_restored.get(seq, 0)
        return changed_by if changed_by and (seq in self.restored or seq in self.pinned) else 0

    @property
    def undone_by_user(self) -> list[Undoable]:
        """Return the rewrites that the user undid, each with its sweep: not made again automatically."""
        seqs = (seq for seq in self.undone if seq not in self._undone_by_helix)
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
            case SweepMade(swept=seqs):
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

    def recorded_with(self, sweep_seq: int) -> int:
        """Return the rewrite that a sweep was recorded with; 0 if with none."""
        return sweep_seq - 1 if self.attached_to(sweep_seq - 1) else 0

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
        if self.recorded_with(seq) in self.undone:
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
