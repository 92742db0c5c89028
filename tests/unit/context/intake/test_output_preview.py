"""The preview of an output that is too large to be shown in full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.marker import marker
from helix_desktop.context.intake.output_forms import CHARS_PER_TOKEN, preview_output
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.text_format import first_line, format_bytes

LINES = st.lists(
    st.sampled_from(("ok line 1", "", "x" * 150, "é☃", "    indented")), min_size=0, max_size=400
)
DIGEST = digest_of(b"")
MARKED = len(bare_marker(DIGEST)) + 130  # the marker, and the note about the omitted part


@given(LINES.map("\n".join), st.integers(0, 600))
def test_a_preview_stays_under_its_budget(text: str, budget: int) -> None:
    """It is the text itself or short, and says where the full text is."""
    preview = preview_output(text, DIGEST, budget)
    assert len(preview) <= max(budget, 60) * CHARS_PER_TOKEN + MARKED
    assert preview == text or bare_marker(DIGEST) in preview


@given(
    st.integers(0, 300), st.sampled_from(("ERROR: no such table", "Traceback (most recent", "exit code 3"))
)
def test_errors_and_exit_lines_are_kept(index: int, error_line: str) -> None:
    """The line that matters is shown wherever it is."""
    lines = [f"compiling module number {n}" for n in range(300)]
    lines.insert(index, error_line)
    assert error_line in preview_output("\n".join(lines), DIGEST, 300)


def test_head_and_tail_are_complete_lines() -> None:
    """The first and the last lines stay unchanged, and those between are counted."""
    lines = [f"line {n} of many" for n in range(1_000)]
    preview = preview_output("\n".join(lines), DIGEST, 200).splitlines()
    assert preview[0] == lines[0]
    assert preview[-2] == lines[-1]
    hidden = next(line for line in preview if "not shown" in line)
    preview_lines = [line for line in preview if line in lines]
    first, last = (
        lines.index(preview[preview.index(hidden) - 1]) + 2,
        lines.index(preview[preview.index(hidden) + 1]),
    )
    assert hidden == f"[… {len(lines) - len(preview_lines)} lines not shown ({first}-{last}) …]"


@given(LINES.map("\n".join), st.integers(20, 600), st.sampled_from((0, 1, 137)))
def test_the_exit_code_is_always_present(text: str, budget: int, code: int) -> None:
    """Also when no line that is shown names it."""
    preview = preview_output(text, DIGEST, budget, code)
    assert preview == text or f"exit code {code}" in preview


@given(st.lists(st.integers(40, 560), max_size=12, unique=True), st.integers(100, 600))
def test_important_lines_have_the_numbers_that_recall_accepts(indexes: list[int], budget: int) -> None:
    """In their order, between head and tail, each once."""
    lines = [f"compiling module number {n}" for n in range(600)]
    for index in indexes:
        lines[index] = f"src/module_{chr(97 + index % 26)}.c: error: something is wrong with it"
    preview = preview_output("\n".join(lines), DIGEST, budget)
    numbered = [line.split(": ", 1) for line in preview.splitlines() if line.split(": ")[0].isdigit()]
    assert [lines[int(number) - 1] for number, _ in numbered] == [line for _, line in numbered]
    assert [int(number) for number, _ in numbered] == sorted({int(number) for number, _ in numbered})
    assert numbered or not any(index < 550 and lines[index] not in preview for index in indexes)


def test_among_many_errors_the_last_distinct_one_is_kept() -> None:
    """Similar errors count as one; the final error is not lost behind hundreds of others."""
    names = [f"{prefix}{two}" for prefix in "abcdefghijklmnopqrst" for two in "abcdefghij"]
    lines = [f"{name}: error: attempt {n} went wrong" for n in range(8) for name in names]
    lines += ["and so on"] * 400
    lines[1_700] = "PanicError: the disk is gone"
    lines[1_500] = "warning: 0 errors so far, no failures"
    preview = preview_output("\n".join(lines), DIGEST, 200)
    assert "1701: PanicError: the disk is gone" in preview.splitlines()
    assert "so far" not in preview


def test_of_lines_that_differ_in_numbers_only_the_first_says_how_many_there_are() -> None:
    """And the last is shown; two need no number."""
    lines = [f"2026-11-24T21:{n % 60:02} INFO request {n} served" for n in range(900)]
    lines[200:700:100] = [f"2026-11-24T21:00 ERROR request {n} refused" for n in range(5)]
    lines[250], lines[350] = "ERROR: no port 80", "ERROR: no port 81"
    preview = preview_output("\n".join(lines), "d" * 64, 400)
    assert "201: 2026-11-24T21:00 ERROR request 0 refused [5 like this]\n" in preview
    assert "\n601: 2026-11-24T21:00 ERROR request 4 refused\n" in preview
    assert "\n251: ERROR: no port 80\n" in preview


def test_an_error_in_the_middle_of_one_long_line_is_shown() -> None:
    """As minified code and JSON have it."""
    preview = preview_output(f"{'y' * 9_000} ValueError: bad {'z' * 9_000}", DIGEST, 200)
    assert "ValueError: bad" in preview
    assert "characters of line 1 not shown" in preview


def test_a_line_that_is_cut_says_so() -> None:
    """At the end that is missing; a line that is whole has no sign."""
    lines = ["start", *(f"line {n} of many" for n in range(500)), "ERROR: disk full" + " y" * 200, "end" * 60]
    *_, error, tail, marker_line = preview_output("\n".join(lines), DIGEST, 100).splitlines()
    assert error.startswith("502: ERROR: disk full")
    assert error.endswith("…")
    assert tail.startswith("…")
    assert tail.endswith("end")
    assert marker_line == f"{bare_marker(DIGEST)} the whole output"
    assert "…" not in preview_output("\n".join(lines[:500]), DIGEST, 100).replace("[… ", "").replace(
        " …]", ""
    )


@pytest.mark.parametrize(
    ("trace", "places"),
    [
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g(x)\n'
            '  File "b.py", line 9, in g\n    raise E\nValueError: bad rate\n',
            ['File "b.py", line 9, in g', "ValueError: bad rate"],
        ),
        (
            "java.io.IOException: closed\n\tat a.Pool.run(Pool.java:41)\n\tat a.Main.main(Main.java:7)\n",
            ["java.io.IOException: closed", "at a.Pool.run(Pool.java:41)"],
        ),
        (
            "TypeError: no rate\n    at pay (/app/pay.js:88:11)\n    at go (/app/x.js:2:1)\n",
            ["TypeError: no rate", "at pay (/app/pay.js:88:11)"],
        ),
        (
            "panic: no rate\n\ngoroutine 1 [running]:\nmain.pick(...)\n\t/app/main.go:17\n",
            ["/app/main.go:17"],
        ),
    ],
)
def test_an_error_is_shown_with_the_place_that_raised_it(trace: str, places: list[str]) -> None:
    """The innermost frame of a stack trace: it is the line that would have to be recalled."""
    text = "".join(f"step {n}\n" for n in range(400)) + trace + "".join(f"end {n}\n" for n in range(400))
    preview = preview_output(text, digest_of(b""), 300)
    lines = text.splitlines()
    for place in places:
        number = next(n for n, line in enumerate(lines, 1) if line.strip() == place)
        assert f"\n{number}: {place}\n" in preview
    assert "x.js" not in preview
    assert "Main.java" not in preview


def test_a_diff_is_shown_by_its_files() -> None:
    """Not by words such as "error" in the lines that it changes."""
    parts = (
        f"diff --git a/src/f{n}.py b/src/f{n}.py\n@@ -1 +1,40 @@\n-raise Error\n" + "+error = 1\n" * 40
        for n in range(20)
    )
    preview = preview_output("".join(parts), digest_of(b""), 300)
    assert "\n44: diff of src/f1.py\n87: diff of src/f2.py\n" in preview
    assert ": -raise" not in preview


def test_an_error_behind_a_diff_is_shown() -> None:
    """Lines behind the last hunk are no lines of the diff, whatever they begin with."""
    lines = [f"case {index} passed" for index in range(600)]
    diff = ["diff --git a/x.py b/x.py", "index 1..2", "@@ -1,2 +1 @@", "-error: old", " raise Error", ""]
    failed = ["--- FAIL: TestPay (0.00s)", " error: could not compile"]
    preview = preview_output("\n".join([*lines, *diff, *failed, *lines]), "a" * 64, 600)
    assert "diff of x.py" in preview
    assert "error: old" not in preview
    assert "--- FAIL: TestPay" in preview
    assert "error: could not compile" in preview


def test_a_hunk_ends_where_its_counts_say() -> None:
    """It may add more lines than it removes; of an empty line between them some programs cut the blank."""
    hunk = ["diff --git a/x.py b/x.py", "@@ -1,2 +1,4 @@", "-error: old", "+error: one", "", "+error: two"]
    behind = ["+error: three", "+error: none of the diff"]
    lines = [f"case {index} passed" for index in range(600)]
    preview = preview_output("\n".join([*lines, *hunk, *behind, *lines]), "a" * 64, 600)
    assert [line for line in preview.splitlines() if "error" in line] == ["608: +error: none of the diff"]


def test_a_preview_is_never_longer_than_the_output() -> None:
    """An output a little above the budget is shown in full."""
    text = "word " * 61
    assert preview_output(text, DIGEST, 100) == text
    assert len(text) > 100 * CHARS_PER_TOKEN


@pytest.mark.parametrize("text", ["y" * 5_000, "\n" + "y" * 5_000, "y" * 5_000 + "\n"])
def test_one_long_line_is_cut_inside(text: str) -> None:
    """Without line breaks to cut at, start and end are still shown."""
    preview = preview_output(text, DIGEST, 100)
    assert preview.count("y") > 150


def test_markers_describe_their_content() -> None:
    """On one line: handle, tool, target, size and the first meaningful line."""
    text = marker(DIGEST, "read_file", "src/app.py", 18_000, first_line("\n---\nimport \u202eos\n"))
    assert text == f'[CACHED] recall_cached_content("{DIGEST}") read_file src/app.py, 18 KB, "import os"'
    assert "\u2066" not in marker(DIGEST, "read_file", "a", 1, "", "of an \u2066older log")
    assert format_bytes(812) == "812 B"
    assert format_bytes(2_500_000) == "2.4 MB"


def log_with_errors(count: int, numbered: bool = False) -> list[str]:
    """Return a log of 900 lines, as a tool may number them, with so many errors in it that look alike."""
    every = 800 // count
    lines = [
        f"05:{n // 60:02}:{n % 60:02} ERROR request {1_000 + n} to /api/v1/items/{n} failed: timed out"
        if 50 <= n < 50 + every * count and n % every == 50 % every
        else f"05:{n // 60:02}:{n % 60:02} INFO GET /api/v1/items/{n} 200"
        for n in range(900)
    ]
    return [f"{number}:{line}" for number, line in enumerate(lines, 1)] if numbered else lines


@pytest.mark.parametrize("numbered", [False, True])
def test_few_errors_are_all_shown_though_they_look_alike(numbered: bool) -> None:
    """Ten in 900 lines, each with one number, between first and last lines; 40 are counted."""
    lines = log_with_errors(10, numbered)
    errors = [(number, line) for number, line in enumerate(lines, 1) if "ERROR" in line]
    preview = preview_output("\n".join(lines), DIGEST, 560).splitlines()
    expected = [line if numbered else f"{number}: {line}" for number, line in errors]
    assert len(expected) == 10
    assert [line.removesuffix(" [10 like this]") for line in preview if "ERROR" in line] == expected
    assert (preview[0], preview[-2]) == (lines[0], lines[-1])
    many = preview_output("\n".join(log_with_errors(40)), DIGEST, 560)
    assert "[40 like this]" in many
    assert many.count("ERROR") < 4
