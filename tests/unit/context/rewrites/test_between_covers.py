"""History that comes back between two covers is maintained without crossing either of them."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.log.window_layout import LogItem, SummaryBlock
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.handover import available_cuts
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, Undone
from helix_desktop.domain.events.summary import ObservationsMade
from tests.support import session_rewrites
from tests.support.histories import SessionSimulator, disable_folding
from tests.support.reachability import unreachable_content

POLICY = msgspec.structs.replace(disable_folding(PROFILES["balanced"]), ledger_tokens=0)


def turn(simulator: SessionSimulator, steps: int = 5, size: int = 900) -> None:
    """Run a complete turn of the user and the agent."""
    simulator.send_message(f"Wish {simulator.transcript.messages.turns}.")
    for step in range(steps):
        simulator.step(f"Thought {simulator.transcript.messages.turns}.{step}.", 1)
        simulator.answer_call(0, f"{simulator.call_count} a line of output\n" * (size // 20))
    simulator.step("Done.", 0)


def observed_thrice() -> SessionSimulator:
    """Place three adjacent sets of observations, then undo the middle one."""
    simulator = SessionSimulator(POLICY)
    for _ in range(3):
        turn(simulator)
        turn(simulator)
        assert session_rewrites.prepare_observations(simulator)
        session_rewrites.place_observations(simulator)
    turn(simulator)
    first, middle, last = sorted(simulator.transcript.rewrites.placed_observations)
    simulator.record(Undone(middle))
    assert [cover.seq for cover in simulator.transcript.window.covers] == [first, last]
    return simulator


def outermost(simulator: SessionSimulator) -> set[int]:
    """Return the folds that no condensed note replaced."""
    folds = simulator.transcript.rewrites.folds
    return {
        seq
        for seq, fold in folds.items()
        if not any(
            later > seq and outer.after <= fold.after and fold.upto <= outer.upto
            for later, outer in folds.items()
        )
    }


def test_what_an_undo_brought_back_between_observations_is_not_folded() -> None:
    """A user undid what had been compacted; the next message of 39 tokens took it away again, as a note."""
    simulator = observed_thrice()
    made = sorted(simulator.transcript.rewrites.observations.values(), key=lambda each: each.upto)
    middle = made[1]
    came_back = {item.seq for item in simulator.transcript.messages.between(middle.after, middle.upto)}
    assert session_rewrites.fold_all(simulator) >= 1, "those after both are"
    covers = simulator.transcript.window.covers
    assert outermost(simulator) <= {cover.seq for cover in covers}
    assert [type(cover.event) for cover in covers][:3] == [ObservationsMade, ObservationsMade, FoldMade]
    assert came_back <= {entry.seq for entry in simulator.transcript.window.entries()}
    assert not came_back & simulator.transcript.window.masked
    assert unreachable_content(simulator) == []
    assert session_rewrites.fold_all(simulator) == 0  # an existing note stays


@pytest.mark.parametrize("undoes", [True, False])
def test_prepared_facts_do_not_replace_what_an_undo_brought_back(undoes: bool) -> None:
    """They were being written when the user undid the caching of outputs that they are about."""
    simulator = SessionSimulator(POLICY)
    for _ in range(3):
        turn(simulator, size=600)
    session_rewrites.sweep_all(simulator, 2)
    (sweep_seq,) = simulator.transcript.rewrites.sweeps
    assert session_rewrites.prepare_observations(simulator)
    if undoes:
        simulator.record(Undone(sweep_seq))
    assert not simulator.window_rewriter.gauge().is_due
    session_rewrites.fold_all(simulator)
    assert bool(simulator.transcript.rewrites.placed_observations) is not undoes


def test_a_condensed_note_stays_between_observations() -> None:
    """Notes on both sides of observations are not joined across them."""
    simulator = observed_thrice()
    session_rewrites.fold_all(simulator)
    for _ in range(3):
        turn(simulator)
        session_rewrites.fold_all(simulator)
    folds = simulator.transcript.rewrites.folds
    assert "condense" in {fold.how for fold in folds.values()}
    last = max(observation.upto for observation in simulator.transcript.rewrites.placed_observations.values())
    assert not [fold for fold in folds.values() if fold.after < last < fold.upto]
    assert outermost(simulator) <= {cover.seq for cover in simulator.transcript.window.covers}
    assert unreachable_content(simulator) == []


def test_truncation_leaves_observations_in_place() -> None:
    """Truncation leaves out what is between them; each note stays, and frees what it says."""
    simulator = observed_thrice()
    before = simulator.window().estimate
    session_rewrites.truncate(simulator)
    folds = simulator.transcript.rewrites.folds
    assert folds
    assert set(folds) <= {cover.seq for cover in simulator.transcript.window.covers}
    assert before - simulator.window().estimate == sum(fold.saved for fold in folds.values())
    assert sum(isinstance(cover.event, ObservationsMade) for cover in simulator.transcript.window.covers) == 2
    assert unreachable_content(simulator) == []


def handed_over_inside_a_turn() -> SessionSimulator:
    """Make a handover that kept the running turn's message, and add turns after it."""
    simulator = SessionSimulator(POLICY)
    turn(simulator)
    turn(simulator)
    simulator.send_message("A long task. " * 40)
    for step in range(8):
        simulator.step(f"Working {step}.", 1)
        simulator.answer_call(0, f"{step} a line of output\n" * 60)
    handover_seq = simulator.hand_over(600)
    assert handover_seq is not None
    assert handover_seq.kept
    simulator.step("Done.", 0)
    turn(simulator)
    turn(simulator)
    return simulator


@pytest.mark.parametrize("rewrite", ["fold", "truncate", "observe"])
def test_a_message_kept_back_by_a_handover_starts_no_rewrite(rewrite: str) -> None:
    """It is before what the handover covers: no note or observations begin with it; others stay active."""
    simulator = handed_over_inside_a_turn()
    kept_seq = next(iter(simulator.transcript.rewrites.handovers.values())).kept
    {
        "fold": session_rewrites.fold_all,
        "truncate": session_rewrites.truncate,
        "observe": session_rewrites.prepare_observations,
    }[rewrite](simulator)
    session_rewrites.place_observations(simulator)
    covers = simulator.transcript.window.covers
    assert len(covers) >= 2
    assert outermost(simulator) | set(simulator.transcript.rewrites.placed_observations) <= {
        cover.seq for cover in covers
    }
    assert kept_seq in {
        entry.seq for entry in simulator.transcript.window.entries() if isinstance(entry, LogItem)
    }
    assert unreachable_content(simulator) == []


def test_a_handover_ends_before_or_after_restored_history() -> None:
    """A cut among the restored steps would leave observations after it that come before them."""
    simulator = observed_thrice()
    covers = simulator.transcript.window.covers
    for cut in available_cuts(simulator.transcript, 0):
        before = simulator.window().estimate
        twin = simulator.transcript.fork()
        twin.apply(RecordedEvent(twin.last_seq + 1, 0, simulator.handover_at(cut)))
        assert not [cover for cover in covers if cover.after < cut.upto < cover.upto]
        after = project(twin, simulator.policy, simulator.frame)
        assert isinstance(after.entries[0], SummaryBlock)
        assert before - (after.estimate - after.entry_tokens[0]) == cut.tokens
    assert available_cuts(simulator.transcript, 0)


def test_a_pinned_marker_is_shown_in_full() -> None:
    """And is a marker again when unpinned, because the sweep is still active."""
    simulator = SessionSimulator(POLICY)
    turn(simulator)
    turn(simulator)
    session_rewrites.sweep_all(simulator, 2)
    (masked_seq, *_) = sorted(simulator.transcript.window.masked)
    seqs = [output.seq for output in session_rewrites.cached_outputs(simulator)]
    before = simulator.window()
    session_rewrites.pin(simulator, seqs.index(masked_seq))
    assert masked_seq not in simulator.transcript.window.masked
    assert simulator.window().estimate > before.estimate
    session_rewrites.unpin(simulator, 0)
    assert simulator.window().request == before.request
