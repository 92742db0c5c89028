"""Which lines report an error or a result, on lines as the tools of many languages write them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_desktop.context.intake.descriptions import MENTION, REPORT, RESULT, ErrorFinder, find_error
from helix_desktop.context.intake.output_forms import preview_output
from helix_desktop.domain.digest import digest_of

DIGEST = digest_of(b"")

RESULTS = """\
=================== 2 failed, 36 passed in 1.20s ===================
=========================== short test summary info ===========================
==== 36 passed, 1 xpassed in 0.31s ====
============== 1 passed, 1 error in 0.12s ===============
FAILED (failures=2, errors=1)
FAIL pkg 0.3s
FAIL\tgithub.com/acme/shop/cart\t0.312s
FAIL\tgithub.com/acme/shop/cart [build failed]
test result: FAILED. 40 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.03s
error: aborting due to 2 previous errors; 1 warning emitted
error: aborting due to previous error
Tests:       3 failed, 40 passed, 43 total
Test Suites: 1 failed, 4 passed, 5 total
  3 failing
[ERROR] Tests run: 12, Failures: 2, Errors: 0, Skipped: 0, Time elapsed: 0.3 s <<< FAILURE! - in CartTest
[INFO] BUILD FAILURE
BUILD FAILED in 3s
12 tests completed, 1 failed
Found 3 errors in 2 files.
2 errors generated.
\u2716 12 problems (3 errors, 9 warnings)
98% tests passed, 2 tests failed out of 100"""

REPORTS = """\
FAILED tests/test_cart.py::test_total - AssertionError: assert 3 == 4
XPASS tests/test_cart.py::test_error_handling - fixed by now
tests/test_cart.py::test_rounding XPASS                               [ 40%]
tests/test_cart.py::test_total FAILED                                 [ 12%]
[gw1] [ 12%] FAILED tests/test_cart.py::test_total
E       assert 3 == 4
E   ModuleNotFoundError: No module named 'cart'
ERROR tests/test_cart.py - ImportError: cannot import name 'x'
Traceback (most recent call last):
ValueError: bad value
ERROR: test_total (tests.test_cart.TestCart.test_total)
--- FAIL: TestTotal (0.00s)
panic: runtime error: index out of range [3] with length 3
exit status 1
test cart::total ... FAILED
error[E0308]: mismatched types
thread 'cart::total' panicked at src/cart.rs:12:9:
FAIL src/cart.test.ts
  \u2715 adds the total (3 ms)
  \u25cf Cart \u203a adds the total
src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.
src/cart.ts:12:5 - error TS2322: Type 'string' is not assignable to type 'number'.
cart.c:12:5: error: expected ';' before 'return'
cart.c:1:10: fatal error: missing.h: No such file or directory
/usr/bin/ld: cart.o: undefined reference to `total'
collect2: error: ld returned 1 exit status
make: *** [Makefile:12: all] Error 1
[ERROR] /src/main/java/Cart.java:[12,5] cannot find symbol
npm ERR! code ELIFECYCLE
fatal: not a git repository (or any of the parent directories): .git
CartTest > addsTotal FAILED"""

MENTIONS = """\
tests/test_cart.py::test_known_bug XFAIL (not fixed yet)              [ 50%]
XFAIL tests/test_cart.py::test_known_bug
==================== 38 passed in 1.20s ====================
test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.03s
./main.go:5:2: undefined: foo
bash: frob: command not found
rm: cannot remove 'a': Permission denied
exit code 0 (sandboxed, no network)
the request failed
WARNING case-0217: the pair is lost (code HX-8831)
2026-11-24 10:00:00 [WARN] the queue is full
src/cart.c:3:1: warning: unused variable 'x'
an error happened here"""

NEITHER = """\
tests/test_cart.py::test_error_handling PASSED                        [ 12%]
\x1b[32mtests/test_cart.py::test_error_handling PASSED\x1b[0m
tests/test_cart.py::test_fails_on_windows SKIPPED (only windows)      [ 12%]
[gw0] [  3%] PASSED tests/test_cart.py::test_raises_ValueError
PASSED tests/test_cart.py::test_exception
test_error (tests.test_cart.TestCart.test_error) ... ok
ok  pkg/errors
ok  \tgithub.com/acme/shop/errors\t0.012s
?   \tgithub.com/acme/shop/errors\t[no test files]
=== RUN   TestParseError
--- PASS: TestParseError (0.00s)
    --- PASS: TestParse/bad_input_fails (0.00s)
test errors::parse_error ... ok
test errors::slow_error ... ignored
   Compiling thiserror v1.0.50
PASS src/errors.test.ts
  \u2713 handles errors (3 ms)
  \u2714 fails with an exception
ok 12 - throws an error
[INFO] Running com.acme.shop.ErrorHandlerTest
[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.3 s -- in com.acme.ErrorHandlerTest
[ 50%] Building CXX object src/CMakeFiles/shop.dir/error.cpp.o
 1/10 Test  #1: error_test .......................   Passed    0.01 sec
CartTest > throwsError PASSED
0 errors
no error
No errors found
Found 0 errors.
0 failed, 3 skipped
without any errors
src/error/handler.py
  src/errors.py | 12 ++++--
checking error.h
pkg/errors v0.9.1
--fail-fast
0 warnings
def warning(self, text):
compiling module number 12"""

TABLE = [
    (line, rank)
    for text, rank in ((RESULTS, RESULT), (REPORTS, REPORT), (MENTIONS, MENTION), (NEITHER, None))
    for line in text.splitlines()
]


@pytest.mark.parametrize(("line", "rank"), TABLE)
def test_lines_of_real_tools_have_the_rank_of_what_they_report(line: str, rank: int | None) -> None:
    """Results of failed runs first, then errors, then what only mentions one; names are none of these."""
    match = find_error(line)
    assert (match.rank if match else None) == rank


@given(st.lists(st.tuples(st.sampled_from(TABLE), st.integers(1, 9_999)), max_size=20))
def test_lines_alike_are_judged_alike(rows: list[tuple[tuple[str, int | None], int]]) -> None:
    """Whatever numbers above zero they hold; zero of something is another line."""
    finder = ErrorFinder()
    for (line, rank), number in rows:
        for other in (re.sub(r"(?<![\d.\x1b\[])[1-9]\d*(?![\d.m])", str(number), line), line):
            expected, found = find_error(other), finder.find(other)
            assert (found and found.rank) == (expected and expected.rank)
        match = finder.find(line)
        assert (match and match.rank) == rank


@given(st.text(max_size=120), st.sampled_from(TABLE))
def test_a_match_lies_in_its_line(text: str, row: tuple[str, int | None]) -> None:
    """Whatever surrounds it."""
    for line in (text, text + row[0], row[0] + text):
        match = find_error(line)
        assert match is None or 0 <= match.index < len(line)


OUTPUTS = {
    "pytest": (
        "tests/test_errors.py::test_error_{n} PASSED   [ 50%]",
        "tests/test_errors.py::test_total XPASS   [ 37%]",
        "E       assert 3 == 4",
        "FAILED tests/test_errors.py::test_sum - assert 3 == 4",
        "=========== 1 failed, 398 passed, 1 xpassed in 3.2s ===========",
    ),
    "go": (
        "--- PASS: TestParseError{n} (0.00s)",
        "--- FAIL: TestTotal (0.00s)",
        "FAIL\tgithub.com/acme/shop/cart\t0.312s",
    ),
    "cargo": (
        "test errors::parse_error_{n} ... ok",
        "test cart::total ... FAILED",
        "thread 'cart::total' panicked at src/cart.rs:12:9:",
        "test result: FAILED. 398 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
    ),
    "jest": (
        "  \u2713 fails with error {n} (1 ms)",
        "  \u2715 adds the total (3 ms)",
        "  \u25cf Cart \u203a adds the total",
        "Tests:       1 failed, 398 passed, 399 total",
    ),
    "maven": (
        "[INFO] Running com.acme.shop.Error{n}Test",
        "[ERROR] CartTest.addsTotal:12 expected: <3> but was: <4>",
        "[ERROR] Tests run: 399, Failures: 1, Errors: 0, Skipped: 0",
        "[INFO] BUILD FAILURE",
    ),
    "tsc": (
        "src/errors/error{n}.ts",
        "src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "Found 1 error in src/cart.ts:12",
    ),
    "gcc": (
        "gcc -Wall -c src/error{n}.c -o build/error{n}.o",
        "cart.c:12:5: error: expected ';' before 'return'",
        "make: *** [Makefile:12: cart.o] Error 1",
    ),
}
"""By tool: a line without news, of which there are hundreds, and those that have to be seen."""


@pytest.mark.parametrize("tool", OUTPUTS)
@given(st.data())
@settings(max_examples=10)
def test_what_failed_is_seen_among_hundreds_of_lines_that_speak_of_errors(
    tool: str, data: st.DataObject
) -> None:
    """Wherever it stands, under its number; nothing else takes its place."""
    plain, *news = OUTPUTS[tool]
    lines = [plain.replace("{n}", str(number)) for number in range(400)]
    numbers = data.draw(
        st.lists(st.integers(60, 340), min_size=len(news), max_size=len(news), unique=True).map(sorted)
    )
    for number, line in zip(numbers, news, strict=True):
        lines[number] = line
    preview = preview_output("\n".join(lines), DIGEST, 300).splitlines()
    expected = [
        f"{number + 1}: {' '.join(line.strip('= ').split())}"
        for number, line in zip(numbers, news, strict=True)
    ]
    assert [line for line in preview if line.partition(": ")[0].isdigit()] == expected
