"""The window breakdown: names of its rows, and states of messages."""

from __future__ import annotations

from typing import Literal

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import break_down_window, is_in_full
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, Form
from helix_desktop.domain.messages import ModelInfo, ToolCall
from tests.support.histories import conversation_with


@pytest.mark.parametrize(
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
    transcript = Transcript([RecordedEvent(1, 0, UserSpoke(text, 9))])
    frame = PromptFrame(ModelInfo("box", "small"), "Help.", (), 2, 0)
    window = project(transcript, PROFILES["balanced"], frame)
    (row,) = (item for item in break_down_window(window, transcript, frame) if item.kind == "user")
    assert str(row.name) == name


@pytest.mark.parametrize(
    ("tool", "target", "kind"),
    [("read_file", "notes.md", "output"), ("recall_cached_content", "e4-e9, 'parse'", "recalled")],
)
def test_an_output_is_named_by_its_tool_and_target(tool: str, target: str, kind: str) -> None:
    """What a recall brings of earlier messages, which are no content, is recalled too."""
    call = ToolCall("c", tool, '{"path": "notes.md"}')
    events: list[Event] = [
        UserSpoke("Read it.", 9),
        AssistantSpoke("", "box/small", 9, (call,)),
        ToolAnswered("c", tool, "words", "d" * 64, 5, 1, 1, target=target),
    ]
    transcript = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)])
    frame = PromptFrame(ModelInfo("box", "small"), "Help.", (), 2, 0)
    window = project(transcript, PROFILES["balanced"], frame)
    (row,) = (item for item in break_down_window(window, transcript, frame) if item.kind == kind)
    assert str(row.name) == f"{tool} {target}"


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


@pytest.mark.parametrize(
    ("form", "chosen", "asked", "reason"),
    [
        ("compact", "agent", "names of tests", "The agent asked for: names of tests"),
        ("compact", "user", "names of tests", "You asked for: names of tests"),
        ("preview", "agent", "names of tests", "Chosen by the agent"),
        ("preview", "timeout", "", "The agent didn't choose in time"),
        ("preview", "user", "", "Chosen by you"),
    ],
)
def test_an_output_that_is_not_shown_in_full_says_who_chose_that(
    form: Form, chosen: Literal["agent", "timeout", "user"], asked: str, reason: str
) -> None:
    """What was asked for is in an extract alone: a preview shows the beginning and the end."""
    events: list[Event] = [
        UserSpoke("Run it.", 9),
        AssistantSpoke("", "box/small", 9, (ToolCall("c", "run_command", '{"command": "make"}'),)),
        ToolAnswered(
            "c",
            "run_command",
            "words",
            "d" * 64,
            5,
            1,
            1,
            target="make",
            form=form,
            chosen=chosen,
            asked=asked,
        ),
    ]
    transcript = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)])
    frame = PromptFrame(ModelInfo("box", "small"), "Help.", (), 2, 0)
    window = project(transcript, PROFILES["balanced"], frame)
    (row,) = (item for item in break_down_window(window, transcript, frame) if item.kind == "output")
    assert str(row.why) == f"{reason} · full output stored"


LINES = [f"line {number}\n" for number in range(100)]
NUMBERED = [f"{number}:{line}" for number, line in enumerate(LINES[:90], 1)]


@pytest.mark.parametrize(
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
