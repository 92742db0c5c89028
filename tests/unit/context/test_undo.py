"""Undo and redo of every kind of rewrite, at any depth and in any order."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.rewrite_state import Undoable
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites import fold
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    Form,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.rewrite_kinds import SweepReason
from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import ModelRequest
from tests.support import rewriting
from tests.support.histories import UNFOLDED, Maker, histories, played
from tests.support.reach import lost

NOT_PLAIN = (
    SweepMade,
    FoldMade,
    FormChosen,
    ObservationsPlaced,
    HandoverMade,
    Pinned,
    Unpinned,
    Undone,
    Redone,
)


def raw(request: ModelRequest) -> list[bytes]:
    """The bytes of each message."""
    return [msgspec.json.encode(message) for message in request.messages]


def rewrite(maker: Maker, kind: type[Undoable], which: int) -> int:
    """Make a rewrite of a kind by hand if that is possible; its seq, else 0."""
    before = set(maker.transcript.rewrites.of_kind(kind))
    forms: tuple[Form, ...] = ("full", "preview", "compact")
    if kind is SweepMade:
        rewriting.sweep_all(maker, which % 3)
    elif kind is FoldMade:
        rewriting.truncate(maker) if which % 2 else rewriting.fold(maker)
    elif kind is HandoverMade:
        maker.hand_over(which * 30)
    elif kind is FormChosen:
        rewriting.choose_form(maker, which, forms[which % 3])
    else:
        rewriting.observe(maker)
        rewriting.place(maker)
    made = set(maker.transcript.rewrites.of_kind(kind)) - before
    return max(made, default=0)


@given(histories(), st.integers(0, 9))
def test_undo_restores_and_redo_brings_back(maker: Maker, which: int) -> None:
    """Of each kind, one on top of the other: undoing gives the former window's bytes, redoing the later."""
    for kind in (SweepMade, FoldMade, ObservationsPlaced, FormChosen, HandoverMade):
        check_undo(maker, kind, which)


def check_undo(maker: Maker, kind: type[Undoable], which: int) -> None:
    """Undo all that one action made, and redo it."""
    before, known = maker.window(), set(maker.transcript.rewrites.by_seq)
    if not rewrite(maker, kind, which):
        return
    after = maker.window()
    made = [seq for seq in sorted(maker.transcript.rewrites.by_seq) if seq not in known]
    undone = [seq for seq in reversed(made) if maker.transcript.can_undo(seq)]
    for seq in undone:
        maker.record(Undone(seq))
    assert raw(maker.window().request) == raw(before.request)
    assert maker.window().estimate == before.estimate
    assert lost(maker) == []
    for seq in reversed(undone):
        maker.record(Redone(seq))
    assert maker.window() == after


@given(histories(), st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_undo_at_any_depth(maker: Maker, order: list[int]) -> None:
    """Undoing any number of rewrites in any order and redoing them in the reverse one changes nothing."""
    before = maker.window()
    undone = [seq for which in order if (seq := maker.undo(which))]
    assert lost(maker) == []
    for seq in reversed(undone):
        maker.record(Redone(seq))
    assert maker.window() == before


@given(histories(), st.permutations(range(8)))
def test_the_order_of_undoing_does_not_matter(maker: Maker, order: list[int]) -> None:
    """What stands in the window depends on what holds, not on how it came to that."""
    held = [seq for seq in maker.transcript.rewrites.by_seq if maker.transcript.can_undo(seq)][:8]
    other = maker.transcript.fork()
    for seq in held:
        maker.record(Undone(seq))
    for place in order:
        if place < len(held):
            other.apply(RecordedEvent(other.last_seq + 1, 0, Undone(held[place])))
    assert project(other, maker.policy, maker.frame) == maker.window()


@given(histories())
def test_undoing_everything_gives_the_plain_history(maker: Maker) -> None:
    """Without its rewrites the window is what the same history without rewrites would show."""
    for seq in sorted(maker.transcript.rewrites.pinned):
        maker.record(Unpinned(seq))
    while maker.undo(0):
        pass
    plain = [one for one in maker.log if not isinstance(one.event, NOT_PLAIN)]
    bare = Transcript(msgspec.structs.replace(one, seq=n) for n, one in enumerate(plain, 1))
    assert raw(project(bare, maker.policy, maker.frame).request) == raw(maker.window().request)
    assert maker.transcript.covers == ()
    assert not maker.transcript.masked


@given(histories())
def test_what_a_rewrite_carried_falls_with_it(maker: Maker) -> None:
    """A sweep that rode on a handover, a fold or observations cannot be undone alone; it goes with them."""
    for seq, one in maker.transcript.rewrites.sweeps.items():
        if one.reason in {"handover", "fold", "observations"}:
            carrier = maker.transcript.rewrites.by_seq[seq - 1]
            assert isinstance(carrier, HandoverMade | FoldMade | ObservationsPlaced)
            if seq - 1 in maker.transcript.rewrites.undone:
                assert not maker.transcript.can_undo(seq)


@given(histories())
def test_a_fork_leaves_the_original_alone(maker: Maker) -> None:
    """Trying rewrites on a fork changes neither the window nor what may be undone."""
    before, masked = maker.window(), set(maker.transcript.masked)
    twin = maker.transcript.fork()
    twin.apply(RecordedEvent(twin.last_seq + 1, 0, SweepMade((2, 3), 10, SweepReason.MANUAL)))
    twin.apply(RecordedEvent(twin.last_seq + 1, 0, Pinned(2)))
    for seq in list(twin.rewrites.by_seq):
        twin.apply(RecordedEvent(twin.last_seq + 1, 0, Undone(seq)))
    assert maker.window() == before
    assert maker.transcript.masked == masked
    assert len(maker.log) == maker.transcript.last_seq


@given(histories())
def test_a_fold_that_the_person_undid_is_not_made_again(maker: Maker) -> None:
    """Nor is any of its messages put into another one by the program."""
    transcript = Transcript()
    for recorded in maker.log:
        made = recorded.event
        if isinstance(made, FoldMade) and made.how == "fold":
            back = [transcript.rewrites.by_seq[seq] for seq in transcript.rewrites.undone]
            taken = [one for one in back if isinstance(one, FoldMade) and one.how == "fold"]
            assert not any(one.after < made.upto and made.after < one.upto for one in taken)
        transcript.apply(recorded)


@pytest.mark.parametrize("how", ["fold", "condense"])
def test_a_note_that_the_person_undid_stays_away(how: str) -> None:
    """However often the window is looked after: neither the note nor the shorter one comes back by itself."""
    policy = msgspec.structs.replace(rewriting.eager(PROFILES["balanced"]), ledger_tokens=0)
    maker = played(12, size=2_000, policy=policy)
    for _ in range(3):
        rewriting.fold(maker)
        maker.step("On.", 1)
    made = [seq for seq, one in maker.transcript.rewrites.active_folds.items() if one.how == how]
    assert made
    for seq in made:
        maker.record(Undone(seq))
    back = [
        (one.after, one.upto)
        for seq in made
        if isinstance(one := maker.transcript.rewrites.by_seq[seq], FoldMade)
    ]
    known = set(maker.transcript.rewrites.folds)
    for number in range(6):
        maker.step("On.", 1)
        maker.answer(0, f"{number} a line of output\n" * 80)
        rewriting.fold(maker)
    later = [
        one for seq, one in maker.transcript.rewrites.folds.items() if seq not in known and one.how == how
    ]
    assert not [one for one in later for after, upto in back if one.after < upto and after < one.upto]


@given(histories(UNFOLDED))
def test_what_cannot_be_undone_says_so(maker: Maker) -> None:
    """Only rewrites, only while they hold; redo only what was undone."""
    known = maker.transcript
    for one in maker.log:
        if one.seq not in known.rewrites.by_seq:
            assert not known.can_undo(one.seq)
            assert not known.can_redo(one.seq)
        else:
            assert not (known.can_undo(one.seq) and known.can_redo(one.seq))


def test_folding_waits_for_a_policy_that_folds() -> None:
    """Without folds nothing is ever due, however old."""
    maker = played(40, size=2_000, policy=PROFILES["classic"])
    assert fold.due_folds(maker.transcript, maker.policy, is_cold=True) == []
