"""Checkpoints in a log: they change no request, and which of them the next handover begins with."""

from __future__ import annotations

import msgspec
from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.summaries.handover import newest_checkpoint
from helix_desktop.context.window.used_tokens import measure_usage
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import Undone
from helix_desktop.domain.events.summary import HandoverDiscarded
from helix_desktop.domain.redaction import Redaction, RedactionRequest
from tests.support import session_rewrites
from tests.support.histories import (
    DEFAULT_ACTIONS,
    SESSION_ACTIONS,
    SessionSimulator,
    build_history,
    conversation_with,
    histories,
)

MINUTE_MS = 60_000


def as_read_before(recorded: RecordedEvent) -> RecordedEvent:
    if not isinstance(recorded.event, HandoverDiscarded):
        return recorded
    return msgspec.structs.replace(recorded, event=msgspec.structs.replace(recorded.event, prepared=None))


@given(histories((*DEFAULT_ACTIONS, "hand_over", "checkpoint", "checkpoint", "checkpoint")))
def test_no_byte_of_a_request_changes(simulator: SessionSimulator) -> None:
    """Neither of the next one nor of any after it; nor does the gauge, what is due, or what was spent."""
    session_rewrites.write_checkpoint(simulator)
    with_them = Transcript()
    without = Transcript()
    policy = simulator.policy
    frame = simulator.frame
    for recorded in simulator.log:
        with_them.apply(recorded)
        without.apply(as_read_before(recorded))
        outcomes = []
        for transcript in (with_them, without):
            window = project(transcript, policy, frame)
            gauge = measure_usage(window, transcript, policy, frame)
            now_ms = recorded.at + MINUTE_MS
            outcomes.append(
                (
                    msgspec.json.encode(window.request.messages),
                    gauge,
                    compaction_due.compaction_outlook(transcript, policy, gauge, now_ms),
                    compaction_due.observation_due(transcript, policy, gauge, now_ms),
                    transcript.spending,
                )
            )
        assert outcomes[0] == outcomes[1]


def test_the_newest_one_counts_that_reaches_further_than_the_handover() -> None:
    simulator = conversation_with(4)
    first = session_rewrites.write_checkpoint(simulator)
    assert newest_checkpoint(simulator.transcript) == (
        first,
        simulator.transcript.checkpoints[first].handover,
    )
    simulator.send_message("And then?")
    simulator.step("Then this.", 0)
    handover = simulator.hand_over(0)
    assert handover is not None
    made = max(simulator.transcript.rewrites.handovers)
    assert newest_checkpoint(simulator.transcript) is None, "the handover says more"
    simulator.record(Undone(made))
    assert newest_checkpoint(simulator.transcript) is not None
    second = session_rewrites.write_checkpoint(simulator)
    newest = newest_checkpoint(simulator.transcript)
    assert newest is not None
    assert newest[0] == second


def test_one_before_a_change_of_the_users_does_not_count() -> None:
    """What the user wrote into the active handover stays in what is written next."""
    simulator = conversation_with(4)
    handover = simulator.hand_over(200)
    assert handover is not None
    session_rewrites.write_checkpoint(simulator)
    assert newest_checkpoint(simulator.transcript) is not None
    made = max(simulator.transcript.rewrites.handovers)
    simulator.record(msgspec.structs.replace(handover, edited=True, revises=made))
    assert newest_checkpoint(simulator.transcript) is None


def test_one_of_messages_that_a_repeated_step_dropped_does_not_count() -> None:
    simulator = conversation_with(2)
    first = session_rewrites.write_checkpoint(simulator)
    simulator.send_message("And then?")
    simulator.end_turn("stopped", "Half an ans")
    session_rewrites.write_checkpoint(simulator)
    simulator.retry()
    newest = newest_checkpoint(simulator.transcript)
    assert newest is not None
    assert newest[0] == first


def test_what_stands_on_an_excluded_message_alone_is_not_taken_on() -> None:
    simulator = conversation_with(3)
    seq = session_rewrites.write_checkpoint(simulator, "A secret")
    (upto,) = simulator.transcript.checkpoints[seq].handover.sections[0].bullets[0].sources
    position = [item.seq for item in simulator.transcript.messages.items].index(upto)
    session_rewrites.exclude(simulator, position)
    assert upto in simulator.transcript.rewrites.excluded
    newest = newest_checkpoint(simulator.transcript)
    assert newest is not None
    assert all(not section.bullets for section in newest[1].sections)


def test_one_is_due_by_the_whole_history_since_the_last() -> None:
    """Outputs count in full, whatever form they stand in; the cooldown and a first call hold it back."""
    simulator = build_history(4, size=4_000)
    policy = msgspec.structs.replace(PROFILES["balanced"], checkpoint_tokens=2_000)
    now_ms = simulator.log[-1].at + MINUTE_MS
    newest = simulator.transcript.messages.items[-1].seq
    assert compaction_due.checkpoint_due(simulator.transcript, policy, now_ms) == newest
    none = msgspec.structs.replace(policy, checkpoint_tokens=0)
    assert compaction_due.checkpoint_due(simulator.transcript, none, now_ms) == 0
    later = msgspec.structs.replace(policy, checkpoint_tokens=40_000)
    assert compaction_due.checkpoint_due(simulator.transcript, later, now_ms) == 0
    session_rewrites.write_checkpoint(simulator)
    assert compaction_due.checkpoint_due(simulator.transcript, policy, now_ms + MINUTE_MS) == 0
    simulator.step("Step.", 1)
    assert compaction_due.checkpoint_due(simulator.transcript, policy, now_ms + MINUTE_MS) == 0, (
        "the call runs"
    )
    simulator.answer_call(0, "line of output\n" * 1_000)
    written_ms = simulator.transcript.last_checkpoint_at_ms
    assert compaction_due.checkpoint_due(simulator.transcript, policy, written_ms + 59_000) == 0
    due = compaction_due.checkpoint_due(simulator.transcript, policy, written_ms + 60_000)
    assert due == simulator.transcript.messages.items[-1].seq


@given(histories(SESSION_ACTIONS))
def test_one_that_is_due_ends_with_a_whole_message(simulator: SessionSimulator) -> None:
    """The newest, at any moment, but for a request without an answer; while calls run that is a result."""
    policy = msgspec.structs.replace(simulator.policy, checkpoint_tokens=1)
    transcript = Transcript()
    for recorded in simulator.log:
        transcript.apply(recorded)
        upto = compaction_due.checkpoint_due(transcript, policy, recorded.at + MINUTE_MS)
        item = transcript.messages.item(upto)
        if upto:
            items = transcript.messages.items
            assert item is not None
            assert all(isinstance(later.event, UserSpoke) for later in items[items.index(item) + 1 :])
            assert not isinstance(item.event, UserSpoke)
            assert isinstance(item.event, ToolAnswered) or not transcript.open_calls
        elif transcript.messages.items:
            newest = transcript.messages.items[-1].event
            assert isinstance(newest, AssistantSpoke | UserSpoke)
            assert transcript.open_calls or isinstance(newest, UserSpoke)


def test_a_removed_secret_leaves_a_checkpoint_too() -> None:
    simulator = conversation_with(1)
    session_rewrites.write_checkpoint(simulator, "The key is topsecret-4711")
    recorded = simulator.log[-1]
    redaction = Redaction(RedactionRequest("topsecret-4711"), 1_795_000_000_000)
    redaction.find_removed(simulator.log)
    redacted = redaction.redact_event(recorded)
    assert b"topsecret" not in msgspec.json.encode(redacted)
    transcript = Transcript([*simulator.log[:-1], redacted])
    newest = newest_checkpoint(transcript)
    assert newest is not None
    assert newest[1].sections[0].bullets[0].text == "The key is [FORGOTTEN 2026-11-18]"
