"""The lines of an output that carry its facts, in what observer and summarizer read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.telling_lines import error_line, last_telling_line, shorten_output

PYTEST = """exit code 1 (sandboxed, no network)
tests/test_errors.py::test_error_is_raised PASSED
tests/test_parse.py::test_lexer FAILED
    def test_lexer():
>       assert tokens == 3
E       AssertionError: assert 4 == 3
tests/test_parse.py:12: AssertionError
1 failed, 36 passed in 0.42s
"""


def test_the_error_and_the_result_of_a_run() -> None:
    """The error that was raised, not the name of a passed test; the result is the last line."""
    assert error_line(PYTEST) == "E       AssertionError: assert 4 == 3"
    assert last_telling_line(PYTEST) == "1 failed, 36 passed in 0.42s"
    assert error_line("tests/test_errors.py::test_error PASSED\n36 passed") == "36 passed"
    assert last_telling_line("done\n\n=====\nexit code 0\n") == "done"
    assert last_telling_line("") == ""
    assert last_telling_line("1 failed \u202e2 passed\u202c\n") == "1 failed 2 passed"
    assert error_line("Error: a\u2067b") == "Error: ab"


@pytest.mark.parametrize(
    "fact",
    ["src/main.c:3:7: error: unknown type name 'foo'", "peak memory: 812.5 MB", "closes #4711", "loss=0.125"],
)
def test_a_fact_in_the_middle_of_a_long_output_stays(fact: str) -> None:
    """Among a thousand lines that say nothing."""
    text = "\n".join([*["nothing to see here, move along"] * 500, fact, *["and nothing here"] * 500])
    shortened = shorten_output(text, 600)
    assert fact in shortened
    assert len(shortened) <= 640


@given(st.text(max_size=4_000), st.integers(60, 900))
def test_an_output_is_shortened_to_its_cap(text: str, cap: int) -> None:
    """Whatever it holds; one that fits stays as it is; head and tail are its own."""
    shortened = shorten_output(text, cap)
    assert len(shortened) <= max(len(text), cap + 8) if len(text) <= cap else len(shortened) <= cap + 8
    if len(text) <= cap:
        assert shortened == text
    else:
        assert shortened.startswith(text[: cap * 2 // 5])
        assert shortened.endswith(text[-(cap // 5) :])
