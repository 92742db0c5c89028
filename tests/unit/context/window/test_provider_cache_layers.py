"""The ends of layers: what lies before them is in the request of before too, whatever happened between."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.context.rewrites import planner
from helix_desktop.context.window.provider_cache import hash_layers, layer_ends
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.rewrite import SweepReason
from helix_desktop.domain.messages import Message
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
        ends, changed_from = layer_ends(sent.window, transcript, simulator.policy), transcript.changed_from
        same = 1 if changed_from else int(sent.request.messages[0] == previous.request.messages[0])
        for entry in sent.window.entries:
            if _upto(entry) >= changed_from:
                break
            same += 1
        messages, before = sent.request.messages, previous.request.messages
        assert messages[:same] == before[:same]
        assert (
            same <= 1
            or any(  # what only begins alike ends with the system prompt, which has its own
                0 <= block_count(messages[same:end]) <= 20 and same <= end for end in (*ends, len(messages))
            )
        )
        assert len(ends) <= 2
        if transcript.window.last_rewrite_seq <= previous.seq:
            assert same == len(before)


def block_count(messages: Sequence[Message]) -> int:
    """Return how many blocks messages have in Anthropic's form."""
    return sum(max(1, bool(m.text) + len(m.calls) + len(m.images)) for m in messages)


def _upto(entry: WindowEntry) -> int:
    return entry.item.upto if isinstance(entry, PinnedCopy) else entry.upto


def test_the_layers_end_with_the_notes_and_where_the_next_sweep_begins() -> None:
    """After the system prompt: the user's message, and all before the first output that a sweep may take."""
    simulator = SessionSimulator(SWEEPS_ONLY)
    play_turn(simulator, "Read.", 3, lines=40)
    simulator.send_message("Go on.")
    window = simulator.window()
    assert layer_ends(window, simulator.transcript, simulator.policy) == (2, 3)
    simulator.record_sweep(planner.sweep_now(simulator.transcript, simulator.policy), SweepReason.MANUAL)
    last = max(simulator.transcript.window.masked)
    place = next(n for n, entry in enumerate(window.entries, 2) if _upto(entry) == last)
    assert layer_ends(simulator.window(), simulator.transcript, simulator.policy) == (2, place + 1)


def test_what_the_request_before_had_is_found_from_far_away() -> None:
    """After a step of many calls no other breakpoint is near enough to it."""
    simulator = SessionSimulator(SWEEPS_ONLY)
    play_turn(simulator, "Read.", 1)
    simulator.send_message("Go on.")
    before = len(simulator.window().request.messages)
    simulator.step("All at once.", 12)
    simulator.answer_all_calls("an output of one line")
    assert before in layer_ends(simulator.window(), simulator.transcript, simulator.policy)


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
