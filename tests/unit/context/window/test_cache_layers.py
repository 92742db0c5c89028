"""The ends of layers: what lies before them is in the request of before too, whatever happened between."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.context.rewrites import planner
from helix_desktop.context.window.cache_layers import hash_layers, layer_ends
from helix_desktop.domain.events.rewrite_kinds import SweepReason
from helix_desktop.domain.events.session import AssistantSpoke
from tests.support import session_rewrites
from tests.support.histories import SessionSimulator, histories
from tests.support.request_golden import FOLDING, SWEEPS_ONLY, play_turn


@given(histories())
def test_a_layer_that_ends_in_a_request_is_in_the_one_before(simulator: SessionSimulator) -> None:
    for previous, sent in pairwise(simulator.sent_requests):
        between = simulator.log[previous.seq : sent.seq]
        if sum(isinstance(recorded.event, AssistantSpoke) for recorded in between) != 1:
            continue  # an answer that broke off came from a request that is not among these
        transcript = Transcript(simulator.log[: sent.seq])
        ends, changed_from = layer_ends(sent.window, transcript), transcript.changed_from
        same = 1
        for entry in sent.window.entries:
            if _upto(entry) >= changed_from:
                break
            same += 1
        messages, before = sent.request.messages, previous.request.messages
        assert messages[:same] == before[:same]
        assert same in ends or same in (1, len(messages))
        assert len(ends) <= 2
        if transcript.last_rewrite_seq <= previous.seq:
            assert same == len(before)


def _upto(entry: WindowEntry) -> int:
    return entry.item.upto if isinstance(entry, PinnedCopy) else entry.upto


def test_a_sweep_and_a_note_move_the_end_to_where_they_begin() -> None:
    """System prompt, then: notes, and what the request before had."""
    simulator = SessionSimulator(SWEEPS_ONLY)
    play_turn(simulator, "Read.", 3, lines=40)
    simulator.send_message("Go on.")
    window = simulator.window()
    assert layer_ends(window, simulator.transcript) == (2, len(window.request.messages) - 2)
    simulator.record_sweep(planner.sweep_all(simulator.transcript, simulator.policy), SweepReason.MANUAL)
    masked = min(simulator.transcript.masked)
    place = next(n for n, entry in enumerate(window.entries, 1) if _upto(entry) == masked)
    assert layer_ends(simulator.window(), simulator.transcript) == tuple(sorted({2, place}))


def test_hashes_tell_which_layer_changed() -> None:
    simulator = SessionSimulator(FOLDING)
    for prompt in ("Read the tests.", "Mend the parser.", "Run them all."):
        play_turn(simulator, prompt, 3)
    before = hash_layers(simulator.window())
    play_turn(simulator, "Mend.", 3)
    assert hash_layers(simulator.window()) == before
    session_rewrites.fold_all(simulator)
    folded = simulator.window()
    assert any(isinstance(entry, SummaryBlock) for entry in folded.entries)
    after = hash_layers(folded)
    assert (after.system, after.tools) == (before.system, before.tools)
    assert after.notes != before.notes
