"""The steps of a session, and where it can be branched."""

from __future__ import annotations

from copy import copy

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helix_desktop.context.log.steps import point_after, point_before_message, point_of_retry, read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.request_validation import problems
from helix_desktop.context.window.window import project
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.messages import ModelRequest
from tests.support.histories import DEFAULT_ACTIONS, SessionSimulator, histories
from tests.support.message_linter import lint
from tests.support.reachability import unreachable_content


@given(histories())
def test_a_message_and_its_step_on_the_chart_have_one_number(simulator: SessionSimulator) -> None:
    """Whatever was retried, steered or compacted in between."""
    steps = {step.seq: (step.turn, step.number) for step in read_steps(simulator.log)}
    transcript = simulator.transcript
    for item in transcript.messages.items:
        if isinstance(item.event, AssistantSpoke):
            assert (item.turn, transcript.messages.step_in_turn(item)) == steps[item.seq]


TREES = histories((*DEFAULT_ACTIONS, "branch", "branch"))


def raw(request: ModelRequest) -> list[bytes]:
    return [msgspec.json.encode(message) for message in request.messages]


def window_after(simulator: SessionSimulator, seq: int) -> list[bytes]:
    """Return the request that the session would have sent behind an event."""
    transcript = Transcript(simulator.log[:seq])
    return raw(project(transcript, simulator.policy, simulator.frame).request)


@given(TREES, st.integers(1, 10**6))
def test_a_branch_has_the_window_of_its_point_and_loses_nothing(parent: SessionSimulator, at: int) -> None:
    seq = 1 + at % len(parent.log)
    branch, before = copy(parent), list(parent.log)
    end = branch.branch(seq)
    assume(end)
    assert end >= seq or isinstance(parent.log[seq - 1].event, SessionBranched)
    assert not branch.transcript.open_calls
    assert not branch.transcript.turn_open
    assert raw(branch.window().request) == window_after(parent, end)
    assert unreachable_content(branch) == []
    assert point_after(parent.log, end) == end, "a point is its own"
    undone = branch.undo(at)
    assert parent.log == before
    assert not undone or undone <= end
    assert unreachable_content(branch) == []
    branch.send_message("On.")
    branch.step("So it is.", 0)
    for sent in branch.sent_requests:
        assert lint(sent.request.messages) == problems(sent.request.messages) == []


@given(TREES, st.integers(1, 10**6))
def test_a_retry_asks_what_the_turn_asked_first(parent: SessionSimulator, at: int) -> None:
    """The parent's request, byte for byte, with its message once."""
    users = [
        entry.seq for entry in parent.log if isinstance(entry.event, UserSpoke) and not entry.event.steered
    ]
    assume(users)
    message = users[at % len(users)]
    end, branch = point_of_retry(parent.log, message), copy(parent)
    assert end >= message
    branch.go_on_behind(end)
    branch.retry()
    assert branch.transcript.turn_open
    assert branch.transcript.messages.items[-1].seq == message
    first = next((sent for sent in parent.sent_requests if sent.seq >= message), None)
    if first is not None and first.seq == end:
        assert raw(branch.window().request) == raw(first.request)


@given(TREES, st.integers(1, 10**6))
def test_an_edit_begins_where_the_message_was_not_sent_yet(parent: SessionSimulator, at: int) -> None:
    users = [entry.seq for entry in parent.log if isinstance(entry.event, UserSpoke)]
    assume(users)  # a branch of the very beginning has none
    message = users[at % len(users)]
    end, branch = point_before_message(parent.log, message), copy(parent)
    assert 0 < end < message
    branch.go_on_behind(end)
    assert not branch.transcript.open_calls
    assert raw(branch.window().request) == window_after(parent, end)
    branch.send_message("In other words.")
    branch.step("So it is.", 0)
    assert branch.sent_requests[-1].request.messages


def test_only_a_step_that_runs_has_no_point() -> None:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    simulator.step("I read.", 2)
    seq = simulator.transcript.last_seq
    for at in (seq, 0):
        with pytest.raises(InvalidInput, match="still running"):
            point_after(simulator.log, at)
    assert point_after(simulator.log, seq - 1) == seq - 1
    simulator.answer_all_calls("done")
    assert point_after(simulator.log, seq) == seq + 2
