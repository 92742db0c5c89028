"""The rewrites of a session: which were made, which were undone, and what holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from helix_desktop.context.event_rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.context.event_summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.context.rewrite_kind import RIDING

Undoable = SweepMade | FoldMade | ObservationsPlaced | HandoverMade | FormChosen
Rewrite = Undoable | Pinned | Unpinned | Undone | Redone
T = TypeVar("T")


class Rewrites:
    """All rewrites by the seq of their event; only `apply` changes them."""

    def __init__(self) -> None:
        self.made: dict[int, Undoable] = {}
        self.observed: dict[int, ObservationsMade] = {}
        self.undone: set[int] = set()
        self.pinned: frozenset[int] = frozenset()
        self.masked: set[int] = set()
        self.released: frozenset[int] = frozenset()
        self._placed: set[int] = set()
        self.forms: dict[int, FormChosen] = {}

    def fork(self) -> Rewrites:
        """A copy that can change alone."""
        twin = Rewrites()
        twin.made, twin.observed, twin.undone = dict(self.made), dict(self.observed), set(self.undone)
        twin.pinned, twin.masked, twin.released = self.pinned, set(self.masked), self.released
        twin._placed = set(self._placed)
        twin.forms = dict(self.forms)
        return twin

    def apply(self, seq: int, rewrite: Rewrite) -> None:
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
                self.made[seq] = rewrite
                if self.holds(seq):
                    self.masked.update(one for one in masked if one not in self.pinned)
                return
            case FoldMade() | HandoverMade() | ObservationsPlaced():
                self.made[seq] = rewrite
                if isinstance(rewrite, ObservationsPlaced):
                    self._placed.add(rewrite.made)
                return
            case FormChosen():
                self.made[seq] = rewrite
        self._reduce()

    def _reduce(self) -> None:
        masked: set[int] = set()
        forms: dict[int, FormChosen] = {}
        for seq, one in self.made.items():
            if isinstance(one, SweepMade) and self.holds(seq):
                masked.update(one.masked)
            elif isinstance(one, FormChosen) and self.holds(seq):
                masked.discard(one.target)
                forms[one.target] = one
        undone = (self.made[seq] for seq in self.undone)
        released = {seq for one in undone if isinstance(one, SweepMade) for seq in one.masked}
        self.masked = masked - self.pinned
        self.released = frozenset((released | forms.keys()) - masked)
        self.forms = forms

    def knows(self, seq: int) -> bool:
        """Whether that event is a rewrite that can be undone."""
        return seq in self.made

    def holds(self, seq: int) -> bool:
        """Whether a rewrite is in force; a sweep recorded with another rewrite holds and falls with it."""
        one = self.made.get(seq)
        if isinstance(one, SweepMade) and one.reason in RIDING and seq - 1 in self.undone:
            return False
        return seq not in self.undone

    def of(self, kind: type[T]) -> dict[int, T]:
        """All rewrites of a kind, undone or not."""
        return {seq: one for seq, one in self.made.items() if isinstance(one, kind)}

    def _held(self, kind: type[T]) -> dict[int, T]:
        return {seq: one for seq, one in self.of(kind).items() if self.holds(seq)}

    @property
    def sweeps(self) -> Mapping[int, SweepMade]:
        """All sweeps."""
        return self.of(SweepMade)

    @property
    def handovers(self) -> Mapping[int, HandoverMade]:
        """All handovers."""
        return self.of(HandoverMade)

    @property
    def folds(self) -> Mapping[int, FoldMade]:
        """All folds."""
        return self.of(FoldMade)

    @property
    def held_handovers(self) -> Mapping[int, HandoverMade]:
        """The handovers that hold."""
        return self._held(HandoverMade)

    @property
    def held_folds(self) -> Mapping[int, FoldMade]:
        """The folds that hold."""
        return self._held(FoldMade)

    @property
    def in_place(self) -> Mapping[int, ObservationsMade]:
        """The observations that were placed, by the event that placed them."""
        placed = self._held(ObservationsPlaced)
        return {seq: self.observed[one.made] for seq, one in placed.items() if one.made in self.observed}

    @property
    def unplaced(self) -> list[int]:
        """Seqs of observations that were prepared and never placed."""
        return [seq for seq in self.observed if seq not in self._placed]
