"""The lines of an output that carry its facts, in what observer and summarizer read."""

from __future__ import annotations

from helix_desktop.context.summaries.informative_lines import (
    error_line,
    last_informative_line,
)

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
    assert last_informative_line(PYTEST) == "1 failed, 36 passed in 0.42s"
    assert error_line("tests/test_errors.py::test_error PASSED\n36 passed") == "36 passed"
    assert last_informative_line("done\n\n=====\nexit code 0\n") == "done"
    assert last_informative_line("") == ""
    assert last_informative_line("1 failed \u202e2 passed\u202c\n") == "1 failed 2 passed"
    assert error_line("Error: a\u2067b") == "Error: ab"
