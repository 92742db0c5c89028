"""Which covers are active, and what is between them."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.mode_notes import UNKNOWN_MODE, mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, LogItem, PinnedCopy, SummaryBlock, active_covers
from helix_desktop.domain.events.conversation import ToolAnswered, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import Excluded, FoldMade, HandoverTrigger, Undone
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from tests.support.histories import SessionSimulator, histories

_HANDOVER = HandoverMade(0, 0, (), "", "", 0, 0, 0, 0, 0, "none", HandoverTrigger.MANUAL)
_OBSERVED = ObservationsMade(0, 0, (), (), "", "", 0, 0, 0, 0, "none")
_FOLDED = FoldMade(0, 0, "", 0, "", 0, 0, 0)
_EVENTS: tuple[HandoverMade | ObservationsMade | FoldMade, ...] = (_HANDOVER, _OBSERVED, _FOLDED, _FOLDED)
_RANK = {HandoverMade: 0, ObservationsMade: 1, FoldMade: 2}


@st.composite
def covers(draw: st.DrawFn) -> list[Cover]:
    """Draw any covers, also some that could never occur."""
    drawn = []
    for seq in range(draw(st.integers(0, 12))):
        event = draw(st.sampled_from(_EVENTS))
        after = 0 if event is _HANDOVER else draw(st.integers(0, 30))
        drawn.append(Cover(100 + seq, after, after + draw(st.integers(0, 12)), event))
    return drawn


def overlap(cover: Cover, other: Cover) -> bool:
    """Return True if two covers stand for the same event."""
    return cover.after < other.upto and other.after < cover.upto


@given(covers())
def test_active_covers_never_overlap(candidates: list[Cover]) -> None:
    """They are in order, and an omitted cover gave way to one of at least its rank."""
    active = active_covers(candidates)
    assert all(cover.upto <= other.after for cover, other in pairwise(active))
    for cover in candidates:
        if cover not in active and cover.upto > cover.after:
            winners = [winner for winner in active if overlap(winner, cover)]
            assert min(_RANK[type(winner.event)] for winner in winners) <= _RANK[type(cover.event)]


@given(covers(), st.data())
def test_active_covers_do_not_depend_on_the_order(candidates: list[Cover], data: st.DataObject) -> None:
    assert active_covers(data.draw(st.permutations(candidates))) == active_covers(candidates)


def check_each_rewrite_takes_effect_immediately(simulator: SessionSimulator) -> None:
    """A recorded fold, placed observations or a handover are in the window from then on."""
    transcript = Transcript()
    for recorded in simulator.log:
        transcript.apply(recorded)
        if isinstance(recorded.event, FoldMade | HandoverMade | ObservationsPlaced):
            assert recorded.seq in {cover.seq for cover in transcript.window.covers}, recorded.event
            assert all(not overlap(*two) for two in pairwise(transcript.window.covers))


def check_every_message_is_shown_once_or_covered(simulator: SessionSimulator) -> None:
    """Each in one place: raw, or behind one cover, and as a copy if pinned or kept back."""
    transcript = simulator.transcript
    live = transcript.window.entries()
    raw = [entry.seq for entry in live if isinstance(entry, LogItem)]
    copies = [entry.item.seq for entry in live if isinstance(entry, PinnedCopy)]
    kept_seqs = {
        cover.event.kept for cover in transcript.window.covers if isinstance(cover.event, HandoverMade)
    }
    assert len(set(raw)) == len(raw)
    assert set(copies) <= set(transcript.rewrites.pinned)
    for item in transcript.messages.items:
        covering = [cover for cover in transcript.window.covers if cover.after < item.seq <= cover.upto]
        assert len(covering) <= 1
        assert (item.seq in raw) == (not covering or item.seq in kept_seqs)
        if covering and item.seq in transcript.rewrites.pinned:
            assert item.seq in copies
    visible = {cover.seq for entry in live if isinstance(entry, SummaryBlock) for cover in entry.covers}
    assert visible == {cover.seq for cover in transcript.window.covers}


def check_no_step_is_split(simulator: SessionSimulator) -> None:
    """No cover begins or ends between a call and its answers."""
    items = simulator.transcript.messages.items
    for cover in simulator.transcript.window.covers:
        following = next((item for item in items if item.seq > cover.upto), None)
        first = next((item for item in items if item.seq > cover.after), None)
        for neighbor in (following, first):
            assert neighbor is None or not isinstance(neighbor.event, ToolAnswered)


def check_the_newest_user_message_stays_while_its_turn_runs(simulator: SessionSimulator) -> None:
    """In each request that was sent it is a message of its own, word for word, or its exclusion's line."""
    for sent in simulator.sent_requests:
        messages = [
            recorded for recorded in simulator.log[: sent.seq] if isinstance(recorded.event, UserSpoke)
        ]
        entry = next(
            entry
            for entry in reversed(sent.window.entries)
            if isinstance(entry, LogItem) and isinstance(entry.event, UserSpoke)
        )
        assert entry.seq == messages[-1].seq
        assert isinstance(entry.event, UserSpoke)
        texts = [message.text for message in sent.request.messages if message.role == "user"]
        if not any(text.startswith(entry.event.text) for text in texts):
            (excluded,) = Transcript(simulator.log[: sent.seq]).window.exclusions_of(entry)
            assert excluded.text in texts


@given(histories())
def test_the_layout_of_any_history(simulator: SessionSimulator) -> None:
    """Rewrites take effect, and every message has its place."""
    check_each_rewrite_takes_effect_immediately(simulator)
    check_every_message_is_shown_once_or_covered(simulator)
    check_no_step_is_split(simulator)
    check_the_newest_user_message_stays_while_its_turn_runs(simulator)


def test_a_mode_is_announced_again_only_when_its_note_left_the_window() -> None:
    """A fold of other messages leaves it known; one of its own hides it until an undo, or repeats it.

    A retry drops it.
    """
    note = mode_note("ask", "auto")
    events: tuple[tuple[Event, str], ...] = (
        (UserSpoke("One.", 1), "ask"),
        (UserSpoke("Two.", 1, mode="auto", note=note), "auto"),
        (msgspec.structs.replace(_FOLDED, after=0, upto=1), "auto"),
        (msgspec.structs.replace(_FOLDED, after=0, upto=2), UNKNOWN_MODE),
        (Undone(4), "auto"),
        (Excluded((1,), "", 0, ""), "auto"),
        (Excluded((2,), "", 0, ""), UNKNOWN_MODE),
        (UserSpoke("Three.", 1, mode="auto", note=note), "auto"),
        (msgspec.structs.replace(_HANDOVER, upto=8), UNKNOWN_MODE),
        (msgspec.structs.replace(_HANDOVER, upto=8, kept=8, replaces=(9,)), "auto"),
        (UserSpoke("Four.", 1, mode="ask", note=mode_note("auto", "ask")), "ask"),
        (TurnRetried(of=11, after=10), "auto"),
        (UserSpoke("Four.", 1, mode="ask", note=mode_note("auto", "ask")), "ask"),
        (msgspec.structs.replace(_HANDOVER, upto=13), "ask"),
        (UserSpoke("Five.", 1, mode="auto", note=note), "auto"),
        (msgspec.structs.replace(_FOLDED, after=14, upto=15), UNKNOWN_MODE),
        (msgspec.structs.replace(_FOLDED, after=14, upto=15, text=f"Folded.\n{note}"), "auto"),
        (Excluded((17,), "", 0, ""), UNKNOWN_MODE),
        (UserSpoke("Six.", 1, mode="auto", note=note), "auto"),
        (msgspec.structs.replace(_HANDOVER, upto=19, mode_note=note), "auto"),
    )
    transcript = Transcript()
    for seq, (event, announced_mode) in enumerate(events, 1):
        transcript.apply(RecordedEvent(seq, 0, event))
        assert transcript.announced_mode == announced_mode, seq


def test_what_an_excluded_handover_stands_for_is_excluded_without_the_message_that_it_kept() -> None:
    """What was excluded for itself is so too, once."""
    handover = msgspec.structs.replace(_HANDOVER, upto=3, kept=2)
    excluded = (Excluded((seq,), "Excluded.", 3, "d" * 64) for seq in (1, 5))
    events: list[Event] = [UserSpoke(f"Message {number}.", 3) for number in range(1, 5)]
    events += [handover, *excluded]
    transcript = Transcript(RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1))
    assert sorted(item.seq for item in transcript.window.excluded_items()) == [1, 3]
    assert [item.seq for item in transcript.window.without_excluded(transcript.messages.items)] == [2, 4]
