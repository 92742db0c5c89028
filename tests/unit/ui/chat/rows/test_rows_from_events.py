"""The rows of any history: the same at once or step by step, consistent with window and log."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings

from helix_desktop.cli.rewrite_lines import rewrite_lines
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.rewrite_state import Undoable
from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.undo_targets import covers_around, seqs_to_undo
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy, SummaryBlock
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.message_states import MessageStates, is_in_full
from helix_desktop.context.window.window import project, render_message
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Excluded,
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SummaryProblem,
    SweepMade,
    SweepReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import HoldSet, ModeChanged, ModelChosen
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import Usage
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.row_texts import badge_text
from helix_desktop.ui.chat.rows.row_types import (
    HEAD_LINES,
    MIN_HIDDEN_LINES,
    TAIL_LINES,
    AssistantRow,
    ChatModel,
    DividerRow,
    NoticeRow,
    ToolRow,
    UserRow,
)
from helix_desktop.ui.chat.rows.rows_from_events import ChatRows, rows_from_log
from helix_desktop.ui.kit.intents import Redo, ShowInTimeline, Undo
from helix_desktop.ui.outputs.rows import STATE_LABELS
from helix_desktop.ui.outputs.source import content_states
from helix_desktop.ui.timeline.cards import SweepCard, TimelineCard, UndoCard
from helix_desktop.ui.timeline.cards_from_events import build_cards, merge_changes
from helix_desktop.ui.timeline.summary_cards import CompactedCallsCard, CompactedMessagesCard, HandoverCard
from helix_desktop.ui.timeline.usage_points import DROP_KINDS, usage_points
from helix_desktop.words.context_changes import is_by_user
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import translate
from tests.support.histories import SessionSimulator, build_history, histories
from tests.support.rewrite_histories import fold, histories_with_rewrites, output_seqs


def check_rows_are_the_same_built_at_once_or_one_event_at_a_time(simulator: SessionSimulator) -> None:
    rows = ChatRows()
    transcript = Transcript()
    shown = ChatModel()
    for recorded in simulator.log:
        transcript.apply(recorded)
        for row in rows.apply(recorded, transcript):
            for key in row.replaces if isinstance(row, DividerRow) else ():
                shown.remove(key)
            if not isinstance(row, DividerRow) or row.text:
                shown.put(row)
    assert shown.raw_rows() == rows_from_log(simulator.log)[1]


def check_every_message_and_call_has_its_row(simulator: SessionSimulator) -> None:
    _, rows = rows_from_log(simulator.log)
    events = [(recorded.seq, recorded.event) for recorded in simulator.log]
    messages = [event.text for _, event in events if isinstance(event, UserSpoke)]
    assert [row.text for row in rows if isinstance(row, UserRow)] == messages
    answers = [event.text for _, event in events if isinstance(event, AssistantSpoke) and event.text.strip()]
    shown_answers = [row.text for row in rows if isinstance(row, AssistantRow) and row.text]
    folded = [text for row in rows if isinstance(row, DividerRow) for text in row.details]
    assert set(shown_answers) <= set(answers) <= {*shown_answers, *folded}
    answered = [event for _, event in events if isinstance(event, ToolAnswered)]
    cards = {row.answer_seq: row for row in rows if isinstance(row, ToolRow) and row.answer_seq}
    assert [row.digest for _, row in sorted(cards.items())] == [event.digest for event in answered]
    counts = simulator.transcript.messages.counts()
    assert counts.messages == len(messages) + len(shown_answers), "what the session list says"
    assert counts.calls == len([item for item in simulator.transcript.messages.items if item.seq in cards])


def check_the_model_s_name_stands_above_its_first_call(simulator: SessionSimulator) -> None:
    has_name = False
    for row in rows_from_log(simulator.log)[1]:
        match row:
            case UserRow():
                has_name = False
            case AssistantRow():
                assert row.text or not has_name, "once"
                has_name = True
            case ToolRow():
                assert has_name
            case DividerRow(kind="attempt"):
                has_name = False


def check_each_card_shows_its_output_s_state_in_the_request(simulator: SessionSimulator) -> None:
    transcript = simulator.transcript
    cards = [row for row in rows_from_log(simulator.log)[1] if isinstance(row, ToolRow) and row.digest]
    live = {entry.seq: entry for entry in transcript.window.entries() if isinstance(entry, LogItem)}
    copies = {entry.item.seq for entry in transcript.window.entries() if isinstance(entry, PinnedCopy)}
    for card in cards:
        if card.badge == "pinned":
            assert card.answer_seq in transcript.rewrites.pinned
            assert card.answer_seq in live or card.answer_seq in copies
        elif card.badge in ("cached", "repeated"):
            assert render_message(live[card.answer_seq], transcript).text.startswith("[CACHED]")
        elif card.badge == "excluded":
            assert "excluded by the user" in render_message(live[card.answer_seq], transcript).text
        elif card.badge in ("in_window", "recalled"):
            assert card.answer_seq in live
            assert card.answer_seq not in transcript.window.swept
        else:
            assert card.answer_seq not in live
            assert card.answer_seq not in copies


def check_a_card_says_of_its_output_what_the_outputs_page_says(simulator: SessionSimulator) -> None:
    """With the same word, where no other call had the same output."""
    states = content_states(simulator.transcript)
    cards = [row for row in rows_from_log(simulator.log)[1] if isinstance(row, ToolRow) and row.digest]
    counts = Counter(card.digest for card in cards)
    for card in cards:
        state, _ = states[card.digest]
        if counts[card.digest] == 1 and state not in ("in_part", "pinned"):
            assert badge_text(card.badge) == translate(STATE_LABELS[state])


def check_a_card_s_badge_names_the_cover_of_its_step(simulator: SessionSimulator) -> None:
    transcript = simulator.transcript
    names = {FoldMade: {"folded", "truncated"}, ObservationsMade: {"observed"}, HandoverMade: {"handed_over"}}
    for card in rows_from_log(simulator.log)[1]:
        if not isinstance(card, ToolRow) or not card.digest or card.badge == "pinned":
            continue
        covers = [cover for cover in transcript.window.covers if cover.after < card.answer_seq <= cover.upto]
        if covers:
            assert card.badge in names[type(covers[0].event)]
        else:
            assert card.badge in ("in_window", "cached", "repeated", "excluded", "recalled")


def check_a_message_that_is_no_longer_sent_says_so(simulator: SessionSimulator) -> None:
    sent = {entry.seq for entry in simulator.transcript.window.entries() if isinstance(entry, LogItem)}
    for row in rows_from_log(simulator.log)[1]:
        if not isinstance(row, UserRow | AssistantRow):
            continue
        if not (row.is_side if isinstance(row, UserRow) else row.side_note):
            is_left_out = row.key.seq in simulator.transcript.rewrites.excluded
            assert bool(row.context_note) == (is_left_out or row.key.seq not in sent)


def check_a_call_shows_when_its_arguments_are_markers(simulator: SessionSimulator) -> None:
    transcript = simulator.transcript
    marked_calls = 0
    live = {entry.seq: entry for entry in transcript.window.entries() if isinstance(entry, LogItem)}
    rows = {row.key: row for row in rows_from_log(simulator.log)[1] if isinstance(row, ToolRow)}
    for recorded in simulator.log:
        if not isinstance(recorded.event, AssistantSpoke):
            continue
        for call in recorded.event.calls:
            row = rows[RowKey(recorded.seq, call.id, "call")]
            entry = live.get(recorded.seq)
            sent = (
                {call.id: call.arguments for call in render_message(entry, transcript).calls} if entry else {}
            )
            assert row.arguments_cached == (call.id in sent and sent[call.id] != call.arguments)
            marked_calls += bool(row.argument_digests)
    answers = [recorded.event for recorded in simulator.log if isinstance(recorded.event, AssistantSpoke)]
    assert marked_calls == sum(len(answer.short) for answer in answers)


@given(histories_with_rewrites())
def test_the_cache_browser_shows_each_content_s_most_visible_state(simulator: SessionSimulator) -> None:
    transcript = simulator.transcript
    states = content_states(simulator.transcript)
    live = {entry.seq for entry in transcript.window.entries() if isinstance(entry, LogItem)}
    sent = project(transcript, simulator.policy, simulator.frame).request.messages
    in_part = {  # somewhere: a lookup and a preview can be pinned
        item.event.digest
        for item in transcript.messages.items
        if isinstance(item.event, ToolAnswered) and not is_in_full(item.seq, item.event, transcript)
    }
    for item in transcript.messages.items:
        if isinstance(item.event, ToolAnswered) and item.event.digest:
            state, saved = states[item.event.digest]
            assert saved == 0 or state not in ("in_window", "pinned") or item.event.digest in in_part
            if state == "handed_over":
                assert saved >= item.event.full_tokens, "all of an output that was sent in part"
            is_lookup = item.event.recalled and not is_in_full(item.seq, item.event, transcript)
            if item.seq in live - transcript.window.swept and not is_lookup:
                assert state in ("in_window", "in_part", "pinned")
            if state == "cached":
                assert any(item.event.digest in message.text for message in sent)
    arguments: dict[str, set[int]] = {}
    for item in transcript.messages.items:
        for call in item.event.short if isinstance(item.event, AssistantSpoke) else ():
            for digest in call.digests:
                arguments.setdefault(digest, set()).add(item.seq)
    for digest, seqs in arguments.items():
        state, _ = states[digest]
        assert (state == "in_window") == bool(seqs & live - transcript.window.swept)
        assert (state == "cached") == (not seqs & live - transcript.window.swept and bool(seqs & live))


def _is_by_user(event: Undoable) -> bool:
    return not isinstance(event, FormChosen) and is_by_user(event)


def check_each_line_on_the_context_undoes_what_can_be_undone(simulator: SessionSimulator) -> None:
    """There is one for each request, and one for what the user changed before it.

    A sweep made with another rewrite falls and returns with that one.
    """
    transcript = simulator.transcript
    inside = covers_around(simulator.transcript)
    lines = [
        row
        for row in rows_from_log(simulator.log)[1]
        if isinstance(row, DividerRow) and row.kind == "context"
    ]
    answers = [recorded.seq for recorded in simulator.log if isinstance(recorded.event, AssistantSpoke)]
    requests = [sum(seq < row.key.seq for seq in answers) for row in lines]
    by_seq = transcript.rewrites.by_seq
    groups = [*zip(requests, (_is_by_user(by_seq[row.key.seq]) for row in lines), strict=True)]
    assert all(left != right for left, right in pairwise(groups))
    undone: list[int] = []
    for row, request in zip(lines, requests, strict=True):
        end = answers[request] if request < len(answers) else simulator.transcript.last_seq + 1
        made = [seq for seq in transcript.rewrites.by_seq if row.key.seq <= seq < end]
        made = [seq for seq in made if not isinstance(transcript.rewrites.by_seq[seq], FormChosen)]
        own = [seq for seq in made if not _is_attached(transcript, seq)]
        is_users = _is_by_user(by_seq[row.key.seq])
        whose = [_is_by_user(by_seq[seq]) == is_users for seq in own]
        own = own[: whose.index(False)] if False in whose else own
        active = tuple(seq for seq in own if transcript.can_undo(seq) and inside.get(seq, 0) in {0, *own})
        redoable = tuple(seq for seq in own if transcript.can_redo(seq))
        details, *others = row.actions
        assert isinstance(details, ShowInTimeline)
        offered = tuple(seq for seq in redoable if seq not in inside)
        if active:
            assert others == [Undo(active)]
        else:
            assert others == ([Redo(offered)] if offered else [])
        waits = any(seq in inside and (transcript.can_undo(seq) or seq in redoable) for seq in own)
        assert bool(row.undo_first) == (waits and not others), "the later one, as in the timeline"
        assert row.is_undone == (bool(redoable) and not any(map(transcript.can_undo, own)))
        undone += own
    assert set(transcript.rewrites.handovers) <= set(undone), "a handover always has one"


def check_a_redo_is_offered_where_it_changes_the_context(simulator: SessionSimulator) -> None:
    transcript = simulator.transcript
    rewrites = transcript.rewrites
    inside = covers_around(transcript)
    for seq in rewrites.handovers.keys() | rewrites.folds.keys() | rewrites.placements.keys():
        if transcript.can_redo(seq):
            redone = transcript.fork_with(Redone(seq))  # a note over a truncation may take its place
            assert (seq in inside) == (redone.window.covers == transcript.window.covers)


def _is_attached(transcript: Transcript, seq: int) -> bool:
    sweep = transcript.rewrites.by_seq[seq]
    is_attached = isinstance(sweep, SweepMade) and sweep.reason in ATTACHED_SWEEP_REASONS
    return is_attached and seq - 1 in transcript.rewrites.by_seq


def test_a_line_on_the_context_has_the_sizes_of_the_gauge() -> None:
    """Before all that was rewritten for a request and after it; a message that came between is in both."""
    simulator = build_history(12, size=2_000)
    simulator.step("Done.", 0, usage_ratio=1.2)
    before = simulator.gauge().used
    items = [simulator.transcript.messages.item(seq) for seq in output_seqs(simulator)[:4]]
    outputs = [item.event for item in items if item is not None and isinstance(item.event, ToolAnswered)]
    saved = sum(output.tokens - output.marker_tokens for output in outputs)
    simulator.record(SweepMade(tuple(output_seqs(simulator)[:4]), saved, SweepReason.MANUAL))
    swept = simulator.gauge().used
    words = f"Context: {format_tokens(before)} → {format_tokens(swept)} · Cached 4 outputs · by you"
    assert _context_lines(simulator) == [words]
    simulator.send_message("Go on. " * 300)
    assert _context_lines(simulator) == [words], "what comes later changes no figure"
    between = simulator.gauge().used
    simulator.hand_over(1_000)
    after = simulator.gauge().used
    simulator.log = [
        msgspec.structs.replace(
            recorded,
            event=msgspec.structs.replace(recorded.event, before=between, after=after),
        )
        if isinstance(recorded.event, HandoverMade)
        else recorded
        for recorded in simulator.log
    ]
    sizes = f"{format_tokens(before + between - swept)} → {format_tokens(after)}"
    words = f"Context: {sizes} · Handover summary of 11 tool calls of turn 1 · Cached 4 outputs · by you"
    assert _context_lines(simulator) == [words], "the sizes are of both"
    simulator.step("Next.", 0, usage_ratio=1.2)
    assert _context_lines(simulator) == [words], "of what was sent it stays as it is"
    before = simulator.gauge().used
    message = simulator.transcript.messages.user_items[-1]
    freed = simulator.transcript.window.entry_tokens(message) - FRAMING_TOKENS
    simulator.record(Excluded((message.seq,), "", 0, "", freed))
    now = format_tokens(simulator.gauge().used)
    words_of_now = f"Context: {format_tokens(before)} → {now} · Left out · by you"
    assert _context_lines(simulator) == [words, words_of_now], "also behind a handover"


@pytest.mark.parametrize(
    ("kinds", "reason", "words"),
    [
        ((ToolAnswered,), SweepReason.BATCH, "Cached 1 output"),
        ((ToolAnswered,), SweepReason.MANUAL, "Cached 1 output · by you"),
        ((ToolAnswered, UserSpoke), SweepReason.BATCH, "Cached 1 output and images of 1 message"),
        ((UserSpoke,), SweepReason.REFUSED, "Cached images of 1 message · provider refused the images"),
    ],
)
def test_a_line_on_the_context_says_once_what_was_cached_and_why(
    kinds: tuple[type, ...], reason: SweepReason, words: str
) -> None:
    simulator = build_history(12, size=2_000)
    simulator.step("Done.", 0, usage_ratio=1.0)
    for kind in kinds:
        seq = next(recorded.seq for recorded in simulator.log if isinstance(recorded.event, kind))
        simulator.record(SweepMade((seq,), 100_000, reason))
    (line,) = _context_lines(simulator)
    assert line.endswith(f" · {words}")


def test_a_line_on_the_context_has_no_undo_of_something_else_in_its_sizes() -> None:
    """It said that the context grew: 5.3k → 16k tokens, something left out."""
    simulator = build_history(12, size=2_000)
    outputs = output_seqs(simulator)
    (swept,) = simulator.record(SweepMade(tuple(outputs[:4]), 2_000, SweepReason.MANUAL))
    simulator.step("Done.", 0, usage_ratio=1.0)
    simulator.record(SweepMade((outputs[4],), 400, SweepReason.MANUAL))
    simulator.record(Undone(swept.seq))
    simulator.record(SweepMade((outputs[5],), 400, SweepReason.MANUAL))
    after = simulator.gauge().used
    line = f"Context: {format_tokens(after + 800)} → {format_tokens(after)} · Cached 2 outputs · by you"
    assert _context_lines(simulator)[1:] == [line]


def test_a_line_on_the_context_counts_as_the_model_that_was_chosen_for_the_session() -> None:
    """It has reported nothing yet: the ratio of the model before says nothing of it."""
    simulator = build_history(12, size=2_000)
    simulator.step("Done.", 0, usage_ratio=1.2)
    other = msgspec.structs.replace(simulator.frame.info, name="other")
    simulator.frame = msgspec.structs.replace(simulator.frame, info=other)
    simulator.record(ModelChosen(other.label))
    simulator.record(SweepMade(tuple(output_seqs(simulator)[:4]), 2_000, SweepReason.MANUAL))
    (line,) = _context_lines(simulator)
    assert f" → {format_tokens(simulator.gauge().used)} · " in line


def test_an_undo_while_the_model_answers_leaves_the_sizes_of_later_rewrites_true() -> None:
    """The window at the end of that answer is not the one that its request was."""
    simulator = build_history(12, size=2_000)
    simulator.frame = msgspec.structs.replace(simulator.frame, system_tokens=3_000)
    simulator.step("Done.", 0, usage_ratio=1.0)
    outputs = [recorded.event for recorded in simulator.log if isinstance(recorded.event, ToolAnswered)]
    saved = [output.tokens - output.marker_tokens for output in outputs]
    (swept,) = simulator.record(
        SweepMade(tuple(output_seqs(simulator)[:4]), sum(saved[:4]), SweepReason.MANUAL)
    )
    sent = simulator.gauge().used
    (undone,) = simulator.record(Undone(swept.seq))
    simulator.step("Meanwhile.", 0, usage_ratio=1.0)
    for place, recorded in enumerate(simulator.log):
        if recorded.seq > undone.seq and isinstance(recorded.event, AssistantSpoke):
            answer = msgspec.structs.replace(
                recorded.event, estimate=sent, usage=Usage(sent, 10), sent_after=undone.seq - 1
            )
            simulator.log[place] = msgspec.structs.replace(recorded, event=answer)
    simulator.transcript = Transcript(simulator.log)
    assert f" → {format_tokens(sent)} · " in _context_lines(simulator)[0], "its request was sent with it"
    simulator.record(Redone(swept.seq))
    before = simulator.gauge().used
    simulator.record(SweepMade(tuple(output_seqs(simulator)[4:8]), sum(saved[4:8]), SweepReason.MANUAL))
    sizes = f"{format_tokens(before)} → {format_tokens(simulator.gauge().used)}"
    words = f"Context: {sizes} · Cached 4 outputs · by you"
    assert _context_lines(simulator)[-1] == words


def test_little_that_leaves_the_context_has_no_line() -> None:
    """Below 5 % of the context window; more before the same request adds up."""
    simulator = build_history(12, size=2_000)
    simulator.step("Done.", 0, usage_ratio=1.0)
    answer = simulator.log[-2]
    ended = simulator.log[-1]
    assert isinstance(answer.event, AssistantSpoke)
    window = simulator.gauge().used * 4
    simulator.log[-2:] = [
        msgspec.structs.replace(answer, event=msgspec.structs.replace(answer.event, window=window)),
        ended,
    ]
    for freed, count in ((window // 50, 0), (window // 50, 0), (window // 50, 1)):
        seq = output_seqs(simulator)[0]
        simulator.record(SweepMade((seq,), freed, SweepReason.MANUAL))
        assert len(_context_lines(simulator)) == count


def test_a_line_counts_what_the_user_had_brought_back() -> None:
    """However little it freed; the line and the command's say that it overrides an undo."""
    simulator = build_history(12, size=2_000)
    simulator.step("Done.", 0, usage_ratio=1.0)
    seqs = tuple(output_seqs(simulator)[:3])
    (swept,) = simulator.record(SweepMade(seqs[:2], 10, SweepReason.BATCH))
    simulator.record(Undone(swept.seq))
    simulator.step("Next.", 0, usage_ratio=1.0)
    simulator.record(SweepMade(seqs, 15, SweepReason.OVERFLOW))
    words = "Cached 3 outputs · with 2 messages that you had restored"
    assert [line for line in _context_lines(simulator) if line.endswith(words)]
    *_, last = rewrite_lines(simulator.log)
    assert last.endswith(" · with 2 messages that you had restored")
    simulator.record(Undone(simulator.transcript.last_seq))
    simulator.send_message("Go on. " * 300)
    simulator.step("Then.", 0, usage_ratio=1.0)
    assert simulator.transcript.restored == set(seqs)
    simulator.hand_over(1_000)
    assert _context_lines(simulator)[-1].endswith("by you · with 3 messages that you had restored")


def _context_lines(simulator: SessionSimulator) -> list[str]:
    rows = rows_from_log(simulator.log)[1]
    return [row.text for row in rows if isinstance(row, DividerRow) and row.kind == "context"]


def test_one_undo_takes_back_all_that_was_done_before_a_request() -> None:
    """Also what lies inside another: outputs that were cached, in a note that was shortened."""
    simulator = build_history(12, size=2_000)
    simulator.step("Done.", 0)
    before = simulator.window().request
    outputs = output_seqs(simulator)
    simulator.record(SweepMade(tuple(outputs[:4]), 9_000, SweepReason.OVERFLOW))
    for kind in ("fold", "truncate"):
        fold(simulator, (0, outputs[4]), kind)
    rows = rows_from_log(simulator.log)[1]
    (line,) = (row for row in rows if isinstance(row, DividerRow) and row.kind == "context")
    (undo,) = (action for action in line.actions if isinstance(action, Undo))
    changes = merge_changes(build_cards(simulator.log, simulator.transcript), read_steps(simulator.log))
    assert sorted(changes[0].undo_seqs) == sorted(undo.seqs)
    simulator.record(*map(Undone, seqs_to_undo(simulator.transcript, undo.seqs)))
    assert simulator.window().request == before


def test_a_line_counts_words_that_the_user_had_brought_back_too() -> None:
    """A conversation without an output was compacted again after its undo, without a word."""
    simulator = SessionSimulator(PROFILES["classic"])
    for number in range(8):
        simulator.send_message(f"Question {number}?")
        simulator.step("Because it is so. " * 40, 0, usage_ratio=1.0)
    simulator.hand_over(1_000)
    assert not simulator.transcript.retaken
    simulator.record(Undone(max(simulator.transcript.rewrites.handovers)))
    restored = simulator.transcript.restored
    assert len(restored) > 4
    simulator.send_message("Go on.")
    simulator.step("Then.", 0, usage_ratio=1.0)
    simulator.hand_over(1_000)
    assert _context_lines(simulator)[-1].endswith(f"with {len(restored)} messages that you had restored")


def test_a_compaction_whose_edited_handover_is_redone_is_not_called_undone() -> None:
    simulator = build_history(12, size=2_000)
    simulator.hand_over(1_000)
    ((first, handover),) = simulator.transcript.rewrites.handovers.items()
    simulator.record(msgspec.structs.replace(handover, replaces=(first,), revises=first))
    edited = simulator.transcript.last_seq
    for event in (Undone(edited), Undone(first), Redone(edited)):
        simulator.record(event)
    check_each_line_on_the_context_undoes_what_can_be_undone(simulator)
    assert not simulator.transcript.can_redo(first), "its messages are summarized as it is"
    cards = build_cards(simulator.log, simulator.transcript)
    assert not any(isinstance(card, HandoverCard) and card.is_undone for card in cards)
    simulator.record(Undone(edited))
    check_each_line_on_the_context_undoes_what_can_be_undone(simulator)
    assert simulator.transcript.can_redo(first)


def test_a_long_output_shows_its_ends_and_no_line_twice() -> None:
    simulator = SessionSimulator(build_history(1).policy)
    simulator.send_message("Begin.")
    most = HEAD_LINES + TAIL_LINES + MIN_HIDDEN_LINES - 1  # that are shown whole
    for count in (0, 1, HEAD_LINES, HEAD_LINES + 3, most, most + 1, 200):
        simulator.step("", 1)
        simulator.answer_call(0, "".join(f"line {n}\n" for n in range(count)))
        row = [shown_row for shown_row in rows_from_log(simulator.log)[1] if isinstance(shown_row, ToolRow)][
            -1
        ]
        shown_lines = [*row.shown_lines.head.splitlines(), *row.shown_lines.tail.splitlines()]
        assert row.shown_lines.lines == count
        assert len(shown_lines) == (count if count <= most else HEAD_LINES + TAIL_LINES)
        assert bool(row.shown_lines.tail) == (count > most), (
            "buttons stand before the last lines only if some are hidden"
        )
        assert len(set(shown_lines)) == len(shown_lines)
        assert not count or shown_lines[-1] == f"line {count - 1}"


_CARDS = (
    SweepMade | HandoverMade | HandoverFailed | FoldMade | ObservationsMade | ObservationsPlaced
    | ObservationsFailed | FormChosen | Excluded | HoldSet | Pinned | Unpinned | Undone | Redone
)  # fmt: skip


def _has_card(event: Event) -> bool:
    if isinstance(event, HandoverFailed) and event.is_refusal:
        return False
    if isinstance(event, HandoverDiscarded):
        return event.prepared is not None
    if isinstance(event, ToolAnswered) and event.outcome == "ran" and not event.recalled:
        return event.form != "full" or event.chosen != "rule" or event.full_tokens > 0
    if isinstance(event, HandoverDiscarded):
        return event.prepared is not None
    return isinstance(event, _CARDS) or (isinstance(event, TurnEnded) and event.how == "failed")


def _is_rewrite(card: TimelineCard) -> bool:
    """Return False for a checkpoint, which changes no request."""
    return not (isinstance(card, HandoverCard) and card.is_checkpoint)


def check_the_timeline_has_a_card_for_each_rewrite_newest_first(simulator: SessionSimulator) -> None:
    transcript = simulator.transcript
    all_cards = build_cards(simulator.log, transcript)
    placed = {card.facts.seq for card in all_cards if isinstance(card, CompactedMessagesCard)}
    undos = {recorded.seq: recorded.event for recorded in simulator.log}
    newest = {undo.target: seq for seq, undo in undos.items() if isinstance(undo, Undone | Redone)}
    assert [card.seq for card in all_cards] == [
        recorded.seq
        for recorded in reversed(simulator.log)
        if _has_card(recorded.event)
        and recorded.seq not in placed
        and (not isinstance(recorded.event, Undone | Redone) or newest[recorded.event.target] == recorded.seq)
    ]
    cards = [*filter(_is_rewrite, all_cards)]
    for card in cards:
        if isinstance(card, HandoverCard) and card.is_checkpoint:
            assert card.seq in transcript.checkpoints
        elif isinstance(card, HandoverCard | SweepCard | CompactedCallsCard | CompactedMessagesCard):
            assert card.is_undone == (not transcript.rewrites.is_active(card.seq))
        if isinstance(card, UndoCard):
            assert all(map(transcript.rewrites.is_undoable, card.targets))
    titles = [card.title for card in cards if isinstance(card, HandoverCard)]
    assert len(set(titles)) == len(titles)
    assert all(title.startswith(("Compacted ", "Handover summary of ")) for title in titles)


def check_each_wide_card_is_in_the_window_or_undone_or_inside_another(
    simulator: SessionSimulator,
) -> None:
    transcript = simulator.transcript
    covering = {cover.seq for cover in transcript.window.covers}
    cards = [*filter(_is_rewrite, build_cards(simulator.log, transcript))]
    states = MessageStates(transcript)  # what a summary keeps is in no cover
    for card in cards:
        if isinstance(card, SweepCard) and not card.is_undone:
            swept = transcript.rewrites.of_kind(SweepMade)[card.seq].swept
            assert bool(card.inside) == all(states.cover_of(seq) is not None for seq in swept)
        if not isinstance(card, HandoverCard | CompactedCallsCard):
            continue
        if isinstance(card, HandoverCard) and card.is_checkpoint:
            assert not card.inside  # it stands in no window
            continue
        if card.seq in covering:
            assert not card.is_undone
            assert not card.inside
        elif not card.is_undone:
            assert card.inside


def check_a_fold_s_card_describes_the_fold(simulator: SessionSimulator) -> None:
    folds = {
        recorded.seq: recorded.event for recorded in simulator.log if isinstance(recorded.event, FoldMade)
    }
    window = simulator.transcript.window
    listed = {
        entry.seq: window.entry_tokens(entry)
        for entry in window.entries()
        if isinstance(entry, SummaryBlock) and not window.exclusions_of(entry)
    }
    for card in build_cards(simulator.log, simulator.transcript):
        if isinstance(card, CompactedCallsCard):
            fact = folds[card.seq]
            tokens = fact.tokens + FRAMING_TOKENS
            assert tokens == listed.get(card.seq, tokens), "the panel's figure"
            assert card.event == fact


def check_points_are_in_order_and_never_below_zero(simulator: SessionSimulator) -> None:
    points = usage_points(simulator.log, simulator.policy)
    assert [point.seq for point in points] == sorted(point.seq for point in points)
    assert all(point.used >= 0 for point in points)
    kinds = SweepMade | HandoverMade | FoldMade | ObservationsPlaced
    rewrites = [recorded.seq for recorded in simulator.log if isinstance(recorded.event, kinds)]
    assert rewrites == [point.seq for point in points if point.kind in DROP_KINDS]


# One test has many properties: to build a history takes longer than to look at it.
@settings(max_examples=2 * settings().max_examples)
@given(histories() | histories_with_rewrites())
def test_what_is_shown_of_any_history(simulator: SessionSimulator) -> None:
    """Rows of the chat, cards of the timeline and points of the chart fit the log."""
    check_rows_are_the_same_built_at_once_or_one_event_at_a_time(simulator)
    check_every_message_and_call_has_its_row(simulator)
    check_the_model_s_name_stands_above_its_first_call(simulator)
    check_each_card_shows_its_output_s_state_in_the_request(simulator)
    check_a_card_says_of_its_output_what_the_outputs_page_says(simulator)
    check_a_card_s_badge_names_the_cover_of_its_step(simulator)
    check_a_message_that_is_no_longer_sent_says_so(simulator)
    check_a_call_shows_when_its_arguments_are_markers(simulator)
    check_each_line_on_the_context_undoes_what_can_be_undone(simulator)
    check_a_redo_is_offered_where_it_changes_the_context(simulator)
    check_the_timeline_has_a_card_for_each_rewrite_newest_first(simulator)
    check_each_wide_card_is_in_the_window_or_undone_or_inside_another(simulator)
    check_a_fold_s_card_describes_the_fold(simulator)
    check_points_are_in_order_and_never_below_zero(simulator)


def test_a_refused_handover_is_told_once_and_quietly() -> None:
    """It changed and cost nothing; one that was paid for is a warning each time."""
    refused = HandoverFailed("It wasn't compacted.", "It would free too little.")
    paid = HandoverFailed("It wasn't compacted.", "It would free too little.", spent=900)
    log = [RecordedEvent(seq, 0, event) for seq, event in enumerate((refused, refused, paid, paid), 1)]
    notices = [row for row in rows_from_log(log)[1] if isinstance(row, NoticeRow)]
    assert [row.level for row in notices] == ["info", "warning", "warning"]


def test_an_answer_that_arrives_stays_below_what_is_recorded_meanwhile() -> None:
    """The log has the same order, so that it is the same after a restart."""
    model = ChatModel()
    model.append(AssistantRow(RowKey(1, part="arriving"), "", streaming=True))
    model.append(NoticeRow(RowKey(4), "info", "It wasn't compacted."))
    assert [model.raw_row(at).key.seq for at in range(2)] == [4, 1]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([ModeChanged("plan"), ModeChanged("auto")], ["Auto"]),
        ([ModeChanged("plan"), ModeChanged("auto"), ModeChanged("ask")], []),
        ([ModeChanged("plan"), ModeChanged("ask"), ModeChanged("plan")], ["Plan"]),
        ([ModeChanged("plan"), UserSpoke("Go", 1), ModeChanged("auto"), ModeChanged("ask")], ["Plan", "Ask"]),
    ],
)
def test_successive_mode_changes_have_one_row(events: list[Event], expected: list[str]) -> None:
    log = [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, start=1)]
    _, rows = rows_from_log(log)
    texts = [row.text.split()[0] for row in rows if isinstance(row, DividerRow)]
    assert texts == expected


def test_failed_notes_say_what_they_used() -> None:
    """Only the usage of the session grew. They also say when the attempts end."""
    failed = ObservationsFailed(
        "Older messages weren't noted.", "It says nothing.", 1_794, 0.0054, problem=SummaryProblem.SHORT
    )
    _, rows = rows_from_log([RecordedEvent(seq, 0, failed) for seq in (1, 2, 3)])
    used = "This attempt used 1.8k tokens \N{MIDDLE DOT} $0.0054."
    later = f"{used} Helix tries again later, until 3 attempts in a row have failed."
    over = f"{used} Helix doesn't try again by itself. The last 3 attempts failed or freed too little."
    assert [row.fix for row in rows if isinstance(row, NoticeRow)] == [later, later, over]


def test_the_line_of_a_change_made_while_calls_run_stands_above_their_outputs() -> None:
    """Its sizes are without them: below, it would claim to be what the outputs were made to."""
    simulator = build_history(12, size=2_000)
    seqs = tuple(output_seqs(simulator)[:6])
    simulator.step("Reading.", 2, usage_ratio=1.0)
    simulator.record(SweepMade(seqs, 9_000, SweepReason.BATCH))
    simulator.answer_all_calls("rest")
    live = ChatModel()
    rows = ChatRows()
    transcript = Transcript()
    for recorded in simulator.log:
        transcript.apply(recorded)
        live.put_all(rows.apply(recorded, transcript))
    expected = [AssistantRow, DividerRow, ToolRow, ToolRow]
    assert [type(row) for row in rows_from_log(simulator.log)[1]][-4:] == expected
    assert [type(row) for row in live.raw_rows()][-4:] == expected


def test_the_name_above_calls_stays_there_where_the_context_changes_before_their_outputs() -> None:
    """A line stood between the name and the calls, and read as if the agent had said nothing."""
    simulator = build_history(12, size=8_000)
    simulator.step("Done.", 0, usage_ratio=1.0)
    simulator.send_message("Go on.")
    outputs = output_seqs(simulator)
    first = simulator.transcript.last_seq
    simulator.record(SweepMade(tuple(outputs[:3]), 6_000, SweepReason.OVERFLOW))
    simulator.step("", 1, usage_ratio=1.0)
    simulator.record(SweepMade(tuple(outputs[3:6]), 6_000, SweepReason.BATCH))
    rows = [row for row in rows_from_log(simulator.log)[1] if row.key.seq > first]
    assert [type(row) for row in rows] == [DividerRow, DividerRow, AssistantRow, ToolRow]


def test_changes_before_and_after_an_output_are_two_lines_and_two_cards() -> None:
    """One line at the place of the first had the sizes of both added: more than the window."""
    simulator = build_history(12, size=8_000)
    simulator.step("Done.", 0, usage_ratio=1.0)
    simulator.send_message("Go on.")
    outputs = output_seqs(simulator)
    first = simulator.transcript.last_seq
    simulator.step("I look.", 1, usage_ratio=1.0)
    simulator.record(SweepMade(tuple(outputs[:3]), 6_000, SweepReason.BATCH))
    before = _context_lines(simulator)[-1]
    simulator.answer_call(0, "word " * 3_000)
    simulator.record(SweepMade(tuple(outputs[3:6]), 6_000, SweepReason.OVERFLOW))
    assert _context_lines(simulator)[-2] == before
    rows = [row for row in rows_from_log(simulator.log)[1] if row.key.seq > first]
    assert [type(row) for row in rows] == [AssistantRow, DividerRow, ToolRow, DividerRow]
    cards = merge_changes(build_cards(simulator.log, simulator.transcript), read_steps(simulator.log))
    assert sum(isinstance(card, SweepCard) and card.seq > first for card in cards) == 2


def test_what_the_user_cached_has_a_line_and_a_card_of_its_own() -> None:
    """One line said "by you" of what Helix compacted before the same request."""
    simulator = build_history(12, size=8_000)
    simulator.step("Done.", 0, usage_ratio=1.0)
    first, *others = output_seqs(simulator)[:5]
    simulator.record(SweepMade((first,), 5_000, SweepReason.MANUAL))
    simulator.record(SweepMade(tuple(others), 9_000, SweepReason.BATCH))
    mine, own = _context_lines(simulator)[-2:]
    assert mine.endswith("Cached 1 output · by you")
    assert own.endswith("Cached 4 outputs")
    steps = read_steps(simulator.log)
    cards = merge_changes(build_cards(simulator.log, simulator.transcript), steps)
    assert [len(card.event.swept) for card in cards if isinstance(card, SweepCard)][:2] == [4, 1]
