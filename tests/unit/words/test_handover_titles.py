"""Titles of handovers tell each of them apart, and say which text they come from."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.words.handover_titles import handover_titles

_WRITTEN = HandoverMade(9, 0, (), "", "", 0, 0, 0, 0, 9, "m", HandoverTrigger.MANUAL)


def test_what_was_changed_keeps_its_number_and_says_how_often() -> None:
    handovers = {
        10: _WRITTEN,
        20: replace(_WRITTEN, revises=10),
        30: replace(_WRITTEN, revises=20),
        40: _WRITTEN,
        50: replace(_WRITTEN, replaces=(30,)),
        60: replace(_WRITTEN, replaces=(50,)),
        70: replace(_WRITTEN, revises=60),
        80: replace(_WRITTEN, revises=40),
    }
    assert list(handover_titles(handovers).values()) == [
        "Handover 1",
        "Handover 1, edited",
        "Handover 1, edited (2)",
        "Handover 2",
        "Handover 1, run again",
        "Handover 1, run again (2)",
        "Handover 1, edited (3)",
        "Handover 2, edited",
    ]


def test_the_handover_that_a_session_starts_with_is_of_the_other_session() -> None:
    left = replace(_WRITTEN, origin="s-1", origin_title="Fix the gauge")
    handovers = {1: left, 20: _WRITTEN}
    assert list(handover_titles(handovers).values()) == ["Handover of “Fix the gauge”", "Handover 1"]
