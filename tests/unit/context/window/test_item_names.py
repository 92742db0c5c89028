"""The names of a request's messages in the inspector."""

from __future__ import annotations

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ModelInfo, ToolCall


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


def test_an_output_is_named_by_its_tool_and_target() -> None:
    call = ToolCall("c", "read_file", '{"path": "notes.md"}')
    events: list[Event] = [
        UserSpoke("Read it.", 9),
        AssistantSpoke("", "box/small", 9, (call,)),
        ToolAnswered("c", "read_file", "words", "d" * 64, 5, 1, 1, target="notes.md"),
    ]
    transcript = Transcript([RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)])
    frame = PromptFrame(ModelInfo("box", "small"), "Help.", (), 2, 0)
    window = project(transcript, PROFILES["balanced"], frame)
    (row,) = (item for item in break_down_window(window, transcript, frame) if item.kind == "output")
    assert str(row.name) == "read_file notes.md"
