"""Descriptions: a content is known by what it holds, not by its first line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.descriptions import CAP, describe_output, describe_text

LICENSE = "# Copyright (C) 2026 Somebody\n# Licensed under the MIT license.\n\nimport os\n\n\n"


@pytest.mark.parametrize(
    ("tool", "text", "about"),
    [
        ("read_file", LICENSE + "class App:\n    def run(self): ...\n\ndef main(): ...\n", "App, main"),
        ("Read", "    12→func (s *Store) Put(k string) error {\n    13→\treturn nil\n    14→}\n", "Put"),
        ("read_file", "def _a(): ...\n\nclass App: ...\n\ndef main(): ...\n", "App, main, _a"),
        ("read_file", "# Guide\n\nText.\n\n## Install\n\nMore.\n", "Guide, Install"),
        ("read_file", LICENSE + "x = 1\n", '"x = 1"'),
        (
            "read_file",
            "Lines 5-7 of 9 of a.py:\n5→        x = 1\n6→    def _run(self): ...\n7→class App:\n",
            "App, _run",
        ),
        ("read_file", "Lines 5-6 of 20 of a.py:\n5→        x = 1\n6→        y = 2\n", '"x = 1"'),
        ("read_file", LICENSE.replace("#", "//") + "y = 2\n", '"y = 2"'),
        ("read_file", "name,age,city\nAnn,3,Rome\nBob,4,Oslo\n", "columns name, age, city"),
        ("fetch", '{"name": "a", "size": 2}', "JSON: name, size"),
        ("fetch", '[{"id": 1}, {"id": 2}]', "JSON: 2 items of id"),
        (
            "search_text",
            "src/a.py:3:def f\nsrc/a.py:9:f()\nsrc/b.py:1:f()\n",
            "3 lines in 2 files: src/a.py, src/b.py",
        ),
        (
            "search_text",
            "3 matching lines in 2 files:\nsrc/a.py\n  3:def f\n  --\n  9:f()\nsrc/b.py\n  1:f()\n(more)\n",
            "3 matching lines in 2 files: src/a.py, src/b.py",
        ),
        ("find_files", "src/a.py\nsrc/b.py\n", "2 paths: src/a.py, src/b.py"),
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
        ("find_references", "src/a.py:3:def f\nsrc/a.py:9:f()\n", "2 lines in 1 file: src/a.py"),
        ("read_file", "Found 5 references in 2 files\n", '"Found 5 references in 2 files"'),
        ("anything", "a \u202eb", '"a b"'),
        ("anything", "", ""),
    ],
)
def test_contents_are_described_by_their_kind(tool: str, text: str, about: str) -> None:
    """Source by definitions, documents by headings, tables by columns, JSON by keys, searches by hits."""
    assert describe_output(tool, text) == about


def test_a_command_is_described_by_how_it_ended() -> None:
    """The last telling line and the exit code; not the line that says that it was sandboxed."""
    output = "exit code 1 (sandboxed, no network)\ntests/a.py F.\n=== 2 failed, 36 passed in 1.20s ===\n"
    assert describe_output("run_command", output, 1) == 'exit 1, "2 failed, 36 passed in 1.20s"'
    assert describe_output("run_command", "exit code 0 (sandboxed, no network)\n77\n", 0) == 'exit 0, "77"'


def test_a_diff_is_described_by_the_files_it_changes() -> None:
    """Not by one of its lines; what comes after it tells more."""
    parts = [
        f"diff --git a/{path} b/{path}\nindex 12ab..34cd 100644\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -1,2 +1,2 @@ def x():\n-raise ValueError\n+raise TypeError\n x = 1\n"
        for path in ("src/a.py", "docs/b.md")
    ]
    diff = "\n".join(["On branch main", *parts])
    assert describe_output("run_command", diff, 0) == "exit 0, diff of 2 files: src/a.py, docs/b.md"
    assert describe_output("run_command", f"{diff}\n2 passed in 3 s", 0) == 'exit 0, "2 passed in 3 s"'
    many = "".join(parts[0].replace("a.py", f"{'long/' * 9}part_{n}.py") for n in range(20))
    about = describe_output("run_command", many, 0)
    assert about.startswith("exit 0, diff of 20 files: part_0.py, part_1.py, ")
    assert about.endswith(".py, …")


def test_several_edits_are_described_by_their_first_new_lines() -> None:
    edits = [
        {"path": "a.py", "old_text": "import x\ndef f(day, anchor):", "new_text": "import x\ndef f(day):"},
        {"path": "b.py", "old_text": "f(start, anchor)", "new_text": "days = f(start)"},
    ]
    assert describe_text(json.dumps(edits)) == "2 edits: def f(day): | days = f(start)"
    assert describe_text(json.dumps([{"path": "a.py", "new_text": 1}])) == "JSON: 1 item of path, new_text"


def test_a_command_that_commits_is_described_by_the_new_commit() -> None:
    log = "fea4415 Export invoices\n15a7154 (HEAD -> main) Fix 3 errors\nddb4cf0 First\n"
    assert describe_output("run_command", log, 0) == 'exit 0, "fea4415 Export invoices"'
    output = "[main 94ce81c] Add a column\n 2 files changed, 9 insertions(+)\n create mode 100644 a.py\n"
    assert describe_output("run_command", output, 0) == 'exit 0, "[main 94ce81c] Add a column"'
    assert describe_output("run_command", f"{output}{log}", 0) == 'exit 0, "fea4415 Export invoices"'
    both = f"9 passed in 2 s\n{output}"
    assert describe_output("run_command", both, 0) == 'exit 0, "9 passed in 2 s; [main 94ce81c] Add a column"'
    assert describe_output("run_command", "fea4415 Export invoices\n M a.py\n", 0) == 'exit 0, "M a.py"'


def test_a_failed_command_is_described_by_its_error() -> None:
    """Where nothing says how it ended, and only then."""
    log = "ValueError: bad rate 'x'\nexit status 2\n" + "worker stopping\n" * 60
    assert describe_output("run_command", log, 1) == "exit 1, \"ValueError: bad rate 'x'\""
    assert describe_output("run_command", log, 0) == 'exit 0, "worker stopping"'
    assert describe_output("run_command", f"{log}1 failed, 2 passed\n", 1) == 'exit 1, "1 failed, 2 passed"'


def test_json_that_a_command_printed_is_described_by_its_keys() -> None:
    printed = 'exit code 0 (sandboxed)\n{\n "total": 3,\n "next": "token"\n}\n'
    assert describe_output("run_command", printed, 0) == "exit 0, JSON: total, next"
    large = '{"total": 3, "items": [' + ", ".join(['{"id": 1}'] * 9_000) + "]}"
    assert describe_output("run_command", large, 0) == "exit 0, JSON: total"


def test_hits_in_files_of_one_name_are_described_by_their_paths() -> None:
    hits = "".join(f"src/package_{n}/core.py\n  3:x\n" for n in range(9))
    about = describe_output("search_text", f"9 matching lines in 9 files:\n{hits}")
    assert about.startswith("9 matching lines in 9 files: src/package_0/core.py, src/package_1/core.py, ")


def test_what_says_nothing_of_how_a_command_ended_is_passed_over() -> None:
    """A closing tag, a handler."""
    assert describe_output("run_command", "8000 rows 0.052 s\n<root>\n  <text>\n", 0) == (
        'exit 0, "8000 rows 0.052 s"'
    )
    assert describe_output("run_command", "3.1\ntry:\nexcept ImportError:\n") == '"3.1"'


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("ok  \tapp/b\t1.2s\nFAIL\tapp/cli\t71.522s\nok  \tapp/a\t0.1s\nFAIL\n", "FAIL app/cli 71.522s"),
        ("--- PASS: TestPut (0.00s)\nPASS\nok  \tapp/store\t0.012s\n", "ok app/store 0.012s"),
        ("ok  \tapp/a\t0.1s\n?   \tapp\t[no test files]\nok  \tapp/b\t(cached)\n", "2 packages ok"),
        ("3 files are formatted\n[fmt] $ gofmt -s -w .\n", "3 files are formatted"),
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


def test_a_search_with_one_match_keeps_what_it_found() -> None:
    """The place and the line, as there is room; of several, how many there are."""
    one = "1 matching line in 1 file:\nsrc/app.py\n  11-import os\n  12:  limit = read_limit()  # a day\n"
    about = "1 matching line: src/app.py:12: limit = read_limit() # a day"
    assert describe_output("search_text", one) == about
    assert describe_output("Grep", "src/app.py:12:    limit = 5\n") == "src/app.py:12: limit = 5"
    two = "2 matching lines in 1 file:\nsrc/app.py\n  12:limit = 5\n  90:limit = 6\n"
    assert describe_output("search_text", two) == "2 matching lines in 1 file: src/app.py"
    long = one.replace("src/app.py", f"{'deep/' * 20}app.py")
    assert describe_output("search_text", long).startswith("1 matching line: app.py:12: limit")
