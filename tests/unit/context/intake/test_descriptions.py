"""Descriptions of outputs, and lines that report errors; huge ones take no time."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.descriptions import (
    CAP,
    MENTION,
    REPORT,
    RESULT,
    ErrorFinder,
    describe_output,
    describe_text,
    find_error,
    lines_worth_reading,
)
from helix_desktop.context.intake.output_forms import preview_output
from tests.support.tables import for_each


@for_each(
    ("tool", "text", "about"),
    [
        ("read_file", "import os\n\n\nclass App:\n    def run(self): ...\n\ndef main(): ...\n", "App, main"),
        ("Read", "    12→func (s *Store) Put(k string) error {\n    13→\treturn nil\n    14→}\n", "Put"),
        ("read_file", "def _a(): ...\n\nclass App: ...\n\ndef main(): ...\n", "App, main, _a"),
        ("read_file", "# Guide\n\nText.\n\n## Install\n\nMore.\n", "Guide, Install"),
        ("read_file", "import os\n\n\nx = 1\n", '"x = 1"'),
        (
            "read_file",
            "Lines 5-7 of 9 of a.py:\n5→        x = 1\n6→    def _run(self): ...\n7→class App:\n",
            "App, _run",
        ),
        ("read_file", "Lines 5-6 of 20 of a.py:\n5→        x = 1\n6→        y = 2\n", '"x = 1"'),
        (
            "read_file",
            '# We use strings\n# here.\n\n# RFC\nOWS = r"[ \\t]*"\ntoken: str = r"[-]+"\nname = token\n',
            "OWS, token, name",
        ),
        ("Read", "     1→const a = 1;\n     2→export const b: number = 2;\n     3→let c = a;\n", "a, b, c"),
        ("read_file", "# Use\n\n```sh\na = 1\nb = 2\nc = 3\n```\n", "Use"),
        ("read_file", "time=1 level=info\ntime=2 level=warn\ntime=3 x=4\n", '"time=1 level=info"'),
        ("fetch", '{"name": "a", "size": 2}', "JSON: name, size"),
        ("fetch", '[{"id": 1}, {"id": 2}]', "JSON: 2 items of id"),
        (
            "search_text",
            "src/a.py:3:def f\nsrc/a.py:9:f()\nsrc/b.py:1:f()\n",
            '"src/a.py:3:def f"',
        ),
        (
            "search_text",
            "3 matching lines in 2 files:\nsrc/a.py\n  3:def f\n  --\n  9:f()\nsrc/b.py\n  1:f()\n(more)\n",
            '"3 matching lines in 2 files:"',
        ),
        ("find_files", "2 files:\nsrc/a.py\nsrc/b.py\n", '"2 files:"'),
        (
            "get_symbol_info",
            "Input: VAT\n\n**Summary**: 40 occurrences of 'VAT' in 15 files\n\n"
            "File: src/tax/Rates.java\n* Line 29: `x`",
            "40 occurrences in 15 files: src/tax/Rates.java:29",
        ),
        (
            "get_symbol_info",
            f"NOTE: Found 2 matches for VAT in ./.\n{'long/' * 20}Rates.java (Line 9): // VAT\n",
            "2 matches: Rates.java:9",
        ),
        (
            "LSP",
            "Found 5 references across 2 files:\n\nsrc/a.ts:\n  Line 10:5\n",
            "5 references across 2 files: src/a.ts:10",
        ),
        ("find_references", 'No matches for "VAT" in src/a.ts:3', "No matches"),
        ("find_references", "src/a.py:3:def f\nsrc/a.py:9:f()\n", '"src/a.py:3:def f"'),
        ("read_file", "Found 5 references in 2 files\n", '"Found 5 references in 2 files"'),
        ("anything", "a \u202eb", '"a b"'),
        ("read_file", "class is all of it.\nclass Tree extends Plant {\ntype pair struct {", "Tree, pair"),
        ("anything", "", ""),
    ],
)
def test_contents_are_described_by_their_kind(tool: str, text: str, about: str) -> None:
    """Source by definitions, documents by headings, JSON by keys, others by a line."""
    assert describe_output(tool, text) == about


def test_a_command_is_described_by_how_it_ended() -> None:
    """The last telling line and the exit code; not the line that says that it was sandboxed."""
    output = "exit code 1 (sandboxed, no network)\ntests/a.py F.\n=== 2 failed, 36 passed in 1.20s ===\n"
    assert describe_output("run_command", output, 1) == 'exit 1, "2 failed, 36 passed in 1.20s"'
    assert describe_output("run_command", "exit code 0 (sandboxed, no network)\n77\n", 0) == 'exit 0, "77"'


def test_a_diff_is_described_by_the_files_it_changes() -> None:
    """Not by one of its lines; tests above what git changed tell more."""
    diff = (
        "diff --git a/src/{0} b/src/{0}\nindex 12ab..34cd 100644\n--- a/src/{0}\n+++ b/src/{0}\n"
        + " x = 1\n" * 30
    )
    two = diff.format("a.py") + diff.format("b.py")
    assert describe_output("run_command", two, 0) == "exit 0, diff of 2 files: src/a.py, src/b.py"
    many = "".join(diff.format(f"part_{n}.py") for n in range(20))
    about = describe_output("run_command", many, 0)
    assert about.startswith("exit 0, diff of 20 files: src/part_0.py, src/part_1.py, ")
    assert about.endswith(".py, …")
    stat = "Ran 9 tests in 0.1s\n\nOK\n a.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)"
    assert describe_output("run_command", stat, 0) == 'exit 0, "Ran 9 tests in 0.1s: OK"'


def test_several_edits_are_described_by_their_first_new_lines() -> None:
    edits = [
        {"path": "a.py", "old_text": "import x\ndef f(day, anchor):", "new_text": "import x\ndef f(day):"},
        {"path": "b.py", "old_text": "f(start, anchor)", "new_text": "days = f(start)"},
    ]
    assert describe_text(json.dumps(edits)) == "2 edits: def f(day): | days = f(start)"
    assert describe_text(json.dumps([{"path": "a.py", "new_text": 1}])) == "JSON: 1 item of path, new_text"


def test_a_failed_command_is_described_by_its_error() -> None:
    """Where nothing says how it ended."""
    log = "ValueError: bad rate 'x'\nexit status 2\n" + "worker stopping\n" * 60
    assert describe_output("run_command", log, 1) == "exit 1, \"ValueError: bad rate 'x'\""
    assert find_error("months 36 IllegalWeekdayError.__str__ -") is None, "a method's name is no report"
    assert find_error("asyncio.exceptions.TimeoutError") is not None
    assert describe_output("run_command", f"{log}1 failed, 2 passed\n", 1) == 'exit 1, "1 failed, 2 passed"'


@pytest.mark.parametrize(
    ("output", "code", "about"),
    [
        (  # another command passed before, or after
            "== 48 passed in 0.73s ==\nsrc/a.py:3: error: bad type\nerror: lint failed\n",
            1,
            "48 passed in 0.73s; error: lint failed",
        ),
        (
            "2 failed, 46 passed in 3.10s\nreport written\n3 files uploaded\n",
            1,
            "2 failed, 46 passed in 3.10s",
        ),
        ("48 passed in 0.73s\nmake: *** [all] Error 2\n", 2, "48 passed in 0.73s; make: *** [all] Error 2"),
        (
            "-----\nRan 75 tests in 0.1s\n\nOK (skipped=1)\nusage: tide [--width]\ntide: error: not 0\n",
            2,
            "Ran 75 tests in 0.1s: OK (skipped=1); tide: error: not 0",
        ),
        ("2 failed in 0.10s\n48 passed in 0.73s\nerror: bad type\n", 1, "error: bad type"),
        ("48 passed in 0.73s\ndiff: x: No such file\n", 2, "48 passed in 0.73s"),
    ],
)
def test_a_description_says_what_failed_not_what_went_well_before(output: str, code: int, about: str) -> None:
    header = f"exit code {code} (sandboxed, no network):\n"
    assert describe_output("run_command", header + output, code) == f'exit {code}, "{about}"'


@pytest.mark.parametrize(
    ("tests", "about"),
    [
        ("=== 1 skipped, 48 passed in 0.73s ===\n", "1 skipped, 48 passed in 0.73s"),
        ("..\n------\nRan 2 tests in 0.001s\n\nOK\n", "Ran 2 tests in 0.001s: OK"),
        ("ok  \tapp/a\t0.1s\nok  \tapp/b\t(cached)\n", "2 packages ok"),
        ("Tests:       5 passed, 5 total\n", "Tests: 5 passed, 5 total"),
        ("test result: ok. 5 passed; 0 failed\n", "test result: ok. 5 passed; 0 failed"),
        ("48 passed in 0.73s\n2 failed in 0.10s\n", "2 failed in 0.10s"),
    ],
)
def test_tests_that_passed_tell_more_than_errors_that_a_later_command_prints(tests: str, about: str) -> None:
    """As a search for an exception does, however many lines it finds; of what failed the error tells."""
    found = "".join(f"src/a{n}.py:{n}: except KeyError as error:\n" for n in range(60))
    assert describe_output("run_command", tests + found, 0) == f'exit 0, "{about}"'
    assert describe_output("run_command", found, 0) == 'exit 0, "src/a59.py:59: except KeyError as error:"'
    assert "KeyError" in describe_output("run_command", "48 passed in 0.73s\n" + found, 1)


def test_an_edit_of_several_files_is_described_by_all_of_them() -> None:
    line = "Edited src/{}.py: 1 replacement at line 669. Lines: 891 -> 915.\n"
    assert describe_output("edit_file", line.format("a")) == f'"{line.format("a").strip()}"'
    two = line.format("a") + line.format("b").replace("1 replacement", "2 replacements")
    assert describe_output("multi_edit", two) == "2 files: src/a.py, src/b.py"
    many = "".join(line.format(f"module_{n}") for n in range(30))
    about = describe_output("multi_edit", many)
    assert about.startswith("30 files: src/module_0.py, src/module_1.py, ")
    assert about.endswith(", …")


def test_json_that_a_command_printed_is_described_by_its_keys() -> None:
    printed = 'exit code 0 (sandboxed)\n{\n "total": 3,\n "next": "token"\n}\n'
    assert describe_output("run_command", printed, 0) == "exit 0, JSON: total, next"
    large = '{"total": 3, "items": [' + ", ".join(['{"id": 1}'] * 9_000) + "]}"
    assert describe_output("run_command", large, 0) == "exit 0, JSON: total"


@for_each(
    ("text", "about"),
    [
        ("ok  \tapp/b\t1.2s\nFAIL\tapp/cli\t71.522s\nok  \tapp/a\t0.1s\nFAIL\n", "FAIL app/cli 71.522s"),
        ("--- PASS: TestPut (0.00s)\nPASS\nok  \tapp/store\t0.012s\n", "ok app/store 0.012s"),
        ("ok  \tapp/a\t0.1s\n?   \tapp\t[no test files]\nok  \tapp/b\t(cached)\n", "2 packages ok"),
        ("..\n------\nRan 2 tests in 0.001s\n\nOK\n", "Ran 2 tests in 0.001s: OK"),
        ("deploying\nOK\n", "OK"),
        (f"Ran 2 tests of {'the importer ' * 9}\nOK\n", f"Ran 2 tests of {'the importer ' * 4}the im…: OK"),
        (f"PASS{'-' * 32_000}x\nOK\n", f"PASS{'-' * 69}…: OK"),
    ],
)
def test_a_status_alone_stands_with_what_it_is_of(text: str, about: str) -> None:
    """A bare FAIL or OK tells neither which tests ran nor how long."""
    assert describe_output("run_command", text) == f'"{about}"'


@given(st.sampled_from(["read_file", "run_command", "search_text", "list_directory", "x"]), st.text())
def test_a_description_is_one_short_line(tool: str, text: str) -> None:
    """Whatever the content is."""
    for about in (describe_output(tool, text, 3), describe_text(text)):
        assert len(about) <= CAP
        assert len(about.splitlines()) <= 1


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


@for_each(("line", "rank"), TABLE)
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
            expected = find_error(other)
            found = finder.find(other)
            assert (found and found.rank) == (expected and expected.rank)
        match = finder.find(line)
        assert (match and match.rank) == rank


@given(st.text(max_size=120), st.sampled_from(TABLE))
def test_a_match_lies_in_its_line(text: str, row: tuple[str, int | None]) -> None:
    """Whatever surrounds it."""
    for line in (text, text + row[0], row[0] + text):
        match = find_error(line)
        assert match is None or 0 <= match.index < len(line)


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


def test_an_error_in_the_middle_of_megabytes_is_shown_within_seconds_of_work() -> None:
    lines = [f"{number} ok" for number in range(600_000)]
    lines[300_000] = "ERROR: the disk is gone"
    text = "\n".join(lines)
    started_s = time.process_time()
    preview = preview_output(text, "a" * 64, 1_200, 0)
    assert "ERROR: the disk is gone" in preview
    assert time.process_time() - started_s < 8


@for_each(
    ("output", "about"),
    [
        ("{\n" + "".join(f'  "key{n}": [1,\n2],\n' for n in range(12)) + "tail\n",
         "JSON: key0, key1, key2, key3, key4, key5, …"),
        ("diff --git a/src/a.py b/src/a.py\n" + "+x\n" * 30 + "(4/4) Stage this hunk [y,n,q]?\n",
         "diff of 1 file: src/a.py"),
        ("title:\tFix ids\n" + "a sentence of the description\n" * 30, '"title: Fix ids"'),
        ("a first word\n" * 5 + "14 beta\n", '"14 beta"'),
    ],
)  # fmt: skip
def test_a_long_output_without_a_result_is_described_by_what_it_is(output: str, about: str) -> None:
    """Its last line says nothing of it: `endif`, `MIT`, a brace. A short one ends with its answer."""
    header = "exit code 0 (sandboxed, no network):\n"
    assert describe_output("run_command", header + output, 0) == f"exit 0, {about}"
    assert describe_output("run_command", output) == about
