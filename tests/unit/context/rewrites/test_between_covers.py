"""What comes back between two covers: it is looked after without crossing either of them."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.log.window_layout import LogItem, SummaryBlock
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites import fold, truncation
from helix_desktop.context.summaries import cut_points as cuts
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.rewrite import FoldMade, Undone
from helix_desktop.domain.events.session import RecordedEvent, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from tests.support import session_rewrites
from tests.support.histories import SessionSimulator, disable_folding
from tests.support.reachability import unreachable_content

POLICY = msgspec.structs.replace(disable_folding(PROFILES["balanced"]), ledger_tokens=0)


def turn(simulator: SessionSimulator, steps: int = 5, size: int = 900) -> None:
    """A whole turn of the person and the agent."""
    simulator.send_message(f"Wish {simulator.transcript.turns}.")
    for step in range(steps):
        simulator.step(f"Thought {simulator.transcript.turns}.{step}.", 1)
        simulator.answer_call(0, f"{simulator.call_count} a line of output\n" * (size // 20))
    simulator.step("Done.", 0)


def observed_thrice() -> SessionSimulator:
    """Three sets of observations in place side by side, then the middle one undone."""
    simulator = SessionSimulator(POLICY)
    for _ in range(3):
        turn(simulator)
        turn(simulator)
        assert session_rewrites.prepare_observations(simulator)
        session_rewrites.place_observations(simulator)
    turn(simulator)
    first, middle, last = sorted(simulator.transcript.rewrites.placed_observations)
    simulator.record(Undone(middle))
    assert [one.seq for one in simulator.transcript.covers] == [first, last]
    return simulator


def outermost(simulator: SessionSimulator) -> set[int]:
    """The folds that no shorter note took in."""
    folds = simulator.transcript.rewrites.folds
    return {
        seq
        for seq, one in folds.items()
        if not any(
            later > seq and of.after <= one.after and one.upto <= of.upto for later, of in folds.items()
        )
    }


def test_a_fold_stays_between_observations() -> None:
    """The steps that came back between two are folded by themselves, and what lies behind both as well."""
    simulator = observed_thrice()
    assert session_rewrites.fold_all(simulator) >= 2
    covers = simulator.transcript.covers
    assert outermost(simulator) <= {one.seq for one in covers}
    assert [type(one.event) for one in covers][:3] == [ObservationsMade, FoldMade, ObservationsMade]
    assert unreachable_content(simulator) == []
    assert session_rewrites.fold_all(simulator) == 0  # what was done is done


def test_a_shorter_note_stays_between_observations() -> None:
    """Notes on both sides of observations are not joined over them."""
    simulator = observed_thrice()
    session_rewrites.fold_all(simulator)
    for _ in range(3):
        turn(simulator)
        session_rewrites.fold_all(simulator)
    folds = simulator.transcript.rewrites.folds
    assert "condense" in {one.how for one in folds.values()}
    last = max(one.upto for one in simulator.transcript.rewrites.placed_observations.values())
    assert not [one for one in folds.values() if one.after < last < one.upto]
    assert outermost(simulator) <= {one.seq for one in simulator.transcript.covers}
    assert unreachable_content(simulator) == []


def test_truncation_leaves_observations_where_they_are() -> None:
    """What panic leaves out lies between them; each note stands, and frees what it says."""
    simulator = observed_thrice()
    before = simulator.window().estimate
    session_rewrites.truncate(simulator)
    made = simulator.transcript.rewrites.folds
    assert made
    assert set(made) <= {one.seq for one in simulator.transcript.covers}
    assert before - simulator.window().estimate == sum(one.saved for one in made.values())
    assert sum(isinstance(one.event, ObservationsMade) for one in simulator.transcript.covers) == 2
    assert unreachable_content(simulator) == []


def handed_over_inside_a_turn() -> SessionSimulator:
    """A handover that kept the running turn's message, and turns that followed."""
    simulator = SessionSimulator(POLICY)
    turn(simulator)
    turn(simulator)
    simulator.send_message("A long task. " * 40)
    for step in range(8):
        simulator.step(f"Working {step}.", 1)
        simulator.answer_call(0, f"{step} a line of output\n" * 60)
    made = simulator.hand_over(600)
    assert made is not None
    assert made.kept
    simulator.step("Done.", 0)
    turn(simulator)
    turn(simulator)
    return simulator


@pytest.mark.parametrize("by", ["fold", "truncate", "observe"])
def test_a_message_that_a_handover_kept_back_is_no_beginning(by: str) -> None:
    """It lies before what the handover covers: no note or observations begin with it; what is made holds."""
    simulator = handed_over_inside_a_turn()
    kept = next(iter(simulator.transcript.rewrites.handovers.values())).kept
    {
        "fold": session_rewrites.fold_all,
        "truncate": session_rewrites.truncate,
        "observe": session_rewrites.prepare_observations,
    }[by](simulator)
    session_rewrites.place_observations(simulator)
    covers = simulator.transcript.covers
    assert len(covers) >= 2
    assert outermost(simulator) | set(simulator.transcript.rewrites.placed_observations) <= {
        one.seq for one in covers
    }
    assert kept in {one.seq for one in simulator.transcript.window_entries() if isinstance(one, LogItem)}
    assert unreachable_content(simulator) == []


def test_what_a_handover_kept_back_is_reachable_after_the_next() -> None:
    """The words that stood beside one handover go into the index of the one that covers them."""
    simulator = handed_over_inside_a_turn()
    kept = next(iter(simulator.transcript.rewrites.handovers.values())).kept
    again = simulator.hand_over(0)
    assert again is not None
    assert kept not in {one.seq for one in simulator.transcript.window_entries() if isinstance(one, LogItem)}
    assert unreachable_content(simulator) == []


def test_a_handover_ends_before_or_behind_what_came_back() -> None:
    """A cut among the steps that came back would leave observations behind it that stand before them."""
    simulator = observed_thrice()
    covers = simulator.transcript.covers
    for cut in cuts.available_cuts(simulator.transcript, 0):
        before = simulator.window().estimate
        twin = simulator.transcript.fork()
        twin.apply(RecordedEvent(twin.last_seq + 1, 0, simulator.handover_at(cut)))
        assert not [one for one in covers if one.after < cut.upto < one.upto]
        after = project(twin, simulator.policy, simulator.frame)
        assert isinstance(after.entries[0], SummaryBlock)
        assert before - (after.estimate - after.entry_tokens[0]) == cut.tokens
    assert cuts.available_cuts(simulator.transcript, 0)


def test_a_handover_over_folds_and_observations_leads_to_everything() -> None:
    """Its index names theirs; undone one by one, newest first, each layer comes back as it was."""
    simulator = observed_thrice()
    layers = [simulator.window().request]
    session_rewrites.fold_all(simulator)
    layers.append(simulator.window().request)
    assert simulator.hand_over(0) is not None
    assert unreachable_content(simulator) == []
    assert isinstance(simulator.transcript.covers[0].event, HandoverMade)
    simulator.record(Undone(max(simulator.transcript.rewrites.handovers)))
    assert simulator.window().request == layers[1]
    for seq in sorted(simulator.transcript.rewrites.active_folds, reverse=True):
        simulator.record(Undone(seq))
    assert simulator.window().request == layers[0]


def test_a_marker_that_is_pinned_is_whole_again() -> None:
    """And a marker again when the pin is taken off, for the sweep still holds."""
    simulator = SessionSimulator(POLICY)
    turn(simulator)
    turn(simulator)
    session_rewrites.sweep_all(simulator, 2)
    (swept, *_) = sorted(simulator.transcript.masked)
    places = [one.seq for one in session_rewrites.cached_outputs(simulator)]
    before = simulator.window()
    session_rewrites.pin(simulator, places.index(swept))
    assert swept not in simulator.transcript.masked
    assert simulator.window().estimate > before.estimate
    session_rewrites.unpin(simulator, 0)
    assert simulator.window().request == before.request


def test_the_newest_words_split_what_panic_leaves_out() -> None:
    """First and newest message of the person stay, whatever else has to go."""
    simulator = SessionSimulator(POLICY)
    for _ in range(3):
        turn(simulator)
    simulator.send_message("The newest wish.")
    simulator.step("Looking.", 1)
    simulator.answer_call(0, "output\n" * 40)
    assert all(one.how == "truncate" for one in truncation.plan_truncations(simulator.transcript))
    session_rewrites.truncate(simulator)
    texts = [one.event.text for one in simulator.transcript.window_entries() if isinstance(one, LogItem)]
    assert texts[0] == "Wish 0."
    assert "The newest wish." in texts
    assert texts[-2:] == ["Looking.", "output\n" * 40]
    assert unreachable_content(simulator) == []
    assert fold.due_folds(simulator.transcript, session_rewrites.eager_policy(POLICY), is_cold=True) == []
    assert isinstance(simulator.transcript.user_items[-1].event, UserSpoke)
