"""The rewrites of a session: which were made, which were undone, and what holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.rewrite_kinds import ATTACHED_SWEEP_REASONS
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced

Undoable = SweepMade | FoldMade | ObservationsPlaced | HandoverMade | FormChosen
RewriteEvent = Undoable | Pinned | Unpinned | Undone | Redone
T = TypeVar("T")


class RewriteState:
    """All rewrites by the seq of their event; only `apply` changes them."""

    def __init__(self) -> None:
        self.by_seq: dict[int, Undoable] = {}
        self.observations: dict[int, ObservationsMade] = {}
        self.undone: set[int] = set()
        self.pinned: frozenset[int] = frozenset()
        self.masked: set[int] = set()
        self.sweep_exempt: frozenset[int] = frozenset()
        self._placed_seqs: set[int] = set()
        self.chosen_forms: dict[int, FormChosen] = {}

    def fork(self) -> RewriteState:
        """A copy that can change alone."""
        twin = RewriteState()
        twin.by_seq, twin.observations, twin.undone = (
            dict(self.by_seq),
            dict(self.observations),
            set(self.undone),
        )
        twin.pinned, twin.masked, twin.sweep_exempt = self.pinned, set(self.masked), self.sweep_exempt
        twin._placed_seqs = set(self._placed_seqs)
        twin.chosen_forms = dict(self.chosen_forms)
        return twin

    def apply(self, seq: int, rewrite: RewriteEvent) -> None:
        """Take in a rewrite recorded as `seq`."""
        match rewrite:
            case Pinned(target=target):
                self.pinned |= {target}
            case Unpinned(target=target):
                self.pinned -= {target}
            case Undone(target=target):
                self.undone.add(target)
            case Redone(target=target):
                self.undone.discard(target)
            case SweepMade(masked=masked):
                self.by_seq[seq] = rewrite
                if self.is_active(seq):
                    self.masked.update(one for one in masked if one not in self.pinned)
                return
            case FoldMade() | HandoverMade() | ObservationsPlaced():
                self.by_seq[seq] = rewrite
                if isinstance(rewrite, ObservationsPlaced):
                    self._placed_seqs.add(rewrite.made)
                return
            case FormChosen():
                self.by_seq[seq] = rewrite
        self._recompute()

    def _recompute(self) -> None:
        masked: set[int] = set()
        forms: dict[int, FormChosen] = {}
        for seq, one in self.by_seq.items():
            if isinstance(one, SweepMade) and self.is_active(seq):
                masked.update(one.masked)
            elif isinstance(one, FormChosen) and self.is_active(seq):
                masked.discard(one.target)
                forms[one.target] = one
        undone = (self.by_seq[seq] for seq in self.undone)
        released = {seq for one in undone if isinstance(one, SweepMade) for seq in one.masked}
        self.masked = masked - self.pinned
        self.sweep_exempt = frozenset((released | forms.keys()) - masked)
        self.chosen_forms = forms

    def is_undoable(self, seq: int) -> bool:
        """Whether that event is a rewrite that can be undone."""
        return seq in self.by_seq

    def is_active(self, seq: int) -> bool:
        """Whether a rewrite is in force; a sweep recorded with another rewrite holds and falls with it."""
        one = self.by_seq.get(seq)
        if isinstance(one, SweepMade) and one.reason in ATTACHED_SWEEP_REASONS and seq - 1 in self.undone:
            return False
        return seq not in self.undone

    def of_kind(self, kind: type[T]) -> dict[int, T]:
        """All rewrites of a kind, undone or not."""
        return {seq: one for seq, one in self.by_seq.items() if isinstance(one, kind)}

    def _active(self, kind: type[T]) -> dict[int, T]:
        return {seq: one for seq, one in self.of_kind(kind).items() if self.is_active(seq)}

    @property
    def sweeps(self) -> Mapping[int, SweepMade]:
        """All sweeps."""
        return self.of_kind(SweepMade)

    @property
    def handovers(self) -> Mapping[int, HandoverMade]:
        """All handovers."""
        return self.of_kind(HandoverMade)

    @property
    def folds(self) -> Mapping[int, FoldMade]:
        """All folds."""
        return self.of_kind(FoldMade)

    @property
    def active_handovers(self) -> Mapping[int, HandoverMade]:
        """The handovers that hold."""
        return self._active(HandoverMade)

    @property
    def active_folds(self) -> Mapping[int, FoldMade]:
        """The folds that hold."""
        return self._active(FoldMade)

    @property
    def placed_observations(self) -> Mapping[int, ObservationsMade]:
        """The observations that were placed, by the event that placed them."""
        placed = self._active(ObservationsPlaced)
        return {
            seq: self.observations[one.made] for seq, one in placed.items() if one.made in self.observations
        }

    @property
    def unplaced_seqs(self) -> list[int]:
        """Seqs of observations that were prepared and never placed."""
        return [seq for seq in self.observations if seq not in self._placed_seqs]
