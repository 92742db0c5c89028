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
from tests.support import rewriting
from tests.support.histories import Maker, unfolded
from tests.support.reach import lost

POLICY = msgspec.structs.replace(unfolded(PROFILES["balanced"]), ledger_tokens=0)


def turn(maker: Maker, steps: int = 5, size: int = 900) -> None:
    """A whole turn of the person and the agent."""
    maker.user(f"Wish {maker.transcript.turns}.")
    for step in range(steps):
        maker.step(f"Thought {maker.transcript.turns}.{step}.", 1)
        maker.answer(0, f"{maker.calls_made} a line of output\n" * (size // 20))
    maker.step("Done.", 0)


def observed_thrice() -> Maker:
    """Three sets of observations in place side by side, then the middle one undone."""
    maker = Maker(POLICY)
    for _ in range(3):
        turn(maker)
        turn(maker)
        assert rewriting.observe(maker)
        rewriting.place(maker)
    turn(maker)
    first, middle, last = sorted(maker.transcript.rewrites.placed_observations)
    maker.record(Undone(middle))
    assert [one.seq for one in maker.transcript.covers] == [first, last]
    return maker


def outermost(maker: Maker) -> set[int]:
    """The folds that no shorter note took in."""
    folds = maker.transcript.rewrites.folds
    return {
        seq
        for seq, one in folds.items()
        if not any(
            later > seq and of.after <= one.after and one.upto <= of.upto for later, of in folds.items()
        )
    }


def test_a_fold_stays_between_observations() -> None:
    """The steps that came back between two are folded by themselves, and what lies behind both as well."""
    maker = observed_thrice()
    assert rewriting.fold(maker) >= 2
    covers = maker.transcript.covers
    assert outermost(maker) <= {one.seq for one in covers}
    assert [type(one.event) for one in covers][:3] == [ObservationsMade, FoldMade, ObservationsMade]
    assert lost(maker) == []
    assert rewriting.fold(maker) == 0  # what was done is done


def test_a_shorter_note_stays_between_observations() -> None:
    """Notes on both sides of observations are not joined over them."""
    maker = observed_thrice()
    rewriting.fold(maker)
    for _ in range(3):
        turn(maker)
        rewriting.fold(maker)
    folds = maker.transcript.rewrites.folds
    assert "condense" in {one.how for one in folds.values()}
    last = max(one.upto for one in maker.transcript.rewrites.placed_observations.values())
    assert not [one for one in folds.values() if one.after < last < one.upto]
    assert outermost(maker) <= {one.seq for one in maker.transcript.covers}
    assert lost(maker) == []


def test_truncation_leaves_observations_where_they_are() -> None:
    """What panic leaves out lies between them; each note stands, and frees what it says."""
    maker = observed_thrice()
    before = maker.window().estimate
    rewriting.truncate(maker)
    made = maker.transcript.rewrites.folds
    assert made
    assert set(made) <= {one.seq for one in maker.transcript.covers}
    assert before - maker.window().estimate == sum(one.saved for one in made.values())
    assert sum(isinstance(one.event, ObservationsMade) for one in maker.transcript.covers) == 2
    assert lost(maker) == []


def handed_over_inside_a_turn() -> Maker:
    """A handover that kept the running turn's message, and turns that followed."""
    maker = Maker(POLICY)
    turn(maker)
    turn(maker)
    maker.user("A long task. " * 40)
    for step in range(8):
        maker.step(f"Working {step}.", 1)
        maker.answer(0, f"{step} a line of output\n" * 60)
    made = maker.hand_over(600)
    assert made is not None
    assert made.kept
    maker.step("Done.", 0)
    turn(maker)
    turn(maker)
    return maker


@pytest.mark.parametrize("by", ["fold", "truncate", "observe"])
def test_a_message_that_a_handover_kept_back_is_no_beginning(by: str) -> None:
    """It lies before what the handover covers: no note or observations begin with it; what is made holds."""
    maker = handed_over_inside_a_turn()
    kept = next(iter(maker.transcript.rewrites.handovers.values())).kept
    {"fold": rewriting.fold, "truncate": rewriting.truncate, "observe": rewriting.observe}[by](maker)
    rewriting.place(maker)
    covers = maker.transcript.covers
    assert len(covers) >= 2
    assert outermost(maker) | set(maker.transcript.rewrites.placed_observations) <= {
        one.seq for one in covers
    }
    assert kept in {one.seq for one in maker.transcript.window_entries() if isinstance(one, LogItem)}
    assert lost(maker) == []


def test_what_a_handover_kept_back_is_reachable_after_the_next() -> None:
    """The words that stood beside one handover go into the index of the one that covers them."""
    maker = handed_over_inside_a_turn()
    kept = next(iter(maker.transcript.rewrites.handovers.values())).kept
    again = maker.hand_over(0)
    assert again is not None
    assert kept not in {one.seq for one in maker.transcript.window_entries() if isinstance(one, LogItem)}
    assert lost(maker) == []


def test_a_handover_ends_before_or_behind_what_came_back() -> None:
    """A cut among the steps that came back would leave observations behind it that stand before them."""
    maker = observed_thrice()
    covers = maker.transcript.covers
    for cut in cuts.available_cuts(maker.transcript, 0):
        before = maker.window().estimate
        twin = maker.transcript.fork()
        twin.apply(RecordedEvent(twin.last_seq + 1, 0, maker.handover_at(cut)))
        assert not [one for one in covers if one.after < cut.upto < one.upto]
        after = project(twin, maker.policy, maker.frame)
        assert isinstance(after.entries[0], SummaryBlock)
        assert before - (after.estimate - after.entry_tokens[0]) == cut.tokens
    assert cuts.available_cuts(maker.transcript, 0)


def test_a_handover_over_folds_and_observations_leads_to_everything() -> None:
    """Its index names theirs; undone one by one, newest first, each layer comes back as it was."""
    maker = observed_thrice()
    layers = [maker.window().request]
    rewriting.fold(maker)
    layers.append(maker.window().request)
    assert maker.hand_over(0) is not None
    assert lost(maker) == []
    assert isinstance(maker.transcript.covers[0].event, HandoverMade)
    maker.record(Undone(max(maker.transcript.rewrites.handovers)))
    assert maker.window().request == layers[1]
    for seq in sorted(maker.transcript.rewrites.active_folds, reverse=True):
        maker.record(Undone(seq))
    assert maker.window().request == layers[0]


def test_a_marker_that_is_pinned_is_whole_again() -> None:
    """And a marker again when the pin is taken off, for the sweep still holds."""
    maker = Maker(POLICY)
    turn(maker)
    turn(maker)
    rewriting.sweep_all(maker, 2)
    (swept, *_) = sorted(maker.transcript.masked)
    places = [one.seq for one in rewriting.outputs(maker)]
    before = maker.window()
    rewriting.pin(maker, places.index(swept))
    assert swept not in maker.transcript.masked
    assert maker.window().estimate > before.estimate
    rewriting.unpin(maker, 0)
    assert maker.window().request == before.request


def test_the_newest_words_split_what_panic_leaves_out() -> None:
    """First and newest message of the person stay, whatever else has to go."""
    maker = Maker(POLICY)
    for _ in range(3):
        turn(maker)
    maker.user("The newest wish.")
    maker.step("Looking.", 1)
    maker.answer(0, "output\n" * 40)
    assert all(one.how == "truncate" for one in truncation.plan_truncations(maker.transcript))
    rewriting.truncate(maker)
    texts = [one.event.text for one in maker.transcript.window_entries() if isinstance(one, LogItem)]
    assert texts[0] == "Wish 0."
    assert "The newest wish." in texts
    assert texts[-2:] == ["Looking.", "output\n" * 40]
    assert lost(maker) == []
    assert fold.due_folds(maker.transcript, rewriting.eager(POLICY), is_cold=True) == []
    assert isinstance(maker.transcript.user_items[-1].event, UserSpoke)
