"""The invariants of the context, each over random histories (CONTEXT.md section 2)."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context import planner, sweep
from helix_desktop.context.event import (
    HandoverMade,
    Recorded,
    Redone,
    SweepMade,
    ToolAnswered,
    Undone,
    UserSpoke,
)
from helix_desktop.context.layout import Item
from helix_desktop.context.message import Request
from helix_desktop.context.rows import rows_of
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.validity import repair
from helix_desktop.context.window import project
from tests.support.histories import WORK, Maker, histories
from tests.support.linter import lint

ENTRY = re.compile(r"^([0-9a-f]{64}) ", re.MULTILINE)
REWRITES = (SweepMade, HandoverMade, Undone, Redone)


def raw(request: Request) -> list[bytes]:
    """The bytes of each message."""
    return [msgspec.json.encode(message) for message in request.messages]


@given(histories())
def test_nothing_is_lost(maker: Maker) -> None:
    """Every output ever recorded is stored and can be reached from the window: itself, marker or index."""
    text = "\n".join(message.text for message in maker.window().request.messages)
    held = maker.transcript.handover
    reachable = set(re.findall(r'recall_cached_content\("([0-9a-f]{64})"\)', text))
    chain = [held[1].index] if held else []
    while chain:
        digest = chain.pop()
        named = ENTRY.findall(maker.contents[digest].decode())
        reachable |= {digest, *named}
        chain += [one for one in named if maker.contents.get(one, b"").startswith(b"Index of cached outputs")]
    live = [one for one in maker.transcript.live() if isinstance(one, Item)]
    standing = {item.seq for item in live} - maker.transcript.masked
    for item in maker.transcript.items:
        if isinstance(item.event, ToolAnswered) and item.event.digest:
            assert item.event.digest in maker.contents
            assert item.seq in standing or item.event.digest in reachable
        if isinstance(item.event, UserSpoke) and item.seq not in standing:
            assert {one.digest for one in item.event.attachments} <= reachable


@given(histories())
def test_the_window_is_a_pure_function(maker: Maker) -> None:
    """A transcript grown event by event, one built at once, and one from stored bytes give the same bytes."""
    stored = msgspec.json.encode(maker.log)
    again = Transcript(msgspec.json.decode(stored, type=list[Recorded]))
    assert project(again, maker.policy, maker.frame) == maker.window()
    assert raw(project(again, maker.policy, maker.frame).request) == raw(maker.window().request)
    for sent in maker.sent:
        prefix = Transcript(maker.log[: sent.seq])
        assert raw(project(prefix, maker.policy, maker.frame).request) == raw(sent.request)


@given(histories())
def test_every_request_is_valid(maker: Maker) -> None:
    """No request needs a repair, whatever was stopped, failed, handed over or undone before it."""
    for sent in maker.sent:
        assert lint(sent.request.messages) == []


@given(histories())
def test_a_cut_off_turn_becomes_valid(maker: Maker) -> None:
    """At any moment, closing the open calls and speaking again gives a valid request."""
    maker.end("stopped", "half an answ")
    maker.user("Go on.")
    assert lint(maker.window().request.messages) == []


@given(histories())
def test_what_is_unanswered_can_be_repaired(maker: Maker) -> None:
    """Also the window with calls still open is repaired into a valid one, that keeps everything said."""
    before = maker.window().request.messages
    mended = repair(before)
    if before[-1].role != "assistant" or before[-1].calls:
        assert lint(mended) == []
        assert [one for one in before if one in mended] == list(before)


@given(histories())
def test_the_prefix_holds(maker: Maker) -> None:
    """A request is a prefix of the next, unless a rewrite lies between them."""
    for former, later in pairwise(maker.sent):
        between = maker.log[former.seq : later.seq]
        if not any(isinstance(one.event, REWRITES) for one in between):
            assert raw(later.request)[: len(former.request.messages)] == raw(former.request)


@given(histories())
def test_estimate_is_the_sum_of_the_rows(maker: Maker) -> None:
    """The inspector's rows name each message once, in order, and add up to the estimate."""
    window = maker.window()
    rows = rows_of(window, maker.transcript, maker.frame)
    assert window.estimate == sum(row.tokens for row in rows)
    assert len(rows) == len(window.request.messages) + 1  # the tools are no message
    assert all(row.tokens >= 0 for row in rows)


@given(histories())
def test_masked_is_a_state(maker: Maker) -> None:
    """No output is swept while it is a marker; each saves enough; the newest two steps are never touched."""
    transcript = Transcript()
    for recorded in maker.log:
        if isinstance(recorded.event, SweepMade):
            masked = set(recorded.event.masked)
            assert masked
            assert not masked & transcript.masked
            saved = 0
            for seq in masked:
                item = transcript.item(seq)
                assert item is not None
                assert isinstance(item.event, ToolAnswered)
                assert item.event.tokens - item.event.marker_tokens >= max(1, maker.policy.least_saving)
                assert transcript.steps - item.step >= sweep.LEAST_STEPS
                saved += item.event.tokens - item.event.marker_tokens
            assert saved == recorded.event.saved
        transcript.apply(recorded)


@given(histories())
def test_the_tail_is_protected(maker: Maker) -> None:
    """A sweep by the policy leaves what is young in model calls and near in tokens."""
    policy, transcript = maker.policy, maker.transcript
    for one in sweep.ripe(transcript, policy):
        item = transcript.item(one.seq)
        assert item is not None
        behind = sum(other.tokens for other in transcript.items if other.seq > one.seq)
        assert transcript.steps - item.step >= policy.protect_steps or behind >= policy.protect_tokens


@given(histories())
def test_what_the_person_took_back_stays_out(maker: Maker) -> None:
    """An undone sweep is not made again by the program: only by the person, or when nothing else fits."""
    transcript = Transcript()
    for recorded in maker.log:
        if isinstance(recorded.event, SweepMade) and recorded.event.reason in {"batch", "handover"}:
            assert not transcript.released & set(recorded.event.masked)
        transcript.apply(recorded)
    undone = [seq for seq in maker.transcript.rewrites.sweeps if seq in maker.transcript.rewrites.undone]
    taken_back = {seq for made in undone for seq in maker.transcript.rewrites.sweeps[made].masked}
    due = planner.sweep_due(maker.transcript, msgspec.structs.replace(maker.policy, sweep="at once"))
    assert not taken_back & set(due.masked if due else ())


@given(histories(), st.integers(0, 9))
def test_undo_restores_and_redo_brings_back(maker: Maker, which: int) -> None:
    """Undoing the newest rewrite gives the former window's bytes; redoing it the later ones."""
    before = raw(maker.window().request)
    estimate = maker.window().estimate
    made = maker.hand_over(which * 30)
    if made is None:
        return
    target = max(maker.transcript.rewrites.handovers)
    after = raw(maker.window().request)
    maker.record(Undone(target))
    assert raw(maker.window().request) == before
    assert maker.window().estimate == estimate
    maker.record(Redone(target))
    assert raw(maker.window().request) == after


@given(histories(), st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_undo_at_any_depth(maker: Maker, order: list[int]) -> None:
    """Undoing any number of rewrites in any order and redoing them in the reverse one changes nothing."""
    before = maker.window()
    undone = [seq for which in order if (seq := maker.undo(which))]
    for seq in reversed(undone):
        maker.record(Redone(seq))
    assert maker.window() == before


@given(histories())
def test_undoing_everything_gives_the_plain_history(maker: Maker) -> None:
    """Without its rewrites the window is what the same history without rewrites would show."""
    while maker.undo(0):
        pass
    plain = [one for one in maker.log if not isinstance(one.event, REWRITES)]
    bare = Transcript(msgspec.structs.replace(one, seq=n) for n, one in enumerate(plain, 1))
    assert raw(project(bare, maker.policy, maker.frame).request) == raw(maker.window().request)


@given(histories())
def test_a_fork_leaves_the_original_alone(maker: Maker) -> None:
    """Trying rewrites on a fork changes neither the window nor what may be undone."""
    before = maker.window()
    twin = maker.transcript.fork()
    twin.apply(Recorded(twin.last_seq + 1, 0, SweepMade((2, 3), 10, "by hand")))
    for seq in list(twin.rewrites.handovers):
        twin.apply(Recorded(twin.last_seq + 1, 0, Undone(seq)))
    assert maker.window() == before
    assert len(maker.log) == maker.transcript.last_seq


@given(histories(actions=WORK))
def test_off_changes_nothing(maker: Maker) -> None:
    """With the policy off nothing is ever due."""
    off = msgspec.structs.replace(maker.policy, enabled=False, sweep="at once")
    assert planner.sweep_due(maker.transcript, off) is None


def test_an_event_must_follow_the_last() -> None:
    """A gap in the log is refused."""
    with pytest.raises(ValueError, match="cannot follow"):
        Transcript([Recorded(2, 0, UserSpoke("Hello", 1))])
