"""What stays of the running turn and of the one before it, and what leaves first."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy_numbers import (
    PROFILES,
    ContextPolicy,
    policy_fields,
    policy_from,
    policy_from_event,
)
from helix_desktop.context.rewrites import caching
from helix_desktop.context.window.used_tokens import UsageGauge, measure_next_request
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade, SweepReason
from tests.support.histories import SESSION_ACTIONS, SessionSimulator, histories, policies
from tests.support.reachability import unreachable_content

BALANCED = PROFILES["balanced"]
BY_POLICY = {
    SweepReason.BATCH,
    SweepReason.COLD,
    SweepReason.FOLD,
    SweepReason.OBSERVATIONS,
    SweepReason.HANDOVER,
}
# No action that folds or condenses under another policy than the session's.
ACTIONS = (
    *SESSION_ACTIONS, "turn", "work", "work", "hand_over", "pin", "undo", "redo", "form", "observe",
    "place",
)  # fmt: skip


@st.composite
def eager_policies(draw: st.DrawFn) -> ContextPolicy:
    """Policies under which little is needed for a rewrite, with any share."""
    policy = draw(policies())
    share = draw(st.sampled_from((0.05, 0.2, 0.5, 0.8)))
    return msgspec.structs.replace(policy, previous_turn_share=share)


def rewrites_of(simulator: SessionSimulator) -> Iterator[tuple[Transcript, UsageGauge, SweepMade | FoldMade]]:
    """Yield each sweep and fold that the policy made, with the transcript and the gauge before it.

    Folds before one request are decided together, by the gauge before the first of them.
    """
    transcript = Transcript()
    gauge: UsageGauge | None = None
    for recorded in simulator.log:
        event = recorded.event
        if isinstance(event, FoldMade) or (isinstance(event, SweepMade) and event.reason in BY_POLICY):
            if gauge is None or isinstance(event, SweepMade):
                gauge = measure_next_request(transcript, simulator.policy, simulator.frame)
            yield transcript, gauge, event
        else:
            gauge = None
        transcript.apply(recorded)


def leaving(transcript: Transcript, event: SweepMade | FoldMade) -> list[LogItem]:
    """Return the answers and outputs that a rewrite takes out, of those that stand in the window."""
    items = (entry for entry in transcript.window.entries() if isinstance(entry, LogItem))
    return [
        item
        for item in items
        if not isinstance(item.event, UserSpoke)
        and (
            item.seq in event.swept if isinstance(event, SweepMade) else event.after < item.seq <= event.upto
        )
    ]


def is_outdated(item: LogItem, transcript: Transcript) -> bool:
    """Whether a later event superseded a message, and the running turn does not work on it."""
    return item.seq in transcript.superseded and item.seq not in transcript.in_work


def first_kept_turn(transcript: Transcript) -> int:
    """Return the number of the newest complete turn."""
    return transcript.messages.turns - (1 if transcript.turn_open else 0)


def waits(item: LogItem, transcript: Transcript, policy: ContextPolicy) -> bool:
    """Whether a message is one that a sweep takes sooner or later."""
    event, todo_list = item.event, transcript.todo_list
    if isinstance(event, AssistantSpoke) and not policy.protect_argument_steps:
        return False
    recalled = event.recalled if isinstance(event, ToolAnswered) else ""
    is_often_recalled = bool(
        recalled and policy.protect_recalls and transcript.recall_counts[recalled] >= policy.protect_recalls
    )
    return not (
        transcript.window.sweep_savings(item) < max(1, policy.least_saving)
        or item.seq in transcript.rewrites.pinned
        or item.seq in transcript.sweep_exempt
        or item.seq in transcript.in_work
        or is_often_recalled
        or (todo_list.is_open and item.seq in (todo_list.call_seq, todo_list.answer_seq))
    )


def check_below_the_share(transcript: Transcript, items: list[LogItem], event: SweepMade | FoldMade) -> None:
    """Of the two turns only outdated content becomes a marker, and no step a note."""
    of_both = [item for item in items if item.turn >= first_kept_turn(transcript)]
    if isinstance(event, FoldMade):
        assert of_both == []
    assert all(is_outdated(item, transcript) for item in of_both)


def check_the_order(
    transcript: Transcript, policy: ContextPolicy, items: list[LogItem], swept: set[int]
) -> None:
    """Older turns leave before the newest complete one, that step by step, and both before the running."""
    complete = first_kept_turn(transcript)
    left = [
        item
        for item in transcript.window.sweepable_items
        if item.seq not in swept and not is_outdated(item, transcript) and waits(item, transcript, policy)
    ]
    for item in items:
        if is_outdated(item, transcript) or item.turn < complete:
            continue
        assert all(other.turn >= item.turn for other in left)
        if item.turn == complete:
            assert all(other.step >= item.step for other in left)


@given(histories(ACTIONS, eager_policies()))
def test_what_leaves_of_two_turns_in_any_history(simulator: SessionSimulator) -> None:
    """Whatever the policy's other numbers are; nothing is lost, and no marker is made twice."""
    policy = simulator.policy
    for transcript, gauge, event in rewrites_of(simulator):
        items = leaving(transcript, event)
        if gauge.used < policy.previous_turn_share * gauge.window:
            check_below_the_share(transcript, items, event)
        elif isinstance(event, SweepMade):
            check_the_order(transcript, policy, items, set(event.swept))
        if isinstance(event, SweepMade):
            assert not transcript.window.swept & set(event.swept)
    assert unreachable_content(simulator) == []


@given(histories(ACTIONS, eager_policies()), st.floats(0.0, 0.8))
def test_a_larger_share_keeps_more(simulator: SessionSimulator, share: float) -> None:
    """What may leave under a share may leave under each smaller one; without one, all that is old enough."""
    transcript, gauge = simulator.transcript, simulator.gauge()
    smaller, larger, off = (
        msgspec.structs.replace(simulator.policy, previous_turn_share=value)
        for value in (min(share, 0.3), max(share, 0.3), 0.0)
    )
    seqs = [
        {candidate.seq for candidate in caching.sweep_candidates(transcript, policy, gauge)}
        for policy in (larger, smaller, off)
    ]
    assert seqs[0] <= seqs[1] | set() if smaller.previous_turn_share else True
    assert seqs[0] <= seqs[2]
    assert seqs[1] <= seqs[2]
    assert caching.whole_from(transcript, larger, gauge) <= caching.whole_from(transcript, smaller, gauge)


def test_a_policy_of_before_the_field_has_its_profile_s_share() -> None:
    """In a file and in a session's events; a share of one's own is stored with the other numbers."""
    for name in ("lean", "balanced", "classic", "plain"):
        assert policy_from({"profile": name}).previous_turn_share == PROFILES[name].previous_turn_share
        old = policy_from_event({"profile": name, "protect_steps": 7})
        assert old is not None
        assert old.previous_turn_share == PROFILES[name].previous_turn_share
    own = msgspec.structs.replace(BALANCED, previous_turn_share=0.5)
    assert policy_from_event(policy_fields(own)) == own
    with pytest.raises(ValueError, match="previous_turn_share"):
        policy_from({"previous_turn_share": 0.9})
