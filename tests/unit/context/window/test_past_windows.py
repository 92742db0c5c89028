"""The past of a session: every request that was sent can be seen again, as it was sent."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window import past_windows
from helix_desktop.context.window.past_windows import PastWindows
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import Undone
from helix_desktop.domain.messages import Usage
from tests.support.histories import SessionSimulator, build_history, histories
from tests.support.session_simulator import assistant_event


def check_every_request_is_seen_again_as_it_was_sent(simulator: SessionSimulator, rng: Random) -> None:
    """In any order of looking, whatever was folded, handed over, undone, retried or branched since."""
    past = PastWindows(simulator.log)
    answers = {step.seq: simulator.log[step.seq - 1].event for step in read_steps(simulator.log)}
    newest = {request.seq + 1: request for request in simulator.sent_requests}  # a branch has its own again
    sent = [
        request
        for seq, request in newest.items()
        if getattr(answers.get(seq), "estimate", 0) == request.window.estimate
    ]
    rng.shuffle(sent)
    for request in sent:
        past_window = past.window_at(request.seq + 1, simulator.policy, simulator.frame)
        assert past_window.window == request.window
        assert past_window.is_exact
        assert sum(row.tokens for row in past_window.items()) == request.window.estimate


def check_stored_states_change_nothing(simulator: SessionSimulator, data: st.DataObject) -> None:
    """A state that was reached from another one is the one that the log gives from its beginning."""
    past = PastWindows(simulator.log)
    for seq in data.draw(st.lists(st.integers(0, len(simulator.log)), max_size=5)):
        plain = Transcript(simulator.log[:seq])
        state = past.transcript_at(seq)
        assert project(state, simulator.policy, simulator.frame) == project(
            plain, simulator.policy, simulator.frame
        )
        assert (state.messages.turns, state.messages.steps, state.last_seq) == (
            plain.messages.turns,
            plain.messages.steps,
            seq,
        )


@given(histories(), st.randoms(use_true_random=False), st.data())
def test_the_past_of_any_history(simulator: SessionSimulator, rng: Random, data: st.DataObject) -> None:
    """Its requests and its states."""
    check_every_request_is_seen_again_as_it_was_sent(simulator, rng)
    check_stored_states_change_nothing(simulator, data)


def test_a_long_log_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = build_history(steps=40, size=60)
    monkeypatch.setattr(past_windows, "_MIN_DISTANCE", 8)
    past = PastWindows(simulator.log)
    past.prepare()
    applied: list[RecordedEvent] = []
    apply = Transcript.apply

    def count(transcript: Transcript, recorded: RecordedEvent) -> None:
        applied.append(recorded)
        apply(transcript, recorded)

    monkeypatch.setattr(Transcript, "apply", count)
    for seq in (70, 20, 45, 44, 46):
        past.transcript_at(seq)
    assert len(applied) <= 5 * 8  # each begins at a stored state


def test_a_rewrite_that_came_while_the_model_answered_is_in_no_past_request_of_that_step() -> None:
    simulator = build_history(steps=3, size=4_000)
    handover = simulator.hand_over(0)
    assert handover is not None
    undoable = simulator.transcript.last_seq
    before = simulator.window()
    simulator.record(Undone(next(iter(simulator.transcript.rewrites.handovers))))
    answer = msgspec.structs.replace(
        assistant_event(simulator, "Fine.", ()), estimate=before.estimate, usage=Usage(777, 1)
    )
    simulator.record(answer)
    past_window = PastWindows(simulator.log).window_at(
        simulator.transcript.last_seq, simulator.policy, simulator.frame
    )
    assert (past_window.window, past_window.seq, past_window.gauge.used) == (before, undoable, 777)
    assert past_window.gauge.is_reported


def test_a_request_of_another_model_and_policy_says_that_it_is_not_exact() -> None:
    simulator = build_history(steps=2, size=400)
    answer = msgspec.structs.replace(
        assistant_event(simulator, "Fine.", ()), model="other/large", window=64_000, estimate=12
    )
    simulator.record(answer)
    frame = msgspec.structs.replace(simulator.frame, ratio=1.5)  # as known of today's model
    past_window = PastWindows(simulator.log).window_at(simulator.transcript.last_seq, simulator.policy, frame)
    assert past_window.gauge.ratio == 1.0
    assert past_window.is_exact is False
    assert (past_window.gauge.window, past_window.frame.info.label) == (64_000, "other/large")


def test_steps_are_counted_in_their_turn_and_a_repeated_one_has_its_number_again() -> None:
    simulator = build_history(steps=2, size=60)
    simulator.end_turn("failed", "I was about to")
    simulator.retry()
    simulator.step("Now.", 1)
    simulator.answer_all_calls("rest")
    simulator.step("Done.", 0)
    simulator.send_message("And again.")
    simulator.step("Yes.", 0)
    steps = [(step.turn, step.number) for step in read_steps(simulator.log)]
    assert steps == [(1, 1), (1, 2), (1, 3), (1, 3), (1, 4), (2, 1)]
