"""Which covers count, and what stands between them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, LogItem, PinnedCopy, SummaryBlock, active_covers
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.events.session import ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from tests.support.histories import SessionSimulator, histories

_HANDOVER = HandoverMade(0, 0, (), "", "", 0, 0, 0, 0, 0, "none", HandoverTrigger.MANUAL)
_OBSERVED = ObservationsMade(0, 0, (), (), "", "", 0, 0, 0, 0, "none")
_FOLDED = FoldMade(0, 0, "", 0, "", 0, 0, 0)
_EVENTS: tuple[HandoverMade | ObservationsMade | FoldMade, ...] = (_HANDOVER, _OBSERVED, _FOLDED, _FOLDED)
_RANK = {HandoverMade: 0, ObservationsMade: 1, FoldMade: 2}


@st.composite
def covers(draw: st.DrawFn) -> list[Cover]:
    """Any covers at all, also some that could never come about."""
    found = []
    for seq in range(draw(st.integers(0, 12))):
        event = draw(st.sampled_from(_EVENTS))
        after = 0 if event is _HANDOVER else draw(st.integers(0, 30))
        found.append(Cover(100 + seq, after, after + draw(st.integers(0, 12)), event))
    return found


def overlap(one: Cover, other: Cover) -> bool:
    """Whether two covers stand for the same event."""
    return one.after < other.upto and other.after < one.upto


@given(covers())
def test_what_is_in_force_never_overlaps(found: list[Cover]) -> None:
    """It lies in order, and whatever is left out gave way to something at least as great."""
    taken = active_covers(found)
    assert all(one.upto <= other.after for one, other in pairwise(taken))
    for cover in found:
        if cover not in taken and cover.upto > cover.after:
            winners = [one for one in taken if overlap(one, cover)]
            assert min(_RANK[type(one.event)] for one in winners) <= _RANK[type(cover.event)]


@given(covers(), st.data())
def test_what_is_in_force_does_not_depend_on_the_order(found: list[Cover], data: st.DataObject) -> None:
    """The same covers count, however they are given."""
    assert active_covers(data.draw(st.permutations(found))) == active_covers(found)


@given(histories())
def test_each_rewrite_takes_effect_at_once(simulator: SessionSimulator) -> None:
    """What is recorded as a fold, observations in place or a handover stands in the window from then on."""
    transcript = Transcript()
    for recorded in simulator.log:
        transcript.apply(recorded)
        if isinstance(recorded.event, FoldMade | HandoverMade | ObservationsPlaced):
            assert recorded.seq in {one.seq for one in transcript.covers}, recorded.event
            assert all(not overlap(*two) for two in pairwise(transcript.covers))


@given(histories())
def test_every_message_stands_once_or_is_covered(simulator: SessionSimulator) -> None:
    """Each in one place: raw, or behind one cover, and beside it when it is pinned or was kept back."""
    transcript = simulator.transcript
    live = transcript.window_entries()
    raw = [one.seq for one in live if isinstance(one, LogItem)]
    copies = [one.item.seq for one in live if isinstance(one, PinnedCopy)]
    kept = {one.event.kept for one in transcript.covers if isinstance(one.event, HandoverMade)}
    assert len(set(raw)) == len(raw)
    assert set(copies) <= set(transcript.rewrites.pinned)
    for item in transcript.items:
        covering = [one for one in transcript.covers if one.after < item.seq <= one.upto]
        assert len(covering) <= 1
        assert (item.seq in raw) == (not covering or item.seq in kept)
        if covering and item.seq in transcript.rewrites.pinned:
            assert item.seq in copies
    standing = {cover.seq for one in live if isinstance(one, SummaryBlock) for cover in one.covers}
    assert standing == {one.seq for one in transcript.covers}


@given(histories())
def test_no_step_is_torn(simulator: SessionSimulator) -> None:
    """No cover begins or ends between a call and its answers."""
    items = simulator.transcript.items
    for cover in simulator.transcript.covers:
        behind = next((one for one in items if one.seq > cover.upto), None)
        first = next((one for one in items if one.seq > cover.after), None)
        for one in (behind, first):
            assert one is None or not isinstance(one.event, ToolAnswered)


@given(histories())
def test_the_newest_message_of_the_person_stands_while_its_turn_runs(simulator: SessionSimulator) -> None:
    """In each request that was sent it stands as a message of its own, word for word."""
    for sent in simulator.sent_requests:
        said = [one for one in simulator.log[: sent.seq] if isinstance(one.event, UserSpoke)]
        entry = next(
            one
            for one in reversed(sent.window.entries)
            if isinstance(one, LogItem) and isinstance(one.event, UserSpoke)
        )
        assert entry.seq == said[-1].seq
        assert isinstance(entry.event, UserSpoke)
        texts = [message.text for message in sent.request.messages if message.role == "user"]
        assert any(text.startswith(entry.event.text) for text in texts)
