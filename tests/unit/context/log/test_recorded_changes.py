"""What a log alone says of changed files."""

from __future__ import annotations

from helix_desktop.context.log.file_changes import logged_changes
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import ChangeSource
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.slash_command import PromptSource


def changed(capture_id: str, source: ChangeSource = "command") -> ChangesRecorded:
    """What a call changed, or something else."""
    return ChangesRecorded(capture_id, "digest", source)


def test_what_a_call_changed_that_a_crash_cut_off_is_captured_after_the_next_start() -> None:
    events: list[Event] = [
        UserSpoke("Go.", 1),
        changed("c1"),
        TurnEnded("interrupted", interruption="crash"),
        changed("c2"),
        changed("c3", "outside"),
        UserSpoke("Go on.", 1),
        changed("c4"),
        TurnEnded("stopped"),
        changed("c5"),
    ]
    log = [RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1)]
    captures = logged_changes("s", log).captures
    after_crash = [capture.changes.capture_id for capture in captures if capture.changes.is_after_crash]
    assert after_crash == ["c2"]


def test_a_change_has_the_target_of_its_call_as_the_tool_told_it_or_else_from_the_arguments() -> None:
    edit, command = ToolCall("a", "edit", '{"path": "./a.txt"}'), ToolCall("b", "bash", '{"command": "make"}')
    events: list[Event] = [
        UserSpoke("Go.", 1),
        AssistantSpoke("", "box/small", 1, (edit, command)),
        ToolAnswered("a", "edit", "ok", "d" * 64, 1, 1, 1, target="a.txt"),
        ChangesRecorded("c1", "digest", "tool", call_id="a"),
        ToolAnswered("b", "bash", "ok", "d" * 64, 1, 1, 1),
        ChangesRecorded("c2", "digest", "command", call_id="b"),
        ChangesRecorded("c3", "digest", "outside"),
    ]
    log = [RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1)]
    changes = [capture.changes for capture in logged_changes("s", log).captures]
    assert [(change.tool, change.target) for change in changes] == [
        ("edit", "a.txt"),
        ("bash", "make"),
        ("", ""),
    ]


def test_a_turn_of_a_command_has_the_words_that_were_typed() -> None:
    prompt = PromptSource("release", ".claude/skills/release/SKILL.md", "d" * 64, "of Monday")
    log = [
        RecordedEvent(1, 1, UserSpoke("Use the skill release: follow @…", 1, prompt=prompt)),
        RecordedEvent(2, 2, changed("c1")),
    ]
    (capture,) = logged_changes("s", log).captures
    assert capture.changes.turn_title == "/release of Monday"
