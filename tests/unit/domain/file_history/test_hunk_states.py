"""What became of hunks: each stands, is taken back, or was changed since."""

from __future__ import annotations

import pytest

from helix_desktop.domain.file_history.diff import HunkState, diff_contents, hunk_states
from tests.support.file_changes.cases import numbered_lines

BEFORE = numbered_lines(40)
AFTER = numbered_lines(40, line3="first", line35="second")
STANDS: HunkState = "standing"
OVER: HunkState = "taken_back"
CHANGED: HunkState = "changed"


def states(before: str | None, after: str | None, present: str | None) -> tuple[HunkState, ...]:
    """Return the states of the hunks between two texts in a third one."""
    old, new, there = (text.encode() if text is not None else None for text in (before, after, present))
    return hunk_states(diff_contents(old, new), old, new, there)


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        (AFTER, (STANDS, STANDS)),
        (BEFORE, (OVER, OVER)),
        (numbered_lines(40, line35="second"), (OVER, STANDS)),
        (numbered_lines(40, line3="mine", line35="second"), (CHANGED, STANDS)),
        (numbered_lines(40, line3="first", line20="mine"), (STANDS, OVER)),
        ("above\n" + numbered_lines(40, line3="first"), (STANDS, OVER)),
        ("", (CHANGED, CHANGED)),
        (None, (CHANGED, CHANGED)),
    ],
)
def test_the_state_of_each_hunk(present: str | None, expected: tuple[HunkState, ...]) -> None:
    assert states(BEFORE, AFTER, present) == expected


def test_a_file_that_came_or_went_is_one_hunk() -> None:
    assert states(None, AFTER, AFTER) == states(AFTER, None, None) == (STANDS,)
    assert states(None, AFTER, None) == states(AFTER, None, AFTER) == (OVER,)
    assert states(None, AFTER, BEFORE) == states(AFTER, None, BEFORE) == (CHANGED,)


def test_a_change_that_is_no_text_has_no_hunks() -> None:
    assert states("a\0b", "a\0c", "a\0b") == ()
