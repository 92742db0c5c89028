"""The extracts of the demo model: lines with the words asked for."""

from __future__ import annotations

import pytest

from helix_desktop.providers.demo.model import write_extract

REQUEST = "[Extract] Take this.\n{}\n\nWrite at most 90 words. No more.\n<output x>\n{}\n</output x>\n"


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ("the lines with `notice|WARN` only", "NOTICE a\nWARN b"),
        ("the notices", "Not in the output: lines with `notices`."),
        ("Keep `(a+)+$`.", "Not in the output: lines with `(a+)+$`."),
        ("`|`", "Not in the output: lines with ``."),
    ],
)
def test_an_extract_has_the_lines_with_the_words(instructions: str, expected: str) -> None:
    """No pattern is tried, which could take for ever on a long line."""
    output = "NOTICE a\n" + "a" * 5_000 + "!\nWARN b\nelse"
    assert write_extract(REQUEST.format(instructions, output)) == expected
