"""Numbers and figures in lines of text."""

from __future__ import annotations

from helix_desktop.domain.cost import format_usd
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.words.numbers import (
    format_size,
    format_token_difference,
    format_tokens,
    format_whole_percent,
    keep_options,
    keep_units,
)
from helix_desktop.words.numbers import format_usd as words_usd


def test_no_line_parts_a_number_from_its_unit_or_begins_with_a_dot() -> None:
    text = "61 % of 24 KB · ≈ 8 tokens left after 10 s, 5 steps"
    assert (
        keep_units(text).replace("\N{NO-BREAK SPACE}", "_")
        == "61_% of 24_KB_· ≈_8 tokens left after 10_s, 5 steps"
    )


def test_an_option_is_not_parted_at_its_hyphens() -> None:
    text = "vLLM needs --enable-auto-tool-choice and a well-named --tool-call-parser. -n stays."
    shown = keep_options(text).replace("\N{NON-BREAKING HYPHEN}", "_")
    assert shown == "vLLM needs __enable_auto_tool_choice and a well-named __tool_call_parser. -n stays."


def test_the_decimals_of_a_column_stand_below_each_other() -> None:
    assert [format_tokens(count) for count in (999, 5_000, 11_700)] == ["999", "5k", "11.7k"]
    assert [format_tokens(count, in_column=True) for count in (999, 5_000, 128_000)] == [
        "999",
        "5.0k",
        "128k",
    ]
    assert format_token_difference(-2_000, in_column=True) == "\N{MINUS SIGN}2.0k"


def test_no_figure_rounds_to_nothing_or_beyond_its_unit() -> None:
    """What isn't 0 never reads `0 %`, and 1024 of a unit are one of the next."""
    shares = [format_whole_percent(share) for share in (0.0, 0.001, 0.006, 0.384, 1.0, 95.68)]
    assert shares == ["0 %", "< 1 %", "1 %", "38 %", "100 %", "9,568 %"]
    assert format_whole_percent(0.384, is_estimated=True) == "≈ 38 %"
    assert format_whole_percent(0.001, is_estimated=True) == "< 1 %"
    sizes = (1023, 1024**2 - 600, 1024**2 - 500, 1024**3 - 1)
    assert [format_size(size) for size in sizes] == ["1023 B", "1023 KB", "1 MB", "1 GB"]
    assert [format_bytes(size) for size in sizes] == ["1023 B", "1023 KB", "1.0 MB", "1.0 GB"]
    tokens = (999_499, 999_500, 999_994_999, 999_995_000, 12_296_850_000)
    assert [format_tokens(count) for count in tokens] == ["999k", "1.00M", "999.99M", "1.00B", "12.30B"]
    amounts = (0.09994, 0.09996, 0.1)
    assert [words_usd(amount) for amount in amounts] == [format_usd(amount) for amount in amounts]
    assert [words_usd(amount) for amount in amounts] == ["$0.0999", "$0.10", "$0.10"]
