"""What the panel shows of the window, and how its figures fit the gauge, the timeline and the chat."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from helix_desktop.cli.rewrite_lines import rewrite_lines
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.rewrites.compaction_due import NO_COMPACTION
from helix_desktop.context.window.message_states import is_in_full
from helix_desktop.context.window.provider_cache import RequestCost
from helix_desktop.context.window.used_tokens import UsageGauge, measure_usage
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import WindowItemKind, break_down_window
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.deferred_tools import request_tools
from helix_desktop.domain.digest import RECALL_TOOL, digest_of
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen, Pinned, SweepMade, SweepReason, Undone
from helix_desktop.domain.events.session import InstructionsAdded, StandingText
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import spec_of
from helix_desktop.ui.chat.rows.row_texts import badge_text
from helix_desktop.ui.chat.rows.row_types import ToolRow, UserRow
from helix_desktop.ui.chat.rows.rows_from_events import rows_from_log
from helix_desktop.ui.outputs.rows import SAME_STATES
from helix_desktop.ui.outputs.source import content_states
from helix_desktop.ui.panel.from_window import (
    discount_text,
    panel_state,
    request_row_text,
    request_sections,
    request_text,
    window_rows,
    with_request_cost,
    with_undo,
)
from helix_desktop.ui.panel.panel_state import PanelState, WindowRow, request_groups
from helix_desktop.ui.panel.request_list import action_text
from helix_desktop.ui.timeline.cards import FormCard, ManualActionCard
from helix_desktop.ui.timeline.cards_from_events import build_cards
from helix_desktop.ui.timeline.summary_cards import CompactedCallsCard
from helix_desktop.words.attachments import attachment_facts
from helix_desktop.words.call_targets import call_verb
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.state_words import STATE_WORDS, gauge_source_text
from helix_desktop.words.translation import translate
from tests.support.histories import SessionSimulator, build_history, histories
from tests.support.rewrite_histories import (
    choose_form,
    fold,
    histories_with_rewrites,
    output_seqs,
    write_large_file,
)
from tests.support.session_rewrites import exclude, truncate
from tests.support.tables import for_each
from tests.support.tool_rig import DESCRIPTIONS_DIR


def check_the_panel_adds_up(simulator: SessionSimulator) -> None:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    now = measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    state = panel_state(rows, now, simulator.transcript, simulator.policy, NO_COMPACTION)
    sent = [row for row in state.rows if row.kind != "provider_count"]
    for row, item in zip(sent, rows, strict=True):
        assert abs(row.tokens - item.tokens) <= item.tokens * 0.05 + 1
        assert row.tokens == item.tokens or not row.whole, "the chat has this figure, too"
    assert sum(item.tokens for item in rows) == window.estimate
    assert sum(row.tokens for row in state.rows) == state.gauge.used == now.used
    check_parts_as_shown_add_up(state)
    sizes = {segment.kind: segment.tokens for segment in state.segments}
    assert sum(sizes.values()) - sizes["reserve"] - sizes["free"] == now.used
    assert sizes["free"] == max(0, now.window - now.used - now.reserve)


def check_parts_as_shown_add_up(state: PanelState) -> None:
    """Rows to their group, groups and legend to the total."""
    groups = request_groups(state.rows)
    total = format_tokens(state.gauge.used)
    for group in groups:
        _check_sum([format_tokens(row.tokens) for row in group.rows], group.tokens_text)
    legend = [format_tokens(part.tokens) for part in state.segments if part.kind not in ("reserve", "free")]
    for parts in ([group.tokens_text for group in groups], legend):
        _check_sum(parts, total)


def _check_sum(parts: list[str], total: str) -> None:
    """Each number over 1,000 is off by half of its last digit at most."""
    numbers = [
        float(part.removesuffix("k").replace("\N{MINUS SIGN}", "-")) * (1_000 if "k" in part else 1)
        for part in (*parts, total)
    ]
    rounded = sum(50 for part in (*parts, total) if "k" in part)
    assert abs(sum(numbers[:-1]) - numbers[-1]) <= rounded + 1e-6, (parts, total)


def check_panel_and_outputs_call_the_same_contents_cached(simulator: SessionSimulator) -> None:
    """But for a lookup of some lines: Outputs says of a content where the whole of it stands."""
    states = content_states(simulator.transcript)
    messages = simulator.transcript.messages
    for row in _state(simulator).rows:
        if row.kind == "output" and row.digest and not row.excluded:
            item = messages.item(row.seq)
            assert item is not None
            assert isinstance(item.event, ToolAnswered)
            if item.event.recalled and not is_in_full(row.seq, item.event, simulator.transcript):
                continue
            is_cached = states[row.digest][0] in SAME_STATES["cached"]
            assert is_cached == (row.state == "cached"), row


def check_the_panel_has_each_kind_of_row_in_the_bar_too(simulator: SessionSimulator) -> None:
    state = _state(simulator)
    sums: dict[str, int] = {}
    for row in state.rows:
        assert 0 <= row.recalled <= max(0, row.tokens)
        sums[row.kind] = sums.get(row.kind, 0) + row.tokens - row.recalled
        sums["recalled"] = sums.get("recalled", 0) + row.recalled
    parts = {
        segment.kind: segment.tokens for segment in state.segments if segment.kind not in ("reserve", "free")
    }
    assert parts == {kind: tokens for kind, tokens in sums.items() if tokens}
    live = {entry.seq for entry in simulator.transcript.window.entries() if isinstance(entry, LogItem)}
    swept = {row.seq for row in state.rows if row.state == "arguments_cached"}
    assert swept == {
        seq for seq in simulator.transcript.window.swept & live
        if isinstance(simulator.transcript.messages.item(seq).event, AssistantSpoke)  # type: ignore[union-attr]  # it is live
    }  # fmt: skip


def test_what_was_removed_to_fit_is_counted_in_messages_everywhere() -> None:
    simulator = build_history(6)
    simulator.step("On.", 0)
    truncate(simulator)
    seq, removed = next(
        (item.seq, item.event) for item in reversed(simulator.log) if isinstance(item.event, FoldMade)
    )
    messages = translate(simulator.transcript.messages.counts(removed.after, removed.upto).text)
    assert "tool call" in messages
    card = next(card for card in build_cards(simulator.log, simulator.transcript) if card.seq == seq)
    (row,) = [row for row in _state(simulator).rows if row.seq == seq]
    assert isinstance(card, CompactedCallsCard)
    assert card.title == row.name
    assert row.why == f"Replaces {messages}"


def test_what_caching_an_output_saves_is_offered_as_what_it_saves() -> None:
    simulator = build_history(1)
    for _ in range(3):
        simulator.step("Reading.", 1, usage_ratio=0.75)
        simulator.answer_call(0, "words of an output " * 400)
    item = simulator.transcript.messages.items[-1]
    (offered,) = [row.cachable for row in _state(simulator).rows if row.seq == item.seq]
    assert offered == simulator.transcript.window.sweep_savings(item)


def test_a_content_has_one_number_that_no_report_changes() -> None:
    """A paste showed 29.7k, 26.2k, 28k and 22.7k tokens: chat, panel, timeline and command line agree."""
    simulator = build_history(1)
    paste = Attachment("0" * 64, "a.txt", "words of a paste " * 500, 2_000, 8_500)
    simulator.record(UserSpoke("Look.", 2, (paste,)))
    message = simulator.transcript.messages.items[-1]
    simulator.step("Reading.", 1, usage_ratio=0.8)
    simulator.answer_call(0, "words of an output " * 400, form="preview")
    output = simulator.transcript.messages.items[-1]
    assert isinstance(output.event, ToolAnswered)
    whole = next(row.whole for row in _state(simulator).rows if row.seq == output.seq)
    choose_form(simulator, output.seq, "full", "words of an output " * 400)
    assert whole == simulator.transcript.window.entry_tokens(output), "before, as a part of this many"
    tokens = simulator.transcript.window.entry_tokens(output)
    words = f"{format_tokens(tokens)} tokens"
    totals = set[int]()
    for ratio in (0.7, 1.3, 1.3, 0.9, 2.0):
        simulator.step("On.", 1, usage_ratio=ratio)
        state = _state(simulator)
        totals.add(state.gauge.used)
        inspected = {row.seq: row.tokens for row in state.rows}
        assert inspected[output.seq] == tokens
        assert inspected[message.seq] == simulator.transcript.window.entry_tokens(message)
        _, rows = rows_from_log(simulator.log)
        card = next(row for row in rows if isinstance(row, ToolRow) and row.answer_seq == output.seq)
        assert card.tokens == tokens
        said = next(row for row in rows if isinstance(row, UserRow) and row.attachments)
        assert attachment_facts(said.attachments[0].attachment).endswith("2k tokens")
        cards = build_cards(simulator.log, simulator.transcript)
        texts = [
            found.text for found in cards if isinstance(found, ManualActionCard) and found.kind == "form"
        ]
        assert [text.endswith(words) for text in texts] == [True]
        preview = next(found for found in cards if isinstance(found, FormCard) and found.seq == output.seq)
        assert preview.after == output.event.tokens + FRAMING_TOKENS
        assert [line for line in rewrite_lines(simulator.log) if line.endswith(words)]
    assert len(totals) == 5, "the total is the provider's"


def test_a_cached_output_that_a_message_holds_is_also_in_the_context() -> None:
    """Outputs said that it is in the context, the panel that it is cached."""
    simulator = build_history(1)
    output = next(
        item for item in simulator.transcript.messages.items if isinstance(item.event, ToolAnswered)
    )
    assert isinstance(output.event, ToolAnswered)
    simulator.record(SweepMade((output.seq,), 90, SweepReason.BATCH))

    def state() -> str:
        return next(row.state for row in _state(simulator).rows if row.seq == output.seq)

    assert state() == "cached"
    part = Attachment(output.event.digest, "a.txt", "2:two", 2, 4, first_line=2, last_line=2)
    simulator.record(UserSpoke("Look.", 2, (part,)))
    assert state() == "cached", "some of its lines"
    before = {segment.kind: segment.tokens for segment in _state(simulator).segments}
    file = Attachment("f" * 64, "b.txt", "three", 5, 5, kind="file")
    simulator.record(UserSpoke("Look.", 3, (Attachment(output.event.digest, "a.txt", "two", 2, 4), file)))
    assert state() == "repeated"
    after = {segment.kind: segment.tokens for segment in _state(simulator).segments}
    assert after["recalled"] - before["recalled"] == 2, "counted as what the agent recalls"
    row = _state(simulator).rows[-1]
    assert after["user"] - before["user"] == row.tokens - 2


def test_a_cached_recall_of_an_output_pinned_above_is_also_in_the_context() -> None:
    """What is pinned stays behind the summary that covers its call."""
    simulator = build_history(3)
    output = next(
        item for item in simulator.transcript.messages.items if isinstance(item.event, ToolAnswered)
    )
    assert isinstance(output.event, ToolAnswered)
    simulator.recall(output.event.digest)
    recall = simulator.transcript.last_seq
    simulator.record(Pinned(output.seq), SweepMade((recall,), 65, SweepReason.OVERFLOW))
    fold(simulator, (output.seq - 2, output.seq))
    states = {row.seq: row.state for row in _state(simulator).rows}
    assert (states[output.seq], states[recall]) == ("pinned", "repeated")
    check_panel_and_outputs_call_the_same_contents_cached(simulator)


def test_an_answer_is_named_by_its_calls_if_they_are_the_larger_part() -> None:
    simulator = build_history(1)
    simulator.step("I read all of it before I change anything. " * 9, 1)
    simulator.answer_call(0, "text")
    simulator.step("Now.", 1)
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    items = break_down_window(window, simulator.transcript, simulator.frame)
    rows = window_rows(items)
    assert [row.label for row in rows if row.kind == "assistant"][-2:] == ["Answer", "Agent: 1 tool call"]


def test_a_part_of_one_turn_that_is_compacted_is_a_row_of_that_turn() -> None:
    """One that reaches over several turns is a row of its own, before the rest of the last one."""
    simulator = build_history(3)
    simulator.step("Done.", 0)
    simulator.send_message("Go on.")
    simulator.step("Reading.", 1)
    simulator.answer_call(0, "words")
    simulator.step("Read.", 0)
    items = simulator.transcript.messages.items
    first, *_, last = (item.seq for item in items if isinstance(item.event, ToolAnswered))
    within = fold(simulator, (0, first))
    turn = request_groups(_state(simulator).rows)[-2]
    assert [row.label for row in turn.rows[:2]] == ["Turn 1 · Begin.", "Compacted 1 tool call of turn 1"]
    assert (turn.rows[1].seq, turn.rows[1].way_back, turn.states) == (within, "undo", ["part compacted"])
    assert turn.state_color == STATE_WORDS["folded"].color
    outer = fold(simulator, (0, last))
    row = turn.rows[1]
    transcript = simulator.transcript
    undone = transcript.fork_with(Undone(outer))
    gauge = simulator.gauge()
    filled = replace(gauge, used=gauge.limit + 1)
    back = with_undo(row, transcript, gauge, undone, filled)
    assert back.undo_parts == ("“Compacted 1 tool call of turn 1”", "parts of turns 1–2")
    assert back.undo_tokens == filled.used - gauge.used
    summary, rest = request_groups(_state(simulator).rows)[-2:]
    assert (summary.label, rest.label) == ("Compacted parts of turns 1–2", "Turn 2 · Go on.")


def test_a_cached_input_is_restored_as_a_cached_output_is() -> None:
    """Only the undo of all that was cached with it restored it, under nearly the same name."""
    simulator = build_history(1)
    write = write_large_file(simulator)
    output = next(seq for seq in output_seqs(simulator) if seq < write)
    before = simulator.gauge().used
    simulator.record(SweepMade((output, write), 90, SweepReason.BATCH))
    row = next(row for row in _state(simulator).rows if row.seq == write)
    assert (row.state, row.way_back) == ("arguments_cached", "send_full")
    added = row.whole - row.tokens
    assert action_text("send_full", row) == f"Undo caching · adds ≈ {format_tokens(added)} tokens"
    assert row.explanation.startswith("What the agent wrote in tool calls.")
    item = simulator.transcript.messages.item(write)
    assert item is not None
    cached = simulator.gauge().used
    simulator.record(FormChosen(write, "full", "", item.tokens - FRAMING_TOKENS))
    assert simulator.gauge().used == cached + added
    simulator.record(Undone(simulator.transcript.last_seq))
    assert simulator.gauge().used == cached < before


def test_the_undo_of_a_summary_that_cannot_be_undone_now_says_why() -> None:
    simulator = build_history(1)
    first = simulator.transcript.messages.items[-1].seq
    other = write_large_file(simulator)
    within = fold(simulator, (0, first))
    simulator.record(SweepMade((other,), 90, SweepReason.FOLD))
    row = next(row for row in _state(simulator).rows if row.seq == within)
    undone = simulator.transcript.fork_with(Undone(within))
    gauge = simulator.gauge()
    row = with_undo(row, simulator.transcript, gauge, undone, replace(gauge, used=gauge.used + 40))
    assert action_text("undo", row) == "Undo · adds ≈ 40 tokens"
    assert row.undo_parts[0] == "the text of 1 tool call"
    refused = replace(row, undo_refused="Undo the later one first.")
    assert not refused.can_act("undo")
    assert "Undo the later one first." in refused.explanation


def test_a_change_is_priced_by_what_the_provider_has_cached() -> None:
    simulator = build_history(1)
    simulator.step("Reading.", 1, usage_ratio=0.5)
    simulator.answer_call(0, "words of an output " * 400)
    items = break_down_window(
        project(simulator.transcript, simulator.policy, simulator.frame),
        simulator.transcript,
        simulator.frame,
    )
    total = sum(item.tokens for item in items)
    rows = window_rows(items, 30)
    assert [(row.tokens, row.cachable) for row in rows] == [(item.tokens, item.cachable) for item in items]
    assert rows[0].resent == sum(row.tokens for row in rows[1:]) - 30
    assert not any(row.resent for row in window_rows(items, total))


def _state(simulator: SessionSimulator, frame: PromptFrame | None = None, used: int = 0) -> PanelState:
    frame = frame or simulator.frame
    window = project(simulator.transcript, simulator.policy, frame)
    now = measure_usage(window, simulator.transcript, simulator.policy, frame)
    now = replace(now, used=used or now.used)
    rows = break_down_window(window, simulator.transcript, frame)
    return panel_state(rows, now, simulator.transcript, simulator.policy, NO_COMPACTION)


def test_the_provider_is_named_at_the_total_and_in_the_row_of_its_difference() -> None:
    simulator = build_history(1)
    state = _state(simulator)
    assert gauge_source_text(state.gauge) == "Estimated"
    simulator.step("On.", 0, usage_ratio=0.7)
    state = _state(simulator)
    assert gauge_source_text(state.gauge) == "By the provider's count"
    naming = [row.kind for row in state.rows if "rovider" in row.name + row.why]
    assert naming == ["provider_count"]


@pytest.mark.parametrize("off", [60, -60])
def test_what_the_provider_counts_a_little_more_or_less_is_shared_by_all_rows(off: int) -> None:
    """A row of its own was a riddle, and so were tools that grew with each message."""
    simulator = build_history(1)
    simulator.step("On.", 1)
    simulator.answer_call(0, "word " * 2_000)
    used = simulator.window_rewriter.measure()[1].used
    counted = _state(simulator, used=sum(row.tokens for row in _state(simulator).rows)).rows
    rows = _state(simulator, used=used + off).rows
    assert sum(row.tokens for row in rows) == used + off
    shares = {
        (row.tokens - own.tokens) / own.tokens
        for row, own in zip(rows, counted, strict=True)
        if own.tokens > 200
    }
    assert max(shares) - min(shares) < 0.01
    check_parts_as_shown_add_up(_state(simulator, used=used + off))


@pytest.mark.parametrize("off", [900, -900])
def test_what_the_provider_counts_much_more_or_less_is_the_last_row(off: int) -> None:
    simulator = build_history(1)
    simulator.step("On.", 1)
    simulator.answer_call(0, "word " * 2_000)
    now = simulator.window_rewriter.measure()[1]
    assert now.used > 1_000
    state = _state(simulator, used=now.used + off)
    (row,) = (row for row in state.rows if row.kind == "provider_count")
    assert (row.tokens, row.label) == (off, f"Your provider counts {'more' if off > 0 else 'less'}")
    assert [part.label for part in state.segments if part.kind == row.kind] == [row.label], (
        "the breakdown too"
    )
    assert row in request_groups(state.rows)[-1].rows
    assert not row.actions
    check_parts_as_shown_add_up(state)


def check_the_preview_is_the_request_message_by_message(simulator: SessionSimulator) -> None:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    full_text = request_text(window, rows)
    assert sum(tokens for _, tokens, _ in request_sections(window, rows)) == window.estimate
    index = 0
    for message in window.request.messages:
        index = full_text.index(message.text, index) + len(message.text)
    for row in _state(simulator).rows:
        text = request_row_text(window, rows, row)
        assert text
        assert text in full_text or row.kind in ("tools", "provider_count")


def test_excluded_instructions_show_the_line_that_is_sent_for_them() -> None:
    simulator = build_history(1)
    added = StandingText("project", "Write tests first.", 5, "AGENTS.md")
    simulator.record(InstructionsAdded(added))
    assert exclude(simulator, -1)
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    (row,) = (row for row in _state(simulator).rows if row.kind == "instructions")
    assert request_row_text(window, rows, row) == window.request.messages[-1].text
    assert "excluded by the user: instructions, 18 B" in request_row_text(window, rows, row)


def check_an_output_is_named_by_its_call_and_target(simulator: SessionSimulator) -> None:
    for row in _state(simulator).rows:
        item = simulator.transcript.messages.item(row.seq)
        if item is None or not isinstance(item.event, ToolAnswered):
            assert row.tool == ""
            continue
        assert row.tool == item.event.name
        assert row.name.startswith(row.tool), "tooltip and screen reader say it"
        assert row.tooltip.startswith(row.name)
        if item.event.target:
            verb = "Denied" if item.event.outcome == "denied" else call_verb(row.tool, "done")
            assert row.label.startswith(verb)
            name = row.label.rstrip("…").removeprefix(verb).strip()
            assert name in " ".join(item.event.target.split())


def test_an_output_that_no_request_has_room_for_cannot_be_sent_whole() -> None:
    """One that fits while older parts leave can: that the next request then removes them is said before."""
    simulator = build_history(0)
    simulator.record(UserSpoke("Read it.", 3_000))
    simulator.step("Reading.", 1)
    simulator.answer_call(0, "some words\n" * 500)
    seq = simulator.transcript.last_seq
    simulator.record(SweepMade((seq,), 900, SweepReason.BATCH))
    frame = simulator.frame
    used = simulator.gauge().used

    def cached(window: int) -> WindowRow:
        info = replace(frame.info, window=window, reserve=0)
        rows = _state(simulator, replace(frame, info=info), used).rows
        return next(row for row in rows if row.seq == seq)

    whole = cached(200_000).whole
    assert cached(200_000).room_text == ""
    filled = cached(used + whole // 2)
    small = cached(whole)
    assert filled.can_act("send_full")
    assert "the next request caches or compacts older parts again" in filled.explanation
    assert not small.can_act("send_full")
    assert "the context window has room for" in small.explanation


@pytest.mark.parametrize(("words", "badge"), [(20, "In context"), (500, "Cached")])
def test_a_marker_is_called_cached_also_while_its_content_is_in_the_context_elsewhere(
    words: int, badge: str
) -> None:
    """Its row and the count of its turn are of a place in the request; chat and Outputs are of a content."""
    simulator = build_history(0)
    simulator.send_message("Read it.")
    simulator.step("Reading.", 1)
    output = "some words\n" * words
    simulator.answer_call(0, output)
    seq = simulator.transcript.last_seq
    digest = digest_of(output.encode())
    simulator.record(SweepMade((seq,), 900, SweepReason.BATCH))
    simulator.recall(digest)
    (row,) = [row for row in _state(simulator).rows if row.seq == seq]
    assert (row.unusual_state, row.way_back) == ("Cached", "send_full")
    assert ("in the context elsewhere" in row.explanation) == (badge == "In context"), "recalled whole"
    (turn,) = [group for group in request_groups(_state(simulator).rows) if row in group.rows]
    assert turn.states == ["1 cached"]
    card = next(row for row in rows_from_log(simulator.log)[1] if isinstance(row, ToolRow))
    assert badge_text(card.badge) == badge
    check_panel_and_outputs_call_the_same_contents_cached(simulator)


def test_cached_lines_of_an_output_are_not_in_the_context_with_an_extract_of_it() -> None:
    simulator = build_history(0)
    simulator.send_message("Read it.")
    simulator.step("Reading.", 1)
    output = "some words\n" * 20
    simulator.answer_call(0, output)
    seq = simulator.transcript.last_seq
    simulator.recall(digest_of(output.encode()))
    recall = simulator.transcript.last_seq
    simulator.record(FormChosen(seq, "compact", "The gist.", 4))
    simulator.record(SweepMade((recall,), 900, SweepReason.BATCH))
    states = {row.seq: row.unusual_state for row in _state(simulator).rows}
    assert states[recall] == "Cached"


# One test has many properties: to build a history takes longer than to look at it.
@settings(max_examples=2 * settings().max_examples)
@given(histories() | histories_with_rewrites())
def test_what_is_shown_of_any_window(simulator: SessionSimulator) -> None:
    """Rows, figures and preview fit the request, the gauge and the log."""
    check_the_panel_adds_up(simulator)
    check_an_output_is_named_by_its_call_and_target(simulator)
    check_panel_and_outputs_call_the_same_contents_cached(simulator)
    check_the_panel_has_each_kind_of_row_in_the_bar_too(simulator)
    check_the_preview_is_the_request_message_by_message(simulator)


_RATIOS = st.floats(0.95, 1.05) | st.floats(0.4, 2.5)


@given(st.lists(st.tuples(st.integers(0, 4_000), _RATIOS), min_size=1, max_size=6))
def test_parts_as_shown_add_up_whatever_the_provider_reports(steps: list[tuple[int, float]]) -> None:
    simulator = build_history(1)
    for words, ratio in steps:
        simulator.step("Reading.", 1, usage_ratio=ratio)
        simulator.answer_call(0, "word " * words)
        check_parts_as_shown_add_up(_state(simulator))


@for_each(
    ("tool", "target", "is_denied", "label"),
    [
        ("list_directory", ".", False, "Listed the workspace"),
        ("TodoWrite", "", False, "TodoWrite"),
        ("run_command", "npm run build", True, "Denied npm run build"),
        (RECALL_TOOL, "read_file src/parts/wrap.py", False, "Recalled wrap.py"),
        (RECALL_TOOL, "src/parts/wrap.py", False, "Recalled wrap.py"),
        (RECALL_TOOL, "run_command ls src/parts", False, "Recalled ls src/parts"),
        (RECALL_TOOL, "read_file src/parts/wrap.py", True, "Denied wrap.py"),
        (RECALL_TOOL, "index, 'fee'", False, "Searched what was compacted for “fee”"),
    ],
)
def test_a_row_is_named_by_what_was_called(tool: str, target: str, is_denied: bool, label: str) -> None:
    kind: WindowItemKind = "recalled" if tool == RECALL_TOOL else "output"
    row = WindowRow(7, kind, f"{tool} {target}".strip(), 40, "full", "", tool=tool, is_denied=is_denied)
    assert row.label == label


def test_the_tools_of_mcp_servers_are_counted_separately_also_those_that_are_only_named() -> None:
    """Their schemas are a separate row and segment; all rows still add up to the estimate."""
    simulator = build_history(1)
    own, *servers = (
        ToolSpec(name, f"Does {name}. More.", {"type": "object"})
        for name in ("read", "mcp__a__x", "mcp__b__y", *(f"mcp__b__t{number}" for number in range(60)))
    )
    sizes = {"tools_tokens": 90, "mcp_tokens": 60}
    frame = msgspec.structs.replace(simulator.frame, tools=(own, *servers[:2]), **sizes)
    window = project(simulator.transcript, simulator.policy, frame)
    rows = break_down_window(window, simulator.transcript, frame)
    assert [(row.kind, row.name, row.tokens) for row in rows[1:3]] == [
        ("tools", "1 tool", 30), ("mcp", "2 MCP tools", 60),
    ]  # fmt: skip
    assert sum(row.tokens for row in rows) == window.estimate
    _, tools, mcp, *_ = _state(simulator, frame).rows
    text = "mcp__a__x\nDoes mcp__a__x. More.\n\nmcp__b__y\nDoes mcp__b__y. More."
    assert request_row_text(window, rows, mcp) == text
    assert request_row_text(window, rows, tools) == "read\nDoes read. More."
    standing = (spec_of(tool, DESCRIPTIONS_DIR) for tool in (FindTools, CallTool))
    deferred = tuple(spec.name for spec in servers)
    offered = request_tools([own, *servers, *standing])
    frame = msgspec.structs.replace(simulator.frame, tools=offered, deferred_tools=deferred, **sizes)
    window = project(simulator.transcript, simulator.policy, frame)
    rows = break_down_window(window, simulator.transcript, frame)
    assert [(row.kind, row.name, row.tokens) for row in rows[1:3]] == [
        ("tools", "1 tool", 30), ("mcp", "62 MCP tools", 60),
    ]  # fmt: skip
    assert rows[2].why == "Only named, from 2 servers: the agent looks up what it needs"
    text = request_row_text(window, rows, _state(simulator, frame).rows[2])
    assert text.startswith("find_tools\n")
    assert "\nmcp__b__ and:\n" in text
    assert "\nt0: Does mcp__b__t0.\n" in text


def test_a_request_that_does_not_fit_is_not_announced_with_its_size() -> None:
    """It is made to fit before it is sent."""
    gauge = UsageGauge(3_100, 20_000, 20_000, 1_000, 17_000, True)
    shown = with_request_cost(PanelState(gauge), RequestCost(0, 20_100, None))
    assert shown.cost_text == "Next request: at most 19k tokens"


def test_the_share_at_the_provider_s_discount_is_one_line_once_it_was_reported() -> None:
    """What has no report of a cache is in no figure of it, as in the session's bill."""
    reported = Spending(53_030, 0.21, cached=4_000, cache_writes=48_700, fresh=300)
    assert discount_text(reported) == "So far: 8 % at the provider's discount"
    assert discount_text(Spending(1_810, unpriced=1_810)) == ""
