"""What stays of the running turn and of the one before it, and what leaves first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

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
from helix_desktop.context.window.used_tokens import UsageGauge, gauge_of, measure_next_request
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade, SweepReason
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay import Replayer
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
    event = item.event
    todo_list = transcript.todo_list
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


def check_no_more_than_needed(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, items: list[LogItem]
) -> None:
    """Without the newest content that leaves of the two turns, too little would have been freed.

    No bound holds where half of the share is less than a note frees, or batches don't wait for their rent.
    """
    excess = caching.excess_tokens(policy, gauge)
    of_both = [
        item
        for item in items
        if item.turn >= first_kept_turn(transcript) and not is_outdated(item, transcript)
    ]
    if of_both and excess:
        others = (item for item in items if item is not of_both[-1])
        freed = sum(map(transcript.window.sweep_savings, others))
        assert freed < excess


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
            check_no_more_than_needed(transcript, policy, gauge, items)
        if isinstance(event, SweepMade):
            assert not transcript.window.swept & set(event.swept)
    assert unreachable_content(simulator) == []


@given(histories(ACTIONS, eager_policies()), st.floats(0.0, 0.8))
def test_a_larger_share_keeps_more(simulator: SessionSimulator, share: float) -> None:
    """What may leave under a share may leave under each smaller one; without one, all that is old enough."""
    transcript = simulator.transcript
    gauge = simulator.gauge()
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


@given(st.floats(0.01, 0.8), st.integers(0, 200_000), st.floats(0.4, 3.0))
def test_what_must_leave_halves_the_context(share: float, used: int, ratio: float) -> None:
    """Nothing has to leave below the share, nor without one, nor where so little would leave each time."""
    policy = msgspec.structs.replace(BALANCED, previous_turn_share=share)
    gauge = msgspec.structs.replace(gauge_of(used, policy, ModelInfo("model", "Model", 128_000)), ratio=ratio)
    limit = share * gauge.window
    excess = caching.excess_tokens(policy, gauge)
    assert caching.excess_tokens(msgspec.structs.replace(policy, previous_turn_share=0.0), gauge) == 0
    if used < limit or limit / 2 < policy.fold_least:
        assert excess == 0
    else:
        left = used - excess * ratio
        assert limit / 2 - ratio <= left <= limit / 2


class TwoTurns:
    """A session with the default policy whose agent reads one file a step, request by request."""

    def __init__(self, window: int) -> None:
        self._replayer = Replayer(window=window)
        self.close = self._replayer.close
        self.line = BALANCED.previous_turn_share * window
        self._files = 0

    def begin_turn(self) -> None:
        self._replayer.end_turn()
        self._replayer.feed({"role": "user", "content": "Go on with the next part."})

    def read(self, tokens: int) -> str:
        """Let the agent read a file of about so many tokens in one step; return what stands in it."""
        self._files += 1
        name = f"src/part{self._files}.py"
        call = {"id": f"c{self._files}", "name": "read_file", "arguments": f'{{"path": "{name}"}}'}
        text = f"value_{self._files} = 1\n" * (tokens // 7)
        self._replayer.feed({"role": "assistant", "content": "I read on.", "tool_calls": [call]})
        answer = {"role": "tool", "tool_call_id": call["id"], "name": "read_file", "content": text}
        self._replayer.feed(answer)
        return text

    def outputs(self) -> set[str]:
        """Return the outputs in the next request."""
        return {message["content"] for message in self._replayer.request() if message["role"] == "tool"}

    def used(self) -> int:
        """Return the tokens of the next request."""
        self._replayer.prepare_request()
        policy, frame, _ = self._replayer.settings()
        return measure_next_request(self._replayer.session.transcript, policy, frame).used


@pytest.mark.parametrize("window", [128_000, 32_000])
@pytest.mark.parametrize("count", [6, 10, 14, 20, 25, 30, 40])
def test_all_outputs_of_the_previous_turn_are_whole_below_the_share(window: int, count: int) -> None:
    """With the default policy, at each step of the next turn until the context has grown to the share."""
    with closing(TwoTurns(window)) as session:
        session.begin_turn()
        size = min(3_500, int(0.7 * session.line / count))
        outputs = {session.read(size) for _ in range(count)}
        session.begin_turn()
        steps = 0
        while session.used() < session.line:
            assert outputs <= session.outputs()
            outputs.add(session.read(size // 3))
            steps += 1
            assert steps < 200
        assert steps >= 4


@pytest.mark.parametrize("window", [128_000, 32_000])
def test_above_the_share_the_oldest_outputs_leave_in_one_change(window: int) -> None:
    """With the default policy each change halves the context at most; then it grows for many steps."""
    with closing(TwoTurns(window)) as session:
        session.begin_turn()
        size = window // 100
        outputs = [session.read(size) for _ in range(20)]
        session.begin_turn()
        changes = []
        used = session.used()
        for step in range(80):
            outputs.append(session.read(size))
            used_before = used
            used = session.used()
            sent = session.outputs()
            whole = [output in sent for output in outputs]
            assert whole == sorted(whole)  # the oldest leave first
            if used < used_before:
                changes.append(step)
                assert 0.45 * session.line <= used <= 0.6 * session.line
        assert len(changes) >= 4
        assert min(later - earlier for earlier, later in pairwise(changes)) >= 10


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
