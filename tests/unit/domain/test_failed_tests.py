"""The lines of an output that say how tests went."""

from __future__ import annotations

import pytest

from helix_desktop.domain.failed_tests import lines_on_tests


@pytest.mark.parametrize(
    "line",
    [
        "FAIL: test_ebb (test_tide.TestTide.test_ebb) (level=3)",
        "  test_ebb (test_tide.TestTide) ... ERROR",
        "120: FAILED tests/test_tide.py::test_ebb[a b] - AssertionError",
        "ERROR tests/test_tide.py",
        "tests/test_tide.py::test_ebb FAILED    [ 50%]",
        "[gw0] [ 50%] FAILED tests/test_tide.py::test_ebb",
        "    --- FAIL: TestTide/ebb (0.00s)",
        "test tide::ebb ... FAILED",
        "  ● tide \u203a falls at ebb",
        "    ✕ falls at ebb (5 ms)",
        "not ok 3 - falls at ebb",
        "rspec ./spec/tide_spec.rb:12 # Tide falls at ebb",
        "TideTest > fallsAtEbb FAILED",
        "[ERROR]   TideTest.fallsAtEbb:12 expected: <1> but was: <2>",
        "\t3 - tide_ebb (Failed)",
    ],
)
def test_a_line_that_names_a_failed_test_is_found(line: str) -> None:
    assert lines_on_tests(f"building\n{line}\ndone") == [line]


def test_the_newest_result_comes_first_and_each_test_that_failed_once() -> None:
    output = """48 passed in 0.50s
a.py::test_ebb FAILED
b.py::test_ebb PASSED
FAILED a.py::test_ebb - KeyError: 3
FAILED b.py::test_flood
=== 2 failed, 46 passed in 0.73s ==="""
    _, ebb, _, _, flood, failed = output.splitlines()
    assert lines_on_tests(output)[1:] == [failed, ebb, flood]


@pytest.mark.parametrize("line", ["ERROR: the tide gauge (port 3) is off", "OK then", "FAILED: tide"])
def test_other_words_about_failures_name_no_test(line: str) -> None:
    assert lines_on_tests(line) == []
