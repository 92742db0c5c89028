"""Numbers and figures in lines of text."""

from __future__ import annotations

from helix_desktop.words.numbers import format_token_difference, format_tokens, keep_units


def test_no_line_parts_a_number_from_its_unit_or_begins_with_a_dot() -> None:
    text = "61 % of 24 KB · ≈ 8 tokens left"
    assert keep_units(text).replace("\N{NO-BREAK SPACE}", "_") == "61_% of 24_KB_· ≈_8 tokens left"


def test_the_decimals_of_a_column_stand_below_each_other() -> None:
    assert [format_tokens(count) for count in (999, 5_000, 11_700)] == ["999", "5k", "11.7k"]
    assert [format_tokens(count, in_column=True) for count in (999, 5_000, 128_000)] == [
        "999",
        "5.0k",
        "128k",
    ]
    assert format_token_difference(-2_000, in_column=True) == "\N{MINUS SIGN}2.0k"
