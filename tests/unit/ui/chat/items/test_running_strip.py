"""What a running card shows of growing output."""

from __future__ import annotations

import pytest

from helix_desktop.ui.chat.rows.row_types import MAX_RUNNING_LINES, RunningOutput
from helix_desktop.words.times import format_elapsed


def test_only_the_newest_lines_are_shown() -> None:
    live = RunningOutput.from_output(5, "".join(f"line {number}\n" for number in range(50)))
    assert live.lines == tuple(f"line {number}" for number in range(50 - MAX_RUNNING_LINES, 50))
    assert live.started_at_ms == 5


@pytest.mark.parametrize(
    ("tail", "lines"),
    [
        ("", ()),
        ("\n\n", ()),
        ("half", ("half",)),
        ("a\r\nb\r\n", ("a", "b")),
        ("a\x1b[31mred\x1b[0m\x07b\n", ("aredb",)),
        ("10 %\r20 %\r", ("20 %",)),
        ("10 %\r20 %\r30 %", ("30 %",)),
    ],
)
def test_lines_are_sanitized(tail: str, lines: tuple[str, ...]) -> None:
    assert RunningOutput.from_output(0, tail).lines == lines


def test_an_endless_line_is_cut() -> None:
    assert len(RunningOutput.from_output(0, "x" * 100_000).lines[0]) == 400


@pytest.mark.parametrize(("seconds", "text"), [(-3, "0:00"), (7, "0:07"), (760, "12:40"), (3760, "1:02:40")])
def test_a_clock_is_formatted(seconds: int, text: str) -> None:
    assert format_elapsed(seconds) == text
