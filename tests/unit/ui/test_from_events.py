"""What the screens show of any history: the same whole or step by step, true to window and log."""

from __future__ import annotations

from hypothesis import given

from helix_desktop.context.budget import gauge
from helix_desktop.context.content import StoreTotals
from helix_desktop.context.event import (
    AssistantSpoke,
    HandoverFailed,
    HandoverMade,
    Redone,
    SweepMade,
    ToolAnswered,
    Undone,
    UserSpoke,
)
from helix_desktop.context.rows import rows_of
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import project
from helix_desktop.ui.chat.from_events import HEAD_LINES, TAIL_LINES, ChatRows, all_rows
from helix_desktop.ui.chat.rows import AssistantRow, DividerRow, Row, ToolRow, UserRow
from helix_desktop.ui.inspector.from_window import inspector_state, request_text, row_text
from helix_desktop.ui.timeline.from_events import cards_of, points_of
from helix_desktop.ui.timeline.rows import HandoverCard, MarkCard, SweepCard
from tests.support.histories import Maker, histories, played


@given(histories())
def test_rows_are_the_same_read_whole_or_one_event_at_a_time(maker: Maker) -> None:
    rows, transcript = ChatRows(), Transcript()
    shown: dict[str, Row] = {}
    for recorded in maker.log:
        transcript.apply(recorded)
        for row in rows.apply(recorded, transcript):
            shown[row.key] = row
    assert list(shown.values()) == all_rows(maker.log)[1]


@given(histories())
def test_every_word_and_call_has_its_row_and_says_where_its_output_stands(maker: Maker) -> None:
    _, rows = all_rows(maker.log)
    events = [(one.seq, one.event) for one in maker.log]
    said = [event.text for _, event in events if isinstance(event, UserSpoke)]
    assert [row.text for row in rows if isinstance(row, UserRow)] == said
    spoken = [event.text for _, event in events if isinstance(event, AssistantSpoke) and event.text.strip()]
    assert [row.text for row in rows if isinstance(row, AssistantRow)] == spoken

    known = maker.transcript
    tools = {row.key: row for row in rows if isinstance(row, ToolRow)}
    upto = known.handover[1].upto if known.handover else 0
    asked: dict[str, int] = {}  # servers may use an id again in a later step
    for seq, event in events:
        if isinstance(event, AssistantSpoke):
            asked |= {call.id: seq for call in event.calls}
        if isinstance(event, ToolAnswered):
            row = tools[f"t{asked[event.call_id]}:{event.call_id}"]
            assert (row.digest, row.tokens) == (event.digest, event.tokens)
            if event.digest and seq <= upto:
                assert row.badge == "handed over"
            elif event.digest:
                assert (row.badge == "cached") == (seq in known.masked)


@given(histories())
def test_dividers_offer_exactly_what_can_be_done(maker: Maker) -> None:
    known = maker.transcript
    dividers = {row.event_seq: row for row in all_rows(maker.log)[1] if isinstance(row, DividerRow)}
    for one in maker.log:
        if isinstance(one.event, SweepMade | HandoverMade):
            row = dividers[one.seq]
            assert row.undone == (not known.rewrites.holds(one.seq))
            assert ("undo" in row.actions) == known.can_undo(one.seq)
            assert ("redo" in row.actions) == known.can_redo(one.seq)


def test_a_long_output_shows_its_ends_and_no_line_twice() -> None:
    maker = Maker(played(1).policy)
    maker.user("Begin.")
    for count in (0, 1, HEAD_LINES, HEAD_LINES + 3, HEAD_LINES + TAIL_LINES, 200):
        maker.step("", 1)
        maker.answer(0, "".join(f"line {n}\n" for n in range(count)))
        row = [one for one in all_rows(maker.log)[1] if isinstance(one, ToolRow)][-1]
        shown = [*row.head.splitlines(), *row.tail.splitlines()]
        assert row.lines == count
        assert len(shown) == min(count, HEAD_LINES + TAIL_LINES)
        assert len(set(shown)) == len(shown)
        assert not count or shown[-1] == f"line {count - 1}"


@given(histories())
def test_the_timeline_has_a_card_for_each_rewrite_newest_first(maker: Maker) -> None:
    known = maker.transcript
    cards = cards_of(maker.log, known)
    seqs = [card.seq for card in cards]
    kinds = SweepMade | HandoverMade | HandoverFailed | Undone | Redone
    assert seqs == [one.seq for one in reversed(maker.log) if isinstance(one.event, kinds)]
    for card in cards:
        if isinstance(card, HandoverCard | SweepCard):
            assert card.undone == (not known.rewrites.holds(card.seq))
        if isinstance(card, MarkCard):
            assert card.target in known.rewrites.sweeps or card.target in known.rewrites.handovers
    assert [card.number for card in reversed(cards) if isinstance(card, HandoverCard)] == list(
        range(1, len(known.rewrites.handovers) + 1)
    )


@given(histories())
def test_points_lie_in_order_and_never_below_zero(maker: Maker) -> None:
    points = points_of(maker.log)
    assert [point.seq for point in points] == sorted(point.seq for point in points)
    assert all(point.used >= 0 for point in points)
    rewrites = [one.seq for one in maker.log if isinstance(one.event, SweepMade | HandoverMade)]
    assert set(rewrites) <= {point.seq for point in points}


@given(histories())
def test_the_inspector_adds_up_to_the_gauge(maker: Maker) -> None:
    window = project(maker.transcript, maker.policy, maker.frame)
    now = gauge(window, maker.transcript, maker.policy, maker.frame)
    rows = rows_of(window, maker.transcript, maker.frame)
    state = inspector_state(rows, now, maker.transcript, maker.policy, StoreTotals(0, 0, 0, 1))
    assert sum(row.tokens for row in state.rows) == now.used == state.used
    assert all(row.tokens >= 0 for row in state.rows)
    sizes = {one.kind: one.tokens for one in state.segments}
    assert sum(sizes.values()) - sizes["reserve"] - sizes["free"] == now.used
    assert sizes["free"] == max(0, now.window - now.used - now.reserve)


@given(histories())
def test_the_preview_is_the_request_message_by_message(maker: Maker) -> None:
    window = project(maker.transcript, maker.policy, maker.frame)
    whole = request_text(window)
    at = 0
    for message in window.request.messages:
        at = whole.index(message.text, at) + len(message.text)
    rows = rows_of(window, maker.transcript, maker.frame)
    for row in rows:
        text = row_text(window, rows, row.seq, row.kind)
        assert text
        assert text in whole or row.kind == "tools"
