"""Windows: what they were at an event, what they consist of, and how they are laid out."""

from __future__ import annotations

from random import Random
from typing import Literal

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.message_states import is_in_full
from helix_desktop.context.window.past_windows import PastWindows
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import WindowItem, break_down_window
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, Form, Undone
from helix_desktop.domain.messages import ModelInfo, ToolCall, Usage
from tests.support.histories import SessionSimulator, build_history, conversation_with, histories
from tests.support.session_simulator import assistant_event
from tests.support.tables import for_each


def check_every_request_is_seen_again_as_it_was_sent(simulator: SessionSimulator, rng: Random) -> None:
    """In any order of looking, whatever was folded, handed over, undone, retried or branched since."""
    past = PastWindows(simulator.log)
    answers = {step.seq: simulator.log[step.seq - 1].event for step in read_steps(simulator.log)}
    newest = {request.seq + 1: request for request in simulator.sent_requests}  # a branch has its own again
    sent = [
        request
        for seq, request in newest.items()
        if getattr(answers.get(seq), "estimate", 0) == request.window.estimate
    ]
    rng.shuffle(sent)
    for request in sent:
        past_window = past.window_at(request.seq + 1, simulator.policy, simulator.frame)
        assert past_window.window == request.window
        assert past_window.is_exact
        assert sum(row.tokens for row in past_window.items()) == request.window.estimate


def check_stored_states_change_nothing(simulator: SessionSimulator, data: st.DataObject) -> None:
    """A state that was reached from another one is the one that the log gives from its beginning."""
    past = PastWindows(simulator.log)
    for seq in data.draw(st.lists(st.integers(0, len(simulator.log)), max_size=5)):
        plain = Transcript(simulator.log[:seq])
        state = past.transcript_at(seq)
        assert project(state, simulator.policy, simulator.frame) == project(
            plain, simulator.policy, simulator.frame
        )
        assert (state.messages.turns, state.messages.steps, state.last_seq) == (
            plain.messages.turns,
            plain.messages.steps,
            seq,
        )


@given(histories(), st.randoms(use_true_random=False), st.data())
def test_the_past_of_any_history(simulator: SessionSimulator, rng: Random, data: st.DataObject) -> None:
    """Its requests and its states."""
    check_every_request_is_seen_again_as_it_was_sent(simulator, rng)
    check_stored_states_change_nothing(simulator, data)


def test_a_rewrite_that_came_while_the_model_answered_is_in_no_past_request_of_that_step() -> None:
    simulator = build_history(steps=3, size=4_000)
    handover = simulator.hand_over(0)
    assert handover is not None
    undoable = simulator.transcript.last_seq
    before = simulator.window()
    simulator.record(Undone(next(iter(simulator.transcript.rewrites.handovers))))
    answer = msgspec.structs.replace(
        assistant_event(simulator, "Fine.", ()), estimate=before.estimate, usage=Usage(777, 1)
    )
    simulator.record(answer)
    past_window = PastWindows(simulator.log).window_at(
        simulator.transcript.last_seq, simulator.policy, simulator.frame
    )
    assert (past_window.window, past_window.seq, past_window.gauge.used) == (before, undoable, 777)
    assert past_window.gauge.is_reported


def test_a_request_of_another_model_and_policy_says_that_it_is_not_exact() -> None:
    simulator = build_history(steps=2, size=400)
    answer = msgspec.structs.replace(
        assistant_event(simulator, "Fine.", ()), model="other/large", window=64_000, estimate=12
    )
    simulator.record(answer)
    frame = msgspec.structs.replace(simulator.frame, ratio=1.5)  # as known of today's model
    past_window = PastWindows(simulator.log).window_at(simulator.transcript.last_seq, simulator.policy, frame)
    assert past_window.gauge.ratio == 1.0
    assert past_window.is_exact is False
    assert (past_window.gauge.window, past_window.frame.info.label) == (64_000, "other/large")


def test_steps_are_counted_in_their_turn_and_a_repeated_one_has_its_number_again() -> None:
    simulator = build_history(steps=2, size=60)
    simulator.end_turn("failed", "I was about to")
    simulator.retry()
    simulator.step("Now.", 1)
    simulator.answer_all_calls("rest")
    simulator.step("Done.", 0)
    simulator.send_message("And again.")
    simulator.step("Yes.", 0)
    steps = [(step.turn, step.number) for step in read_steps(simulator.log)]
    assert steps == [(1, 1), (1, 2), (1, 3), (1, 3), (1, 4), (2, 1)]


def row_of(kind: str, *events: Event) -> WindowItem:
    """The only row of a kind in the breakdown of a window."""
    transcript = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)])
    frame = PromptFrame(ModelInfo("box", "small"), "Help.", (), 2, 0)
    window = project(transcript, PROFILES["balanced"], frame)
    (row,) = (item for item in break_down_window(window, transcript, frame) if item.kind == kind)
    return row


@for_each(
    ("text", "name"),
    [
        (
            "Both are done.\n\n- **Offset:** edited `a.toml`\n- Suite",
            "Both are done. Offset: edited a.toml Suite",
        ),
        ("# Plan\n1. Read\n2. Write", "Plan Read Write"),
        ("**", "**"),
        ("5 - 3 is 2", "5 - 3 is 2"),
        ("word " * 90, "word " * 17 + "word…"),
    ],
)
def test_a_message_is_named_by_its_beginning_as_plain_text(text: str, name: str) -> None:
    """No mark of a list stands in the middle of a line."""
    assert str(row_of("user", UserSpoke(text, 9)).name) == name


def answered(tool: str, target: str) -> tuple[UserSpoke, AssistantSpoke, ToolAnswered]:
    return (
        UserSpoke("Do it.", 9),
        AssistantSpoke("", "box/small", 9, (ToolCall("c", tool, "{}"),)),
        ToolAnswered("c", tool, "words", "d" * 64, 5, 1, 1, target=target),
    )


def test_an_output_is_named_by_its_tool_and_target() -> None:
    """What a recall brings of earlier messages, which are no content, is recalled too."""
    assert str(row_of("output", *answered("read_file", "notes.md")).name) == "read_file notes.md"
    recalled = row_of("recalled", *answered("recall_cached_content", "e4-e9, 'parse'"))
    assert str(recalled.name) == "recall_cached_content e4-e9, 'parse'"


def test_a_row_knows_the_question_of_its_turn_that_is_compacted() -> None:
    """The note over the end of one turn and the beginning of the next is of neither."""
    simulator = conversation_with(2)
    ends = [item for item in simulator.transcript.messages.items if isinstance(item.event, AssistantSpoke)]
    questions = [item.seq for item in simulator.transcript.messages.user_items]
    simulator.record(FoldMade(ends[2].seq - 1, ends[5].seq - 1, "Notes.", 9, "d" * 64, 3, 3, 90))
    rows = break_down_window(simulator.window(), simulator.transcript, simulator.frame)
    listed = [(row.kind, row.question, row.question_name) for row in rows if row.seq]
    before, after = [(questions[at], f"Do task {at}. Always use tabs.") for at in range(2)]
    assert [each for each in listed if each[0] == "fold"] == [("fold", 0, "")]
    assert {each[1:] for each in listed[: listed.index(("fold", 0, ""))]} == {before}
    assert {each[1:] for each in listed[listed.index(("fold", 0, "")) + 1 :]} == {after}
    assert questions[1] not in [row.seq for row in rows]


@for_each(
    ("form", "chosen", "asked", "reason"),
    [
        ("compact", "agent", "names of tests", "The agent asked for: names of tests"),
        ("compact", "user", "names of tests", "You asked for: names of tests"),
        ("preview", "agent", "names of tests", "Chosen by the agent"),
        ("preview", "timeout", "", "The model was too slow to choose a part"),
        ("preview", "user", "", "Chosen by you"),
    ],
)
def test_an_output_that_is_not_shown_in_full_says_who_chose_that(
    form: Form, chosen: Literal["agent", "timeout", "user"], asked: str, reason: str
) -> None:
    """What was asked for is in an extract alone: a preview shows the beginning and the end."""
    user, agent, output = answered("run_command", "make")
    output = msgspec.structs.replace(output, form=form, chosen=chosen, asked=asked)
    assert str(row_of("output", user, agent, output).why) == f"{reason} · full output stored"


LINES = [f"line {number}\n" for number in range(100)]
NUMBERED = [f"{number}:{line}" for number, line in enumerate(LINES[:90], 1)]


@for_each(
    ("content", "text", "is_full"),
    [
        ("".join(LINES), "Recalled 0123 · run make\n" + "".join(LINES), True),
        ("".join(LINES), "Recalled 0123 · run make · lines 1-90 of 100\n" + "".join(NUMBERED), False),
        ("a\nb\n", "Recalled 0123 · run make · lines 1-1 of 2\n1:a\n", False),
        ("", "Recalled 0123 · run make · is empty (0 bytes).", True),
    ],
)
def test_a_recall_of_some_lines_does_not_show_all(content: str, text: str, is_full: bool) -> None:
    """Its heading and the numbers of its lines can be longer than what they leave out."""
    data = content.encode()
    digest = digest_of(data)
    recall = ToolAnswered(
        "c", "recall_cached_content", text, digest, len(data), 9, 5, whole=False, recalled=digest
    )
    assert is_in_full(1, recall, Transcript()) == is_full
