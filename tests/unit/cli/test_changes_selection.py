"""Which changes the options of `changes` mean, and what is said where there are none."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
import pytest

from helix_desktop.cli.changes_command import changes_lines, find_step, last_revert, select
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.changes import (
    FileChange,
    FileState,
    RecordedChanges,
    RevertSelection,
    SessionChanges,
)
from helix_desktop.domain.tools import AutoRunChange


def step(capture_id: str, turn: int, path: str, source: str = "command") -> RecordedChanges:
    changed = (FileChange(path, None, FileState(digest=capture_id)),)
    return RecordedChanges(capture_id, "s", 1, 1, turn, 1, "Go", source, changes=changed)  # type: ignore[arg-type]  # a literal


CHANGES = SessionChanges(
    "s",
    (
        step("aa1", 1, "x.txt"),
        step("ab2", 1, "sub/y.txt"),
        step("cc3", 2, "x.txt"),
        step("dd4", 2, "z", "outside"),
    ),
    turns=3,
)


def options(**arguments: object) -> argparse.Namespace:
    return argparse.Namespace(**{"workspace": Path("/ws"), "turn": None, "step": "", "file": [], **arguments})


@pytest.mark.parametrize(
    ("arguments", "selection"),
    [
        ({}, RevertSelection(("aa1", "ab2", "cc3"), scope="session")),
        ({"turn": 1}, RevertSelection(("aa1", "ab2"), scope="turn")),
        ({"step": "dd"}, RevertSelection(("dd4",), scope="step")),
        ({"file": ["./sub/y.txt"]}, RevertSelection(("ab2",), ("sub/y.txt",), scope="file")),
        ({"file": ["/ws/x.txt"], "turn": 2}, RevertSelection(("cc3",), ("x.txt",), scope="file")),
    ],
)
def test_the_narrowest_option_decides(arguments: dict[str, object], selection: RevertSelection) -> None:
    assert select(options(**arguments), CHANGES) == selection


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"file": ["../x"]}, "isn't a file of the workspace"),
        ({"file": ["/elsewhere/x"]}, "isn't a file of the workspace"),
        ({"file": ["none"]}, "no such changes"),
        ({"step": "a"}, "Several steps start with 'a'"),
        ({"step": "ff"}, "No step of the session starts with 'ff'"),
        ({"turn": 3}, "no such changes"),
        ({"turn": 4}, "no turn 4"),
    ],
)
def test_what_there_is_not_is_said(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        select(options(**arguments), CHANGES)


AUTO_RUN = (
    AutoRunChange("hook", change_id="a1"),
    AutoRunChange("rc", change_id="e5"),
    AutoRunChange("x", change_id="e6"),
)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"step": "a"}, "Several steps start with 'a'"),  # two steps of the session, and one file
        ({"step": "e"}, "Several steps start with 'e'"),
        ({"step": "a1", "turn": 1}, "--turn doesn't go with the step 'a1'"),
        ({"step": "a1", "file": ["hook"]}, "--file doesn't go with the step 'a1'"),
        ({"step": "a1", "session": "last"}, "--session doesn't go with the step 'a1'"),
        ({"step": "ff"}, "No step of the session starts with 'ff'"),
    ],
)
def test_a_step_is_one_of_the_session_or_a_file_that_a_command_changed(
    arguments: dict[str, object], words: str
) -> None:
    assert find_step(options(step="aa", turn=1), CHANGES.captures, AUTO_RUN) == CHANGES.captures[0]
    assert find_step(options(step="a1"), CHANGES.captures, AUTO_RUN) == AUTO_RUN[0]
    with pytest.raises(InvalidInput, match=words):
        find_step(options(**arguments), CHANGES.captures, AUTO_RUN)


def test_without_a_revert_there_is_nothing_to_redo() -> None:
    with pytest.raises(InvalidInput, match="no revert to redo"):
        last_revert(CHANGES)


def test_a_change_that_was_found_after_a_crash_is_listed_as_such() -> None:
    found = msgspec.structs.replace(step("aa1", 1, "x.txt"), is_after_crash=True)
    lines = list(changes_lines(CHANGES, (found, step("ab2", 1, "y.txt"))))
    assert [line for line in lines if line.endswith(" · found after a crash")] == [lines[1]]
    assert "aa1" in lines[1]


def test_a_revert_of_a_part_and_a_rewind_are_listed_as_that() -> None:
    """A part was called a revert, as if the whole step was taken back."""
    revert = step("ee5", 1, "x.txt", "revert")
    rows = [
        msgspec.structs.replace(revert, scope="hunk"),
        msgspec.structs.replace(revert, scope="hunk", is_redo=True),
        msgspec.structs.replace(revert, scope="rewind"),
        revert,
    ]
    made = [line.split("  ")[2].split(" · ")[0] for line in changes_lines(CHANGES, rows) if "ee5" in line]
    assert made == ["Revert of a part", "Redo of a part", "Rewind", "Revert"]
