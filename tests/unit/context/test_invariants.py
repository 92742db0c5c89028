"""The invariants of the context, each over random histories.

Isolation (7) is tested with the workspaces and the store, the user who is never blocked (8) with the agent.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.rewrites import planner, sweep
from helix_desktop.context.window.request_validation import problems, repair_request
from helix_desktop.context.window.usage_gauge import measure_usage
from helix_desktop.context.window.window import NO_OUTPUT, Projector, project
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.rewrite_kinds import SweepReason
from helix_desktop.domain.events.session import AssistantSpoke, RecordedEvent, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import ModelRequest
from tests.support.histories import (
    SESSION_ACTIONS,
    SWEEP_AND_HANDOVER_ACTIONS,
    SessionSimulator,
    disable_folding,
    histories,
    policies,
)
from tests.support.message_linter import lint, lint_alternating, lint_items
from tests.support.reachability import index_digests, parse_index_entry, unreachable_content

REWRITES = (
    SweepMade,
    FoldMade,
    FormChosen,
    ObservationsPlaced,
    HandoverMade,
    Pinned,
    Unpinned,
    Undone,
    Redone,
)
BY_THE_PROGRAM = set(SweepReason) - {SweepReason.OVERFLOW, SweepReason.MANUAL, SweepReason.REFUSED}


def raw(request: ModelRequest) -> list[bytes]:
    """The bytes of each message."""
    return [msgspec.json.encode(message) for message in request.messages]


@given(histories())
def test_1_nothing_is_lost(simulator: SessionSimulator) -> None:
    """Each output, argument and word can be read back from the window, byte for byte, by its handles."""
    assert unreachable_content(simulator) == []


@given(histories())
def test_1_an_index_names_nothing_but_what_was_stored(simulator: SessionSimulator) -> None:
    """Whatever the words in it look like: a name is that of a content, and each word is where it was said."""
    said = {
        one.seq: one.event for one in simulator.log
    }  # an attempt that was retried is not in the transcript
    for digest in index_digests(simulator):
        index = parse_index_entry(simulator.contents[digest])
        assert set(index.digests) <= set(simulator.contents)
        for (seq, kind), words in index.texts.items():
            event = said[seq]
            if kind != "call":
                assert isinstance(event, UserSpoke if kind == "user:" else AssistantSpoke)
                assert words == [event.text]


@given(histories())
def test_2_the_window_is_a_pure_function(simulator: SessionSimulator) -> None:
    """A transcript grown event by event, one built at once, and one from stored bytes give the same bytes."""
    stored = msgspec.json.encode(simulator.log)
    again = Transcript(msgspec.json.decode(stored, type=list[RecordedEvent]))
    assert project(again, simulator.policy, simulator.frame) == simulator.window()
    assert raw(project(again, simulator.policy, simulator.frame).request) == raw(simulator.window().request)
    for sent in simulator.sent_requests:
        prefix = Transcript(simulator.log[: sent.seq])
        assert project(prefix, simulator.policy, simulator.frame) == sent.window


@given(histories())
def test_2_a_projector_shows_what_a_new_one_shows(simulator: SessionSimulator) -> None:
    """After every event, whatever it projected before."""
    transcript, kept = Transcript(), Projector()
    for recorded in simulator.log:
        transcript.apply(recorded)
        assert kept.project(transcript, simulator.policy, simulator.frame) == project(
            transcript, simulator.policy, simulator.frame
        )


@given(histories())
def test_2_a_layout_that_grew_is_one_made_afresh(simulator: SessionSimulator) -> None:
    """After every event: what is taken in bit by bit is what is found out again from all rewrites."""
    transcript = Transcript()
    for recorded in simulator.log:
        transcript.apply(recorded)
        if isinstance(recorded.event, REWRITES):
            twin = transcript.fork()
            twin.rearrange()
            assert (twin.covers, twin.window_entries()) == (transcript.covers, transcript.window_entries())


@given(histories())
def test_3_every_request_is_valid(simulator: SessionSimulator) -> None:
    """No request needs a repair in any wire format, whatever was stopped, folded or undone before it."""
    for sent in simulator.sent_requests:
        messages = sent.request.messages
        assert (lint(messages), lint_alternating(messages), lint_items(messages)) == ([], [], [])
        assert problems(messages) == []


@given(histories())
def test_3_a_cut_off_turn_becomes_valid(simulator: SessionSimulator) -> None:
    """At any moment, closing the open calls and speaking again gives a valid request."""
    simulator.end_turn("stopped", "half an answ")
    simulator.send_message("Go on.")
    messages = simulator.window().request.messages
    assert (lint(messages), lint_alternating(messages), lint_items(messages)) == ([], [], [])


@given(histories())
def test_3_what_is_unanswered_can_be_repaired(simulator: SessionSimulator) -> None:
    """Also the window with calls still open is repaired into a valid one, that keeps everything said."""
    before = simulator.window().request.messages
    mended = repair_request(before)
    if before[-1].role != "assistant" or before[-1].calls:
        assert lint(mended) == []
        assert [one for one in before if one in mended] == list(before)


@given(histories())
def test_3_what_a_model_thought_is_untouched(simulator: SessionSimulator) -> None:
    """A message that stands in the window carries the provider's own form of it, and every call once."""
    window = simulator.window()
    spoken = [
        one for one in window.entries if isinstance(one, LogItem) and isinstance(one.event, AssistantSpoke)
    ]
    sent = [message for message in window.request.messages if message.role == "assistant"]
    for item, message in zip(spoken, sent, strict=True):
        assert isinstance(item.event, AssistantSpoke)
        assert (message.text, message.verbatim) == (item.event.text, item.event.verbatim)
        assert [call.id for call in message.calls] == [call.id for call in item.event.calls]


@given(histories())
def test_4_the_prefix_holds(simulator: SessionSimulator) -> None:
    """A request is a prefix of the next, unless a rewrite lies between them."""
    for former, later in pairwise(simulator.sent_requests):
        between = simulator.log[former.seq : later.seq]
        if not any(isinstance(one.event, REWRITES) for one in between):
            assert raw(later.request)[: len(former.request.messages)] == raw(former.request)


def saving(transcript: Transcript, item: LogItem) -> int:
    """What markers would save of a message as it stands, counted afresh."""
    if isinstance(item.event, ToolAnswered):
        chosen = transcript.rewrites.chosen_forms.get(item.seq)
        return (chosen.tokens if chosen else item.event.tokens) - item.event.marker_tokens
    if isinstance(item.event, UserSpoke):
        return sum(one.tokens - one.marker_tokens for one in item.event.attachments if one.image)
    assert isinstance(item.event, AssistantSpoke)
    return item.event.tokens - item.event.short_tokens


def pictured(item: LogItem) -> bool:
    """Whether it is a message of the person's: only its images can become markers."""
    return isinstance(item.event, UserSpoke)


@given(histories())
def test_5_masked_is_a_state(simulator: SessionSimulator) -> None:
    """Nothing is swept while it is a marker or pinned; each marker saves enough; a sweep says how much."""
    transcript = Transcript()
    for recorded in simulator.log:
        if isinstance(recorded.event, SweepMade):
            masked = set(recorded.event.masked)
            assert masked
            assert not masked & (transcript.masked | transcript.rewrites.pinned)
            items = [item for seq in masked if (item := transcript.item(seq))]
            least = max(1, simulator.policy.least_saving)
            assert all(saving(transcript, one) >= (1 if pictured(one) else least) for one in items)
            assert sum(saving(transcript, one) for one in items) == recorded.event.saved
            if recorded.event.reason in BY_THE_PROGRAM:
                assert not any(pictured(one) for one in items)
                assert all(transcript.steps - one.step >= sweep.MIN_PROTECTED_STEPS for one in items)
        transcript.apply(recorded)
        assert not transcript.masked & transcript.rewrites.pinned


@given(histories())
def test_5_what_is_pinned_or_recalled_often_stays(simulator: SessionSimulator) -> None:
    """A pin shows the output whole; of what was recalled often the program leaves the newest copy."""
    transcript = simulator.transcript
    kept = {}
    for item in transcript.items:
        if isinstance(item.event, ToolAnswered) and item.event.recalled:
            kept[item.event.recalled] = item.seq
    often = {
        seq
        for one, seq in kept.items()
        if transcript.recall_counts[one] >= simulator.policy.protect_recalls > 0
    }
    eager = msgspec.structs.replace(simulator.policy, sweep="at once")
    due = planner.sweep_due(transcript, eager)
    assert not often & set(due.masked if due else ())
    texts = [message.text for message in simulator.window().request.messages]
    for seq in transcript.rewrites.pinned:
        output = transcript.item(seq)
        assert output is not None
        chosen = transcript.rewrites.chosen_forms.get(seq)
        text = chosen.text if chosen else getattr(output.event, "text", "")
        assert not text.strip() or any(one == text or one.endswith(f"\n{text}") for one in texts)


@given(histories())
def test_5_the_tail_is_protected(simulator: SessionSimulator) -> None:
    """A sweep by the policy leaves what is young in model calls and near in tokens."""
    policy, transcript = simulator.policy, simulator.transcript
    for one in sweep.sweep_candidates(transcript, policy):
        item = transcript.item(one.seq)
        assert item is not None
        assert one.seq not in transcript.masked
        age = transcript.steps - item.step
        behind = sum(other.tokens for other in transcript.items if other.seq > one.seq)
        if isinstance(item.event, AssistantSpoke):
            assert age >= max(policy.protect_argument_steps, sweep.MIN_PROTECTED_STEPS)
            assert policy.protect_argument_steps
        else:
            assert age >= policy.protect_steps or behind >= policy.protect_tokens


@given(histories(SWEEP_AND_HANDOVER_ACTIONS, policies().map(disable_folding)))
def test_5_what_the_person_took_back_stays_out(simulator: SessionSimulator) -> None:
    """An undone sweep is not made again by the program: only by the person, or when nothing else fits."""
    transcript = Transcript()
    for recorded in simulator.log:
        if isinstance(recorded.event, SweepMade) and recorded.event.reason in BY_THE_PROGRAM:
            assert not transcript.sweep_exempt & set(recorded.event.masked)
        transcript.apply(recorded)
    undone = [
        seq for seq in simulator.transcript.rewrites.sweeps if seq in simulator.transcript.rewrites.undone
    ]
    taken_back = {seq for made in undone for seq in simulator.transcript.rewrites.sweeps[made].masked}
    due = planner.sweep_due(simulator.transcript, msgspec.structs.replace(simulator.policy, sweep="at once"))
    assert not taken_back & set(due.masked if due else ())


@given(histories())
def test_6_no_rewrite_of_the_program_makes_the_window_larger(simulator: SessionSimulator) -> None:
    """Sweeps, folds and shorter notes free what they say they free."""
    transcript, kept = Transcript(), Projector()
    before = 0
    for recorded in simulator.log:
        transcript.apply(recorded)
        after = kept.project(transcript, simulator.policy, simulator.frame).estimate
        if isinstance(recorded.event, FoldMade | ObservationsPlaced | SweepMade):
            assert after < before, recorded.event
            assert before - after == recorded.event.saved, recorded.event
        before = after


@given(histories())
def test_9_gauge_rows_and_trigger_use_one_number(simulator: SessionSimulator) -> None:
    """The rows name each message once and add up to the estimate; gauge and trigger share a window."""
    window = simulator.window()
    rows = break_down_window(window, simulator.transcript, simulator.frame)
    assert window.estimate == sum(row.tokens for row in rows)
    assert len(rows) == len(window.request.messages) + 1  # the tools are no message
    assert all(row.tokens >= 0 for row in rows)
    now = measure_usage(window, simulator.transcript, simulator.policy, simulator.frame)
    assert now.window == simulator.frame.info.window
    assert now.handover_threshold == int(now.window * simulator.policy.handover_at)
    assert (now.share >= now.handover_threshold / now.window) == (now.used >= now.handover_threshold)
    if (
        now.ratio == 1.0
        and not now.is_reported
        and simulator.transcript.last_rewrite_seq == simulator.transcript.last_seq
    ):
        assert now.used == window.estimate
    due = planner.handover_due(simulator.transcript, simulator.policy, now, 10**12)
    assert due is None or now.used >= now.handover_threshold


@given(histories())
def test_9_the_estimate_counts_what_is_sent(simulator: SessionSimulator) -> None:
    """Each row's tokens are the tokens of its message as it is sent, plus what the wire format adds."""
    window = simulator.window()
    for entry, tokens, message in zip(
        window.entries, window.entry_tokens, window.request.messages[1:], strict=True
    ):
        if isinstance(entry, LogItem) and isinstance(entry.event, ToolAnswered) and entry.event.digest:
            seen = sum(one.tokens for one in message.images)
            assert tokens == len(message.text) // 4 + 1 + FRAMING_TOKENS + seen or message.text == NO_OUTPUT
        if isinstance(entry, LogItem) and isinstance(entry.event, UserSpoke):
            least = sum(one.tokens for one in message.images)
            assert least < tokens <= least + len(message.text) // 4 + 3 + FRAMING_TOKENS


@given(histories())
def test_9_a_model_that_sees_no_images_gets_text(simulator: SessionSimulator) -> None:
    """The same conversation for it: valid, without images, each still named, and fewer tokens."""
    blind = msgspec.structs.replace(simulator.frame.info, images=False)
    seen = simulator.window()
    told = project(
        simulator.transcript, simulator.policy, msgspec.structs.replace(simulator.frame, info=blind)
    )
    assert problems(told.request.messages) == problems(seen.request.messages)
    assert told.estimate == sum(
        one.tokens for one in break_down_window(told, simulator.transcript, simulator.frame)
    )
    images = 0
    for one, other in zip(seen.request.messages, told.request.messages, strict=True):
        assert not other.images
        images += sum(image.tokens for image in one.images)
        assert all(bare_marker(image.digest) in other.text for image in one.images)
    assert told.estimate == seen.estimate - images


@given(histories(actions=SESSION_ACTIONS))
def test_off_changes_nothing(simulator: SessionSimulator) -> None:
    """With the policy off nothing is ever due."""
    off = msgspec.structs.replace(simulator.policy, enabled=False, sweep="at once")
    assert planner.sweep_due(simulator.transcript, off) is None


def test_an_event_must_follow_the_last() -> None:
    """A gap in the log is refused."""
    with pytest.raises(ValueError, match="cannot follow"):
        Transcript([RecordedEvent(2, 0, UserSpoke("Hello", 1))])
