"""What the inspector shows of the window, and how its figures fit the gauge, the timeline and the chat."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings

from helix_desktop.cli.rewrite_lines import rewrite_lines
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites.planner import NO_COMPACTION
from helix_desktop.context.summaries import observation
from helix_desktop.context.window.usage_gauge import UsageGauge, measure_usage, ratio_before
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.events.choices import HoldSet
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, ToolAnswered, UserSpoke
from helix_desktop.domain.events.instructions import InstructionsAdded, StandingText
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    Redone,
    SweepMade,
    Undone,
)
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger, SweepReason
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import (
    HandoverMade,
)
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.from_events import ChatRows, rows_from_log
from helix_desktop.ui.chat.rows.row_types import DividerRow, Row, ToolRow
from helix_desktop.ui.inspector.from_window import inspector_state, request_row_text, window_rows
from helix_desktop.ui.inspector.inspector_data import InspectorState, WindowRow
from helix_desktop.ui.inspector.request.document import request_document
from helix_desktop.ui.timeline.card_data import FoldCard, FormCard, ManualActionCard, SweepCard
from helix_desktop.ui.timeline.card_texts import fold_card_text
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.words.numbers import format_token_change, format_token_difference, format_tokens
from helix_desktop.words.translation import translate
from tests.support.histories import SessionSimulator, build_history, conversation_with, histories
from tests.support.rewrite_histories import choose_form, histories_with_rewrites
from tests.support.session_rewrites import exclude, prepare_observations, truncate

_TOTALS = StoreTotals(0, 0, 0, 1)


def check_the_inspector_adds_up_to_the_gauge(simulator: SessionSimulator) -> None:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    now = measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    state = inspector_state(rows, now, simulator.transcript, simulator.policy, _TOTALS, NO_COMPACTION)
    assert sum(row.tokens for row in state.rows) == now.used == state.used
    counted = [row for row in state.rows if row.kind != "difference"]
    estimate = round(window.estimate * now.ratio)
    assert sum(row.tokens for row in counted) == estimate
    exact = sorted(abs(row.tokens - item.tokens * now.ratio) for row, item in zip(counted, rows, strict=True))
    assert all(error <= 0.5 for error in exact[:-1])  # what rounding leaves is in one
    assert len(state.rows) - len(counted) == (now.used != estimate)
    sizes = {segment.kind: segment.tokens for segment in state.segments}
    assert sum(sizes.values()) - sizes["reserve"] - sizes["free"] == now.used
    assert sizes["free"] == max(0, now.window - now.used - now.reserve)


def check_the_inspector_has_each_kind_of_row_in_the_bar_too(simulator: SessionSimulator) -> None:
    state = _state(simulator)
    sums: dict[str, int] = {}
    for row in state.rows:
        sums[row.kind] = sums.get(row.kind, 0) + row.tokens
    parts = {
        segment.kind: segment.tokens for segment in state.segments if segment.kind not in ("reserve", "free")
    }
    assert parts == {kind: tokens for kind, tokens in sums.items() if tokens}
    live = {entry.seq for entry in simulator.transcript.window.entries() if isinstance(entry, LogItem)}
    masked = {row.seq for row in state.rows if row.kind == "arguments"}
    assert masked == {
        seq for seq in simulator.transcript.window.masked & live
        if isinstance(simulator.transcript.messages.item(seq).event, AssistantSpoke)  # type: ignore[union-attr]  # it is live
    }  # fmt: skip


@given(histories_with_rewrites())
def test_queued_messages_and_savings_match_the_log(simulator: SessionSimulator) -> None:
    transcript, state = simulator.transcript, _state(simulator)
    assert bool(state.pending_text) == (observation.pending_observations(transcript) is not None)
    if state.pending_text:
        policy, gauge = simulator.policy, _gauge(simulator)
        is_due = gauge.share >= min(policy.observe_place_at, policy.handover_at)
        assert ("next request" in state.pending_text) is (is_due and not transcript.on_hold)
        pending = transcript.rewrites.observations[observation.pending_observations(transcript) or 0]
        before = observation.tokens_in_window(transcript, pending.after, pending.upto)
        change = format_token_change(round(before * gauge.ratio), round(pending.tokens * gauge.ratio))
        assert state.pending_text.endswith(f"({change})")
    active = {
        seq: rewrite
        for seq, rewrite in transcript.rewrites.by_seq.items()
        if transcript.rewrites.is_active(seq)
    }
    rides = [
        rewrite
        for rewrite in active.values()
        if isinstance(rewrite, SweepMade) and rewrite.reason == "handover"
    ]
    assert [saving.tokens for saving in state.cache.savings] == [
        rewrite.before - rewrite.after
        if isinstance(rewrite, HandoverMade)
        else round(rewrite.saved * ratio_before(transcript, seq))
        for seq, rewrite in active.items()
        if hasattr(rewrite, "saved") or isinstance(rewrite, HandoverMade)
        if rewrite not in rides
    ]
    fixed = ("system", "tools", "mcp", "environment", "instructions", "difference")
    contents = break_down_window(simulator.window(), transcript, simulator.frame)
    tokens = sum(item.tokens for item in contents if item.kind not in fixed)
    shown_less = [
        max(0, item.event.full_tokens - item.event.tokens)
        for item in transcript.messages.items
        if isinstance(item.event, ToolAnswered)
    ]
    total = sum(item.tokens for item in transcript.messages.items) + sum(shown_less)
    assert state.cache.saved == max(0, round((total - tokens) * _gauge(simulator).ratio))
    assert state.cache.saved == 0 or active or transcript.window.masked or any(shown_less)


def test_the_handover_that_a_session_starts_with_takes_nothing_from_what_is_kept_out() -> None:
    """It stands in place of another session's messages."""
    made = HandoverMade(1, 0, (), "", "", 0, 400, 0, 400, 9, "m", HandoverTrigger.CONTINUED, origin="s-1")
    saved = []
    for first in ((), (SessionStarted("Go on"), made)):
        simulator = SessionSimulator(PROFILES["plain"])
        for event in first:
            simulator.record(event)
        simulator.send_message("Read it.")
        simulator.step("I read.", 1)
        simulator.answer_call(0, "A line of output.\n" * 400)
        (item,) = [it for it in simulator.transcript.messages.items if isinstance(it.event, ToolAnswered)]
        masked = simulator.transcript.window.masking_savings(item)
        simulator.record(SweepMade((item.seq,), masked, SweepReason.BATCH))
        saved.append((_state(simulator).cache.saved, masked))
    assert saved[0] == saved[1]
    assert saved[0][0] > 0


def test_on_hold_noted_facts_wait_until_it_is_resumed() -> None:
    simulator = conversation_with(8)
    assert prepare_observations(simulator)
    assert "used once you resume" not in _state(simulator).pending_text
    simulator.record(HoldSet(on=True))
    assert "ready: used once you resume compaction (" in _state(simulator).pending_text


def test_a_preview_of_an_attached_file_keeps_the_rest_out_of_context() -> None:
    simulator = build_history(1)
    preview = Attachment("0" * 64, "a.txt", "words of", 20, 64_000, form="preview", full_tokens=12_020)
    simulator.record(UserSpoke("Look.", 2, (preview,)))
    assert _state(simulator).cache.saved == 12_000


_HANDLE = re.compile(r'recall_cached_content\(\\?"[0-9a-f]{64}')


def check_the_counted_markers_are_in_the_request(simulator: SessionSimulator) -> None:
    """Individually: an answer of the agent may have several."""
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    masked = [
        message
        for entry, message in zip(window.entries, window.request.messages[1:], strict=True)
        if (item := getattr(entry, "item", entry))
        and getattr(item, "seq", 0) in simulator.transcript.window.masked
    ]
    # An agent that describes a marker has made none.
    texts = [message.text for message in masked if message.role != "assistant"]
    texts += [call.arguments for message in masked for call in message.calls]
    assert _state(simulator).cache.markers == sum(len(_HANDLE.findall(text)) for text in texts)


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
    divider = next(row for row in rows_from_log(simulator.log)[1] if row.key == RowKey(seq))
    (row,) = [row for row in _state(simulator).rows if row.seq == seq]
    assert isinstance(card, FoldCard)
    assert isinstance(divider, DividerRow)
    assert fold_card_text(card) == f"Removed to fit the context window: {messages}"
    assert divider.text.startswith(f"Removed to fit the context window: {messages} · saved ")
    assert row.why.startswith(f"Replaces {messages}, e")


def test_what_the_provider_reported_beyond_the_rows_is_a_separate_row() -> None:
    """The rows are scaled by the median of its reports."""
    simulator, differences = build_history(1), set()
    for ratio in (1.3, 0.8, 2.0, 1.1):
        simulator.step("On.", 1, usage_ratio=ratio)
        simulator.answer_call(0, "words " * 50)
        rows, ratio_now = _state(simulator).rows, _gauge(simulator).ratio
        window = simulator.window()
        (system, *_) = break_down_window(window, simulator.transcript, simulator.frame)
        assert rows[0].tokens == round(system.tokens * ratio_now)
        difference = rows[-1]
        if ratio_now == ratio:  # the only report, or the median: the rows are what it says
            assert difference.kind != "difference"
            continue
        assert difference.kind == "difference"
        differences.add(difference.tokens)
        assert (difference.name, difference.tokens_text) == (
            "Provider's count differs",
            format_token_difference(difference.tokens),
        )
        total = sum(row.tokens for row in rows)
        assert difference.why == f"All rows above {total - difference.tokens:,} · total {total:,}"
    assert len(differences) >= 2
    assert min(differences) < 0 < max(differences)


def test_what_a_rewrite_saved_is_what_it_takes_off_the_gauge_everywhere() -> None:
    """Also after later reports: with a model that counts fewer tokens than we do."""
    simulator = build_history(1)
    for _ in range(3):
        simulator.step("Reading.", 1, usage_ratio=0.75)
        simulator.answer_call(0, "words of an output " * 400)
    item = simulator.transcript.messages.items[-1]
    saved = simulator.transcript.window.masking_savings(item)
    simulator.record(SweepMade((item.seq,), saved, SweepReason.BATCH))
    seq, less = simulator.transcript.last_seq, _gauge(simulator).used
    simulator.record(Undone(seq))
    assert _gauge(simulator).used - less == pytest.approx(saved * 0.75, abs=2)
    simulator.record(Redone(seq))
    for ratio in (0.75, 1.3, 1.3):
        simulator.step("On.", 1, usage_ratio=ratio)
    card = next(card for card in build_cards(simulator.log, simulator.transcript) if card.seq == seq)
    divider = next(row for row in rows_from_log(simulator.log)[1] if row.key == RowKey(seq))
    assert isinstance(card, SweepCard)
    assert isinstance(divider, DividerRow)
    assert card.saved == pytest.approx(saved * 0.75, abs=2)
    assert divider.text.endswith(f"saved {format_tokens(card.saved)} tokens")
    assert card.saved in [saving.tokens for saving in _state(simulator).cache.savings]


def test_an_output_has_one_number_in_every_place_also_after_later_reports() -> None:
    """Chat, inspector, timeline, cache and command line count it as the model does now."""
    simulator = build_history(1)
    simulator.step("Reading.", 1, usage_ratio=0.8)
    chat_rows = ChatRows()
    transcript, rows = Transcript(), dict[RowKey, Row]()
    simulator.answer_call(0, "words of an output " * 400, form="preview")
    output = simulator.transcript.messages.items[-1]
    assert isinstance(output.event, ToolAnswered)
    choose_form(simulator, output.seq, "full", "words of an output " * 400)
    for ratio in (1.3, 1.3, 1.3):
        simulator.step("On.", 1, usage_ratio=ratio)
    for recorded in simulator.log:
        transcript.apply(recorded)
        rows |= {row.key: row for row in chat_rows.apply(recorded, transcript)}
    ratio = _gauge(simulator).ratio
    rows |= {row.key: row for row in chat_rows.recount(ratio, transcript)}
    state = _state(simulator)
    (inspected,) = [row.tokens for row in state.rows if row.seq == output.seq]
    assert inspected == pytest.approx(simulator.transcript.window.entry_tokens(output) * 1.3, abs=1)
    card = next(row for row in rows.values() if isinstance(row, ToolRow) and row.answer_seq == output.seq)
    tokens = round(card.tokens * ratio)
    assert tokens == pytest.approx(inspected, abs=1)
    words = f"{format_tokens(tokens)} tokens"
    divider = next(row for row in rows.values() if isinstance(row, DividerRow) and row.kind == "form")
    cards = build_cards(simulator.log, simulator.transcript, ratio)
    texts = [found.text for found in cards if isinstance(found, ManualActionCard) and found.kind == "form"]
    assert [divider.text.endswith(words), *(text.endswith(words) for text in texts)] == [True, True]
    preview = next(found for found in cards if isinstance(found, FormCard) and found.seq == output.seq)
    assert preview.after == pytest.approx((output.event.tokens + FRAMING_TOKENS) * 1.3, abs=1)
    (line,) = [line for line in rewrite_lines(simulator.log, ratio) if f"{tokens:,} tokens" in line]
    assert line.startswith("e")


def test_a_change_is_priced_as_the_model_counts_and_by_what_the_provider_has_cached() -> None:
    simulator = build_history(1)
    simulator.step("Reading.", 1, usage_ratio=0.5)
    simulator.answer_call(0, "words of an output " * 400)
    items = break_down_window(
        project(simulator.transcript, simulator.policy, simulator.frame),
        simulator.transcript,
        simulator.frame,
    )
    total = sum(item.tokens for item in items)
    rows = window_rows(items, 0.5, 30)
    assert sum(row.tokens for row in rows) == round(total * 0.5)
    assert [row.tokens for row in rows[:4]] == [round(item.tokens * 0.5) for item in items[:4]]
    assert [row.cachable for row in rows] == [round(item.cachable * 0.5) for item in items]
    assert rows[0].resent == sum(row.tokens for row in rows[1:]) - 30
    assert not any(row.resent for row in window_rows(items, 0.5, total))


def _gauge(simulator: SessionSimulator) -> UsageGauge:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    return measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)


def _state(simulator: SessionSimulator, frame: PromptFrame | None = None) -> InspectorState:
    frame = frame or simulator.frame
    window = project(simulator.transcript, simulator.policy, frame)
    now = measure_usage(window, simulator.transcript, simulator.policy, frame)
    rows = break_down_window(window, simulator.transcript, frame)
    return inspector_state(rows, now, simulator.transcript, simulator.policy, _TOTALS, NO_COMPACTION)


def test_the_ratio_is_shown_with_the_number_of_its_reports() -> None:
    simulator = build_history(1)
    assert _state(simulator).ratio == ""
    for _ in range(2):
        simulator.step("On.", 1, usage_ratio=1.3)
        simulator.answer_call(0, "words")
    assert _state(simulator).ratio == "The provider counts about 1.30 × Helix's count (median of 2 reports)"


@pytest.mark.parametrize(
    ("reported", "expected"), [(0.19, "0.50 × Helix's count or less"), (4.0, "3.00 × Helix's count or more")]
)
def test_a_bound_of_the_ratio_is_not_shown_as_if_it_were_reported(reported: float, expected: str) -> None:
    simulator = build_history(1)
    simulator.step("On.", 1, usage_ratio=reported)
    estimate = f"Estimates use {expected[:4]}."
    assert _state(simulator).ratio == f"The provider counts {expected} (1 report). {estimate}"


def check_the_preview_is_the_request_message_by_message(simulator: SessionSimulator) -> None:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    document = request_document(window, rows)
    full_text, lines = document.text, document.text.split("\n")
    assert [lines[part.line - 1].split(" · ")[0] for part in document.parts] == [
        f"== {part.heading}" for part in document.parts
    ]
    assert sum(part.tokens for part in document.parts) == window.estimate
    index = 0
    for message in window.request.messages:
        index = full_text.index(message.text, index) + len(message.text)
    for row in _state(simulator).rows:
        text = request_row_text(window, rows, row)
        assert text
        assert text in full_text or row.kind in ("tools", "difference")


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


def test_the_tools_of_mcp_servers_are_counted_separately() -> None:
    """Their schemas are a separate row and segment; all rows still add up to the estimate."""
    simulator = build_history(1)
    names = ("read", "mcp__a__x", "mcp__b__y")
    specs = tuple(ToolSpec(name, f"Does {name}.", {"type": "object"}) for name in names)
    frame = msgspec.structs.replace(simulator.frame, tools=specs, tools_tokens=90, mcp_tokens=60)
    window = project(simulator.transcript, simulator.policy, frame)
    rows = break_down_window(window, simulator.transcript, frame)
    assert [(row.kind, row.name, row.tokens) for row in rows[1:3]] == [
        ("tools", "1 tool", 30), ("mcp", "2 MCP tools", 60),
    ]  # fmt: skip
    assert sum(row.tokens for row in rows) == window.estimate
    _, tools, mcp, *_, newest = _state(simulator, frame).rows
    assert request_row_text(window, rows, mcp) == "mcp__a__x\nDoes mcp__a__x.\n\nmcp__b__y\nDoes mcp__b__y."
    assert request_row_text(window, rows, tools) == "read\nDoes read."
    last = window.request.messages[-1].text
    assert last in request_row_text(window, rows, newest)


def check_an_output_is_named_by_its_target_beside_the_icon_of_its_tool(simulator: SessionSimulator) -> None:
    for row in _state(simulator).rows:
        item = simulator.transcript.messages.item(row.seq)
        if item is None or not isinstance(item.event, ToolAnswered):
            assert (row.tool, row.label) == ("", row.name)
            continue
        assert row.tool == item.event.name
        assert row.name.startswith(row.tool), "tooltip and screen reader say it"
        assert row.tooltip.startswith(row.name)
        if item.event.target:
            assert " ".join(item.event.target.split()).startswith(row.label.rstrip("…"))


# One test has many properties: to build a history takes longer than to look at it.
@settings(max_examples=2 * settings().max_examples)
@given(histories() | histories_with_rewrites())
def test_what_is_shown_of_any_window(simulator: SessionSimulator) -> None:
    """Rows, figures and preview fit the request, the gauge and the log."""
    check_the_inspector_adds_up_to_the_gauge(simulator)
    check_an_output_is_named_by_its_target_beside_the_icon_of_its_tool(simulator)
    check_the_inspector_has_each_kind_of_row_in_the_bar_too(simulator)
    check_the_counted_markers_are_in_the_request(simulator)
    check_the_preview_is_the_request_message_by_message(simulator)


def test_an_output_of_the_workspace_folder_has_a_title_and_the_icon_of_its_tool() -> None:
    """Beside the tool's icon, the dot alone said nothing."""
    row = WindowRow(7, "output", "list_directory .", 40, tool="list_directory")
    assert row.label == "Workspace folder"
    simulator = build_history(1)
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    parts = request_document(window, break_down_window(window, simulator.transcript, simulator.frame)).parts
    tools = {part.heading.removeprefix("tool "): part.tool for part in parts if part.kind == "output"}
    assert tools
    assert all(heading == tool for heading, tool in tools.items())
