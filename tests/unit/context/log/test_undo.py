"""Undo and redo of every kind of rewrite, at any depth and in any order."""

from __future__ import annotations

import bisect

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
from helix_desktop.domain.events.session import RecordedEvent, TurnRetried
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import ModelRequest
from tests.support import session_rewrites
from tests.support.histories import SWEEP_AND_HANDOVER_ACTIONS, SessionSimulator, build_history, histories
from tests.support.reachability import unreachable_content

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


def rewrite(simulator: SessionSimulator, kind: type[Undoable], which: int) -> int:
    """Make a rewrite of a kind by hand if that is possible; its seq, else 0."""
    before = set(simulator.transcript.rewrites.of_kind(kind))
    forms: tuple[Form, ...] = ("full", "preview", "compact")
    if kind is SweepMade:
        session_rewrites.sweep_all(simulator, which % 3)
    elif kind is FoldMade:
        session_rewrites.truncate(simulator) if which % 2 else session_rewrites.fold_all(simulator)
    elif kind is HandoverMade:
        simulator.hand_over(which * 30)
    elif kind is FormChosen:
        session_rewrites.choose_form(simulator, which, forms[which % 3])
    else:
        session_rewrites.prepare_observations(simulator)
        session_rewrites.place_observations(simulator)
    made = set(simulator.transcript.rewrites.of_kind(kind)) - before
    return max(made, default=0)


@given(histories(), st.integers(0, 9))
def test_undo_restores_and_redo_brings_back(simulator: SessionSimulator, which: int) -> None:
    """Of each kind, one on top of the other: undoing gives the former window's bytes, redoing the later."""
    for kind in (SweepMade, FoldMade, ObservationsPlaced, FormChosen, HandoverMade):
        check_undo(simulator, kind, which)


def check_undo(simulator: SessionSimulator, kind: type[Undoable], which: int) -> None:
    """Undo all that one action made, and redo it."""
    before, known = simulator.window(), set(simulator.transcript.rewrites.by_seq)
    if not rewrite(simulator, kind, which):
        return
    after = simulator.window()
    made = [seq for seq in sorted(simulator.transcript.rewrites.by_seq) if seq not in known]
    undone = [seq for seq in reversed(made) if simulator.transcript.can_undo(seq)]
    for seq in undone:
        simulator.record(Undone(seq))
    assert raw(simulator.window().request) == raw(before.request)
    assert simulator.window().estimate == before.estimate
    assert unreachable_content(simulator) == []
    for seq in reversed(undone):
        simulator.record(Redone(seq))
    assert simulator.window() == after


@given(histories(), st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_undo_at_any_depth(simulator: SessionSimulator, order: list[int]) -> None:
    """Undoing any number of rewrites in any order and redoing them in the reverse one changes nothing."""
    before = simulator.window()
    undone = [seq for which in order if (seq := simulator.undo(which))]
    assert unreachable_content(simulator) == []
    for seq in reversed(undone):
        simulator.record(Redone(seq))
    assert simulator.window() == before


@given(histories(), st.permutations(range(8)))
def test_the_order_of_undoing_does_not_matter(simulator: SessionSimulator, order: list[int]) -> None:
    """What stands in the window depends on what holds, not on how it came to that."""
    held = [seq for seq in simulator.transcript.rewrites.by_seq if simulator.transcript.can_undo(seq)][:8]
    other = simulator.transcript.fork()
    for seq in held:
        simulator.record(Undone(seq))
    for place in order:
        if place < len(held):
            other.apply(RecordedEvent(other.last_seq + 1, 0, Undone(held[place])))
    assert project(other, simulator.policy, simulator.frame) == simulator.window()


def renumbered(events: list[RecordedEvent]) -> list[RecordedEvent]:
    """The events without gaps in their numbers; a retry names the same events as before."""
    seqs = [event.seq for event in events]
    result = []
    for seq, recorded in enumerate(events, 1):
        event = recorded.event
        if isinstance(event, TurnRetried):
            of, after = (bisect.bisect_right(seqs, old) for old in (event.of, event.after))
            event = msgspec.structs.replace(event, of=of, after=after)
        result.append(msgspec.structs.replace(recorded, seq=seq, event=event))
    return result


@given(histories())
def test_undoing_everything_gives_the_plain_history(simulator: SessionSimulator) -> None:
    """Without its rewrites the window is what the same history without rewrites would show."""
    for seq in sorted(simulator.transcript.rewrites.pinned):
        simulator.record(Unpinned(seq))
    while simulator.undo(0):
        pass
    plain = [one for one in simulator.log if not isinstance(one.event, NOT_PLAIN)]
    bare = Transcript(renumbered(plain))
    assert raw(project(bare, simulator.policy, simulator.frame).request) == raw(simulator.window().request)
    assert simulator.transcript.covers == ()
    assert not simulator.transcript.masked


@given(histories())
def test_what_a_rewrite_carried_falls_with_it(simulator: SessionSimulator) -> None:
    """A sweep that rode on a handover, a fold or observations cannot be undone alone; it goes with them."""
    for seq, one in simulator.transcript.rewrites.sweeps.items():
        if one.reason in {"handover", "fold", "observations"}:
            carrier = simulator.transcript.rewrites.by_seq[seq - 1]
            assert isinstance(carrier, HandoverMade | FoldMade | ObservationsPlaced)
            if seq - 1 in simulator.transcript.rewrites.undone:
                assert not simulator.transcript.can_undo(seq)


@given(histories())
def test_a_fork_leaves_the_original_alone(simulator: SessionSimulator) -> None:
    """Trying rewrites on a fork changes neither the window nor what may be undone."""
    before, masked = simulator.window(), set(simulator.transcript.masked)
    twin = simulator.transcript.fork()
    twin.apply(RecordedEvent(twin.last_seq + 1, 0, SweepMade((2, 3), 10, SweepReason.MANUAL)))
    twin.apply(RecordedEvent(twin.last_seq + 1, 0, Pinned(2)))
    for seq in list(twin.rewrites.by_seq):
        twin.apply(RecordedEvent(twin.last_seq + 1, 0, Undone(seq)))
    assert simulator.window() == before
    assert simulator.transcript.masked == masked
    assert len(simulator.log) == simulator.transcript.last_seq


@given(histories())
def test_a_fold_that_the_person_undid_is_not_made_again(simulator: SessionSimulator) -> None:
    """Nor is any of its messages put into another one by the program."""
    transcript = Transcript()
    for recorded in simulator.log:
        made = recorded.event
        if isinstance(made, FoldMade) and made.how == "fold":
            back = [transcript.rewrites.by_seq[seq] for seq in transcript.rewrites.undone]
            taken = [one for one in back if isinstance(one, FoldMade) and one.how == "fold"]
            assert not any(one.after < made.upto and made.after < one.upto for one in taken)
        transcript.apply(recorded)


@pytest.mark.parametrize("how", ["fold", "condense"])
def test_a_note_that_the_person_undid_stays_away(how: str) -> None:
    """However often the window is looked after: neither the note nor the shorter one comes back by itself."""
    policy = msgspec.structs.replace(session_rewrites.eager_policy(PROFILES["balanced"]), ledger_tokens=0)
    simulator = build_history(12, size=2_000, policy=policy)
    for _ in range(3):
        session_rewrites.fold_all(simulator)
        simulator.step("On.", 1)
    made = [seq for seq, one in simulator.transcript.rewrites.active_folds.items() if one.how == how]
    assert made
    for seq in made:
        simulator.record(Undone(seq))
    back = [
        (one.after, one.upto)
        for seq in made
        if isinstance(one := simulator.transcript.rewrites.by_seq[seq], FoldMade)
    ]
    known = set(simulator.transcript.rewrites.folds)
    for number in range(6):
        simulator.step("On.", 1)
        simulator.answer_call(0, f"{number} a line of output\n" * 80)
        session_rewrites.fold_all(simulator)
    later = [
        one for seq, one in simulator.transcript.rewrites.folds.items() if seq not in known and one.how == how
    ]
    assert not [one for one in later for after, upto in back if one.after < upto and after < one.upto]


@given(histories(SWEEP_AND_HANDOVER_ACTIONS))
def test_what_cannot_be_undone_says_so(simulator: SessionSimulator) -> None:
    """Only rewrites, only while they hold; redo only what was undone."""
    known = simulator.transcript
    for one in simulator.log:
        if one.seq not in known.rewrites.by_seq:
            assert not known.can_undo(one.seq)
            assert not known.can_redo(one.seq)
        else:
            assert not (known.can_undo(one.seq) and known.can_redo(one.seq))


def test_folding_waits_for_a_policy_that_folds() -> None:
    """Without folds nothing is ever due, however old."""
    simulator = build_history(40, size=2_000, policy=PROFILES["classic"])
    assert fold.due_folds(simulator.transcript, simulator.policy, is_cold=True) == []
