"""The line of a subagent's figures: no figure is cut, whatever the room."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from helix_desktop.ui.chat.rows.subagent_status import SubagentStatus

STATUS = SubagentStatus("waiting", steps=3, spent_tokens=21_000, cost=0.0031, started_at_ms=1_000)


@pytest.mark.parametrize(
    ("room", "line"),
    [
        (99, "3 model calls · 21k tokens used · $0.0031 · 1:05"),
        (40, "21k tokens used · $0.0031 · 1:05"),
        (20, "$0.0031 · 1:05"),
        (4, "1:05"),
        (3, ""),
    ],
)
def test_figures_that_have_no_room_are_left_out_whole(room: int, line: str) -> None:
    assert STATUS.summary(66_000, lambda words: len(words) <= room) == line


def test_figures_by_our_own_count_say_so() -> None:
    """As in the line of the session."""
    status = replace(STATUS, is_estimated=True)
    assert status.summary(66_000) == "3 model calls · ≈ 21k tokens used · ≈ $0.0031 · 1:05"


def test_a_subagent_that_has_not_begun_has_no_figures() -> None:
    assert SubagentStatus("queued").summary(0) == ""
