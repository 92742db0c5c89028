"""What the screens show of any history: the same whole or step by step, true to window and log."""

from __future__ import annotations

import re

import msgspec
from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy
from helix_desktop.context.summaries import observation
from helix_desktop.context.window.usage_gauge import measure_usage
from helix_desktop.context.window.window import project, render_message
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.ui.cache.source import content_states
from helix_desktop.ui.chat.actions import ShowInChat
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.from_events import ChatRows, rows_from_log
from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    DividerRow,
    Row,
    ToolRow,
    UserRow,
    needs_original,
)
from helix_desktop.ui.chat.rows.tool_rows import HEAD_LINES, TAIL_LINES
from helix_desktop.ui.inspector.from_window import inspector_state, request_text, row_text
from helix_desktop.ui.inspector.rows import InspectorState
from helix_desktop.ui.timeline.card_data import (
    FoldCard,
    HandoverCard,
    ObservationsCard,
    PlacedCard,
    SweepCard,
    UndoCard,
)
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.sparkline import DROP_KINDS
from helix_desktop.ui.timeline.usage_points import usage_points
from helix_desktop.words.numbers import format_token_difference
from tests.support.histories import SessionSimulator, build_history, count_tokens, histories
from tests.support.rewrite_histories import choose_form, histories_with_rewrites, output_seqs
from tests.support.window.chat_geometry import action_names


@given(histories())
def test_rows_are_the_same_read_whole_or_one_event_at_a_time(simulator: SessionSimulator) -> None:
    rows, transcript = ChatRows(), Transcript()
    shown: dict[RowKey, Row] = {}
    for recorded in simulator.log:
        transcript.apply(recorded)
        for row in rows.apply(recorded, transcript):
            for key in row.replaces if isinstance(row, DividerRow) else ():
                del shown[key]
            shown[row.key] = row
    assert list(shown.values()) == rows_from_log(simulator.log)[1]


@given(histories_with_rewrites())
def test_any_rewrite_gives_the_same_rows_whole_or_one_event_at_a_time(simulator: SessionSimulator) -> None:
    rows, transcript = ChatRows(), Transcript()
    shown: dict[RowKey, Row] = {}
    for recorded in simulator.log:
        transcript.apply(recorded)
        for row in rows.apply(recorded, transcript):
            for key in row.replaces if isinstance(row, DividerRow) else ():
                del shown[key]
            shown[row.key] = row
    assert list(shown.values()) == rows_from_log(simulator.log)[1]


@given(histories() | histories_with_rewrites())
def test_every_word_and_call_has_its_row(simulator: SessionSimulator) -> None:
    _, rows = rows_from_log(simulator.log)
    events = [(one.seq, one.event) for one in simulator.log]
    said = [event.text for _, event in events if isinstance(event, UserSpoke)]
    assert [row.text for row in rows if isinstance(row, UserRow)] == said
    spoken = [event.text for _, event in events if isinstance(event, AssistantSpoke) and event.text.strip()]
    shown = [row.text for row in rows if isinstance(row, AssistantRow)]
    folded = [text for row in rows if isinstance(row, DividerRow) for text in row.details]
    assert set(shown) <= set(spoken) <= {*shown, *folded}
    answered = [event for _, event in events if isinstance(event, ToolAnswered)]
    cards = {row.answer_seq: row for row in rows if isinstance(row, ToolRow) and row.answer_seq}
    assert [row.digest for _, row in sorted(cards.items())] == [event.digest for event in answered]


@given(histories() | histories_with_rewrites())
def test_each_card_says_where_its_output_stands_in_the_request(simulator: SessionSimulator) -> None:
    known = simulator.transcript
    cards = [row for row in rows_from_log(simulator.log)[1] if isinstance(row, ToolRow) and row.digest]
    live = {one.seq: one for one in known.window_entries() if isinstance(one, LogItem)}
    copies = {one.item.seq for one in known.window_entries() if isinstance(one, PinnedCopy)}
    for card in cards:
        if card.badge == "pinned":
            assert card.answer_seq in known.rewrites.pinned
            assert card.answer_seq in live or card.answer_seq in copies
        elif card.badge == "cached":
            assert render_message(live[card.answer_seq], known).text.startswith("[CACHED]")
        elif card.badge in ("in window", "recalled"):
            assert card.answer_seq in live
            assert card.answer_seq not in known.masked
        else:
            assert card.answer_seq not in live
            assert card.answer_seq not in copies


@given(histories_with_rewrites())
def test_a_cards_badge_names_what_stands_for_its_step(simulator: SessionSimulator) -> None:
    known = simulator.transcript
    names = {FoldMade: {"folded", "left out"}, ObservationsMade: {"observed"}, HandoverMade: {"handed over"}}
    for card in rows_from_log(simulator.log)[1]:
        if not isinstance(card, ToolRow) or not card.digest or card.badge == "pinned":
            continue
        held = [one for one in known.covers if one.after < card.answer_seq <= one.upto]
        if held:
            assert card.badge in names[type(held[0].event)]
        else:
            assert card.badge in ("in window", "cached", "recalled")


@given(histories_with_rewrites())
def test_a_call_says_when_its_arguments_stand_as_markers(simulator: SessionSimulator) -> None:
    known, found = simulator.transcript, 0
    live = {one.seq: one for one in known.window_entries() if isinstance(one, LogItem)}
    rows = {row.key: row for row in rows_from_log(simulator.log)[1] if isinstance(row, ToolRow)}
    for recorded in simulator.log:
        if not isinstance(recorded.event, AssistantSpoke):
            continue
        for call in recorded.event.calls:
            row = rows[RowKey(recorded.seq, call.id, "call")]
            entry = live.get(recorded.seq)
            sent = {one.id: one.arguments for one in render_message(entry, known).calls} if entry else {}
            assert row.arguments_cached == (call.id in sent and sent[call.id] != call.arguments)
            found += bool(row.arguments)
    spoken = [one.event for one in simulator.log if isinstance(one.event, AssistantSpoke)]
    assert found == sum(len(one.short) for one in spoken)


@given(histories_with_rewrites())
def test_the_cache_browser_says_of_each_content_what_shows_most_of_it(simulator: SessionSimulator) -> None:
    known, states = simulator.transcript, content_states(simulator.transcript)
    live = {one.seq for one in known.window_entries() if isinstance(one, LogItem)}
    sent = project(known, simulator.policy, simulator.frame).request.messages
    for item in known.items:
        if isinstance(item.event, ToolAnswered) and item.event.digest:
            state, saved = states[item.event.digest]
            assert saved == 0 or state not in ("in window", "in part", "pinned")
            assert state in ("in window", "in part", "pinned") or item.seq not in live - known.masked
            if state == "marker":
                assert any(item.event.digest in message.text for message in sent)
    arguments: dict[str, set[int]] = {}
    for item in known.items:
        for call in item.event.short if isinstance(item.event, AssistantSpoke) else ():
            for digest in call.digests:
                arguments.setdefault(digest, set()).add(item.seq)
    for digest, seqs in arguments.items():
        state, _ = states[digest]
        assert (state == "in window") == bool(seqs & live - known.masked)
        assert (state == "marker") == (not seqs & live - known.masked and bool(seqs & live))


@given(histories() | histories_with_rewrites())
def test_dividers_offer_exactly_what_can_be_done(simulator: SessionSimulator) -> None:
    known = simulator.transcript
    dividers = {row.key.seq: row for row in rows_from_log(simulator.log)[1] if isinstance(row, DividerRow)}
    for seq in known.rewrites.by_seq:
        row = dividers[seq]
        assert row.is_undone == (not known.rewrites.is_active(seq))
        assert ("undo" in action_names(row)) == known.can_undo(seq)
        assert ("redo" in action_names(row)) == known.can_redo(seq)
    for one in simulator.log:
        if isinstance(one.event, ObservationsMade | Pinned | Unpinned):
            assert dividers[one.seq].is_quiet
            assert not {"undo", "redo"} & set(action_names(dividers[one.seq]))
            target = getattr(one.event, "target", 0)
            assert (ShowInChat(target) in dividers[one.seq].actions) == bool(target)


def test_what_the_person_chose_stands_on_the_card() -> None:
    simulator = build_history(2, size=3_000)
    seq = output_seqs(simulator)[0]
    choose_form(simulator, seq, "compact", "the gist")
    cards = {row.answer_seq: row for row in rows_from_log(simulator.log)[1] if isinstance(row, ToolRow)}
    card = cards[seq]
    assert (card.form, card.head, card.instructions, card.chosen_by) == (
        "compact",
        "the gist",
        "names only",
        "user",
    )
    assert card.tokens == count_tokens("the gist")
    assert needs_original(card)
    simulator.record(Undone(simulator.transcript.last_seq))
    back = next(
        row for row in rows_from_log(simulator.log)[1] if isinstance(row, ToolRow) and row.answer_seq == seq
    )
    assert back.form == "full"
    assert back.lines > 100


def test_a_long_output_shows_its_ends_and_no_line_twice() -> None:
    simulator = SessionSimulator(build_history(1).policy)
    simulator.send_message("Begin.")
    for count in (0, 1, HEAD_LINES, HEAD_LINES + 3, HEAD_LINES + TAIL_LINES, 200):
        simulator.step("", 1)
        simulator.answer_call(0, "".join(f"line {n}\n" for n in range(count)))
        row = [one for one in rows_from_log(simulator.log)[1] if isinstance(one, ToolRow)][-1]
        shown = [*row.head.splitlines(), *row.tail.splitlines()]
        assert row.lines == count
        assert len(shown) == min(count, HEAD_LINES + TAIL_LINES)
        assert len(set(shown)) == len(shown)
        assert not count or shown[-1] == f"line {count - 1}"


_CARDS = (
    SweepMade | HandoverMade | HandoverFailed | FoldMade | ObservationsMade | ObservationsPlaced
    | ObservationsFailed | FormChosen | Pinned | Unpinned | Undone | Redone
)  # fmt: skip


@given(histories() | histories_with_rewrites())
def test_the_timeline_has_a_card_for_each_rewrite_newest_first(simulator: SessionSimulator) -> None:
    known = simulator.transcript
    cards = build_cards(simulator.log, known)
    assert [card.seq for card in cards] == [
        one.seq for one in reversed(simulator.log) if isinstance(one.event, _CARDS)
    ]
    for card in cards:
        if isinstance(card, HandoverCard | SweepCard | FoldCard | PlacedCard):
            assert card.is_undone == (not known.rewrites.is_active(card.seq))
        if isinstance(card, UndoCard):
            assert known.rewrites.is_undoable(card.target)
    for kind in (HandoverCard, FoldCard, ObservationsCard):
        numbers = [card.number for card in reversed(cards) if isinstance(card, kind)]
        assert numbers == list(range(1, len(numbers) + 1))


@given(histories_with_rewrites())
def test_each_wide_card_stands_in_the_window_or_is_undone_or_inside_another(
    simulator: SessionSimulator,
) -> None:
    known = simulator.transcript
    shown = {cover.seq for cover in known.covers}
    for card in build_cards(simulator.log, known):
        if not isinstance(card, HandoverCard | FoldCard | ObservationsCard):
            continue
        seq = card.placed_seq if isinstance(card, ObservationsCard) else card.seq
        if seq in shown:
            assert not card.is_undone
            assert not card.inside
        elif not card.is_undone and seq and not isinstance(card, ObservationsCard):
            assert card.inside


@given(histories_with_rewrites())
def test_a_folds_card_tells_what_the_fold_is(simulator: SessionSimulator) -> None:
    made = {one.seq: one.event for one in simulator.log if isinstance(one.event, FoldMade)}
    for card in build_cards(simulator.log, simulator.transcript):
        if isinstance(card, FoldCard):
            fact = made[card.seq]
            assert (card.text, card.index, card.steps) == (fact.text, fact.index, fact.steps)
            assert card.before - card.after == fact.saved
            assert (card.first_seq, card.last_seq) == (fact.after + 1, fact.upto)


@given(histories() | histories_with_rewrites())
def test_points_lie_in_order_and_never_below_zero(simulator: SessionSimulator) -> None:
    points = usage_points(simulator.log)
    assert [point.seq for point in points] == sorted(point.seq for point in points)
    assert all(point.used >= 0 for point in points)
    kinds = SweepMade | HandoverMade | FoldMade | ObservationsPlaced
    rewrites = [one.seq for one in simulator.log if isinstance(one.event, kinds)]
    assert rewrites == [point.seq for point in points if point.kind in DROP_KINDS]


@given(histories() | histories_with_rewrites())
def test_the_inspector_adds_up_to_the_gauge(simulator: SessionSimulator) -> None:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    now = measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    state = inspector_state(rows, now, simulator.transcript, simulator.policy, StoreTotals(0, 0, 0, 1))
    assert sum(row.tokens for row in state.rows) == now.used == state.used
    counted = [row for row in state.rows if row.kind != "difference"]
    assert [row.tokens for row in counted] == [row.tokens for row in rows]
    assert len(state.rows) - len(counted) == (now.used != window.estimate)
    sizes = {one.kind: one.tokens for one in state.segments}
    assert sum(sizes.values()) - sizes["reserve"] - sizes["free"] == now.used
    assert sizes["free"] == max(0, now.window - now.used - now.reserve)


@given(histories_with_rewrites())
def test_the_inspector_has_each_kind_of_row_in_the_bar_too(simulator: SessionSimulator) -> None:
    state = _state(simulator)
    sums: dict[str, int] = {}
    for row in state.rows:
        sums[row.kind] = sums.get(row.kind, 0) + row.tokens
    parts = {one.kind: one.tokens for one in state.segments if one.kind not in ("reserve", "free")}
    assert parts == {kind: tokens for kind, tokens in sums.items() if tokens}
    live = {one.seq for one in simulator.transcript.window_entries() if isinstance(one, LogItem)}
    masked = {one.seq for one in state.rows if one.kind == "arguments"}
    assert masked == {
        seq for seq in simulator.transcript.masked & live
        if isinstance(simulator.transcript.item(seq).event, AssistantSpoke)  # type: ignore[union-attr]  # it is live
    }  # fmt: skip


@given(histories_with_rewrites())
def test_what_waits_and_what_was_saved_are_what_the_log_says(simulator: SessionSimulator) -> None:
    known, state = simulator.transcript, _state(simulator)
    assert bool(state.pending_text) == (observation.pending_observations(known) is not None)
    held = [one for seq, one in known.rewrites.by_seq.items() if known.rewrites.is_active(seq)]
    rides = [one for one in held if isinstance(one, SweepMade) and one.reason == "handover"]
    assert [one.tokens for one in state.cache.savings] == [
        one.before - one.after if isinstance(one, HandoverMade) else one.saved
        for one in held
        if hasattr(one, "saved") or isinstance(one, HandoverMade)
        if one not in rides
    ]
    entries = [row for row in state.rows if row.kind not in ("system", "tools", "mcp", "difference")]
    shown_less = [
        max(0, item.event.full_tokens - item.event.tokens)
        for item in known.items
        if isinstance(item.event, ToolAnswered)
    ]
    said = sum(item.tokens for item in known.items) + sum(shown_less)
    assert state.cache.saved == max(0, said - sum(row.tokens for row in entries))


_HANDLE = re.compile(r'recall_cached_content\(\\?"[0-9a-f]{64}')


@given(histories() | histories_with_rewrites())
def test_the_markers_that_are_counted_stand_in_the_request(simulator: SessionSimulator) -> None:
    """One by one: an answer of the agent may have several."""
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    masked = [
        message
        for entry, message in zip(window.entries, window.request.messages[1:], strict=True)
        if (item := getattr(entry, "item", entry)) and getattr(item, "seq", 0) in simulator.transcript.masked
    ]
    # An agent that says what a marker looks like has made none.
    texts = [one.text for one in masked if one.role != "assistant"]
    texts += [call.arguments for one in masked for call in one.calls]
    assert _state(simulator).cache.markers == sum(len(_HANDLE.findall(text)) for text in texts)


def test_fixed_things_keep_their_count() -> None:
    """From turn to turn, whatever the provider reports: its difference is a row of its own."""
    simulator, fixed, differences = build_history(1), set(), set()
    for ratio in (1.3, 0.8, 2.0, 1.1):
        simulator.step("On.", 1, usage_ratio=ratio)
        simulator.answer_call(0, "words " * 50)
        rows = _state(simulator).rows
        fixed.add(tuple(row.tokens for row in rows if row.kind in ("system", "tools")))
        (told,) = [row for row in rows if row.kind == "difference"]
        differences.add(told.tokens)
        assert (told.name, told.tokens_text) == ("Provider counts", format_token_difference(told.tokens))
        total = sum(row.tokens for row in rows)
        assert told.why == f"our count {total - told.tokens:,} · total {total:,}"
    assert len(fixed) == 1
    assert len(differences) == 4
    assert min(differences) < 0 < max(differences)


def _state(simulator: SessionSimulator) -> InspectorState:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    now = measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    return inspector_state(rows, now, simulator.transcript, simulator.policy, StoreTotals(0, 0, 0, 1))


def test_the_ratio_is_told_with_the_number_of_its_reports() -> None:
    simulator = build_history(1)
    assert _state(simulator).ratio == ""
    for _ in range(2):
        simulator.step("On.", 1, usage_ratio=1.3)
        simulator.answer_call(0, "words")
    assert _state(simulator).ratio == "× 1.30 of our count, median of 2 reports"


@given(histories() | histories_with_rewrites())
def test_the_preview_is_the_request_message_by_message(simulator: SessionSimulator) -> None:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    whole = request_text(window)
    at = 0
    for message in window.request.messages:
        at = whole.index(message.text, at) + len(message.text)
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    for row in _state(simulator).rows:
        text = row_text(window, rows, row.seq, row.kind)
        assert text
        assert text in whole or row.kind in ("tools", "difference")


def test_the_tools_of_mcp_servers_are_counted_apart() -> None:
    """Their schemas are a row and a segment of their own; all rows still add up to the estimate."""
    simulator = build_history(1)
    names = ("read", "mcp__a__x", "mcp__b__y")
    specs = tuple(ToolSpec(name, f"Does {name}.", {"type": "object"}) for name in names)
    frame = msgspec.structs.replace(simulator.frame, tools=specs, tools_tokens=90, mcp_tokens=60)
    window = project(simulator.transcript, simulator.policy, frame)
    rows = break_down_window(window, simulator.transcript, frame)
    assert [(row.kind, row.name, row.tokens) for row in rows[1:3]] == [
        ("tools", "1 tools", 30), ("mcp", "2 tools of 2 MCP servers", 60),
    ]  # fmt: skip
    assert sum(row.tokens for row in rows) == window.estimate
    assert row_text(window, rows, 0, "mcp") == "mcp__a__x\nDoes mcp__a__x.\n\nmcp__b__y\nDoes mcp__b__y."
    assert row_text(window, rows, 0, "tools") == "read\nDoes read."
    last = window.request.messages[-1].text
    assert last in row_text(window, rows, rows[-1].seq, rows[-1].kind)
