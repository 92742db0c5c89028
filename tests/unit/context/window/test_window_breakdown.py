"""The window breakdown: names of its rows, states of messages, what changed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.past_windows import PastWindows
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.context.window.window_breakdown import break_down_window, compare_windows, is_in_full
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.messages import ModelInfo, ToolCall
from tests.support.histories import SessionSimulator, histories
from tests.support.rewrite_histories import histories_with_rewrites


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


@given(histories() | histories_with_rewrites(), st.data())
def test_then_and_all_changes_add_up_to_now(simulator: SessionSimulator, data: st.DataObject) -> None:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    now = break_down_window(window, simulator.transcript, simulator.frame)
    steps = read_steps(simulator.log)
    assert compare_windows(now, now).tokens == 0
    assert not any(change.has_other_form for change in compare_windows(now, now).items)
    if not steps:
        return
    seq = data.draw(st.sampled_from(steps)).seq
    before = PastWindows(simulator.log).window_at(seq, simulator.policy, simulator.frame).items()
    changes = compare_windows(before, now)
    assert tuple(change.item for change in changes.items) == now
    matched = [change.before for change in changes.items if change.before is not None]
    assert Counter(map(repr, (*matched, *(gone.item for gone in changes.gone)))) == Counter(map(repr, before))
    new = sum(change.item.tokens for change in changes.items if change.before is None)
    other = sum(change.tokens for change in changes.items if change.before is not None)
    total = sum(item.tokens for item in before) + new - changes.gone_tokens + other
    assert total == sum(item.tokens for item in now) == window.estimate
    assert changes.tokens == new + other - changes.gone_tokens
    replaced = {item.state for item in now if item.upto} | {None}
    assert {gone.into for gone in changes.gone} <= replaced
