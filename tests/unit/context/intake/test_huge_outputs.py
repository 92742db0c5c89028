"""Outputs of millions of lines: only the lines that may matter are read one by one."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.descriptions import find_error, lines_worth_reading
from helix_desktop.context.intake.output_forms import preview_output

LINE = st.sampled_from(
    ["1 ok", "ERROR: broke", "all passed", "", "warning: old", "exit 3", "nothing", "Fatal x"]
)


@given(st.lists(LINE, max_size=60), st.integers(4, 80))
def test_every_line_with_a_word_is_among_those_that_are_read(lines: list[str], most: int) -> None:
    read = list(lines_worth_reading(lines, most))
    assert [place for place, _ in read] == sorted({place for place, _ in read})
    assert all(lines[place] == line for place, line in read)
    if sum(find_error(line) is not None for line in lines) <= most:
        found = {place for place, line in enumerate(lines) if find_error(line) is not None}
        assert found <= {place for place, _ in read}


def test_an_error_in_the_middle_of_thirty_megabytes_is_shown_within_seconds_of_work() -> None:
    lines = [f"{number} ok" for number in range(2_700_000)]
    lines[1_300_000] = "ERROR: the disk is gone"
    text = "\n".join(lines)
    started_s = time.process_time()
    preview = preview_output(text, "a" * 64, 1_200, 0)
    assert "ERROR: the disk is gone" in preview
    assert time.process_time() - started_s < 8
