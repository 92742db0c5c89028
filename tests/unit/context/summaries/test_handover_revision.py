"""What a user types into the sections of a handover, and what is read of it."""

from __future__ import annotations

import pytest

from helix_desktop.context.summaries.handover_revision import from_fields
from helix_desktop.domain.events.summary import SECTIONS, Bullet


@pytest.mark.parametrize(
    ("typed", "bullet"),
    [
        ("- The tests pass. [e4]", Bullet("The tests pass.", (4,))),
        ("- The tests pass [e4].", Bullet("The tests pass", (4,))),
        ("- The tests pass. [e4] I saw it.", Bullet("The tests pass. I saw it.", (4,))),
        ("- The tests pass. [e4; e5] I saw it. [e9]", Bullet("The tests pass. I saw it.", (4, 5, 9))),
        ("- The tests pass. [e4]\n  I saw it.", Bullet("The tests pass. I saw it.", (4,))),
        ("- It prints `[e]` and [error].", Bullet("It prints `[e]` and [error].", ())),
    ],
)
def test_a_source_counts_wherever_more_was_typed(typed: str, bullet: Bullet) -> None:
    sections = from_fields({SECTIONS[0]: typed}, frozenset(range(10)))
    assert sections[0].bullets == (bullet,)
