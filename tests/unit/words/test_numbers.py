"""Numbers and figures in lines of text."""

from __future__ import annotations

from helix_desktop.words.numbers import keep_units


def test_no_line_parts_a_number_from_its_unit_or_begins_with_a_dot() -> None:
    text = "61 % of 24 KB · ≈ 8 tokens left"
    assert keep_units(text).replace("\N{NO-BREAK SPACE}", "_") == "61_% of 24_KB_· ≈_8 tokens left"
