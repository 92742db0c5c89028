"""Summary tasks: transcript lines, what a long message leaves out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.file_notes import reverts_note
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.summary_task import (
    brief_lines,
    short_lines,
    transcript_lines,
    truncate_middle,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.todo import TODO, TodoItem, list_text
from tests.support.histories import NASTY_TEXTS


def test_a_long_message_is_cut_between_words() -> None:
    """Half a word at either end would read as another one."""
    words = [f"word{number}" for number in range(400)]
    for cap in range(200, 212):
        head, _, tail = truncate_middle(" ".join(words), cap).partition(" … ")
        assert head.split() == words[: len(head.split())]
        assert tail.split() == words[-len(tail.split()) :]
        assert cap - 20 < len(head) + len(tail) <= cap
    assert truncate_middle("x" * 400, 90) == f"{'x' * 60} … {'x' * 30}", "nothing in it is a word"


@given(st.lists(st.sampled_from(NASTY_TEXTS), max_size=9), st.integers(3, 300))
def test_no_line_of_a_cut_message_begins_a_message(texts: list[str], cap: int) -> None:
    first, *further = truncate_middle("\n".join(texts), cap).split("\n")
    assert len("\n".join([first, *further])) <= cap + len(" …\n| … ")
    assert all(line.startswith("| ") or line in ("|", "") for line in further)


def test_items_of_a_list_on_both_sides_of_what_is_left_out_are_two_lines() -> None:
    """On one line they read as one finding: that a test was added, and skipped."""
    items = [
        "1. `gauge.py` - Read the level in bars",
        *("2. Renamed everything else" for _ in range(9)),
        "3. `tide.py` - Skipped as the table is short",
    ]
    cut = truncate_middle("\n".join(items), 90)
    assert (
        cut == "1. `gauge.py` - Read the level in bars\n| 2. Renamed  …\n| …  Skipped as the table is short"
    )
    assert "\n" not in truncate_middle(" ".join(items), 90)


def test_a_record_cuts_what_was_recalled_and_no_small_output() -> None:
    """A recalled copy like its cached original; of a small output each line may be a result."""
    file = "a line of a file\n" * 200
    script = "\n".join(f"result {n} of the script" for n in range(30))
    items = [
        LogItem(seq, 0, 1, 1, ToolAnswered("c", "tool", text, "d" * 64, 9, 9, 9, recalled=recalled), 9, 9)
        for seq, (text, recalled) in enumerate([(file, ""), (script, ""), (file, "d" * 64)], 2)
    ]
    cached, small, copy = (line.text for line in transcript_lines(items, swept={2, 3}))
    assert copy.removeprefix("e4") == cached.removeprefix("e2")
    assert len(copy) < 800
    assert all(line in small for line in script.splitlines())


def test_a_record_has_a_file_of_a_kilobyte_whole() -> None:
    """As it was read, each line behind its number, and as it was written; of a larger one both ends."""
    lines = [f"setting_{n} = {n * n}  # of the tide gauge" for n in range(26)]
    for count, is_whole in ((1, True), (4, False)):
        file = "\n".join(lines * count)
        read = "\n".join(f"{number}: {line}" for number, line in enumerate(lines * count, 1))
        write = ToolCall("c", "write_file", json.dumps({"path": "tide.ini", "content": file}))
        items = [
            LogItem(2, 0, 1, 1, AssistantSpoke("", "m", 9, (write,)), 9, 9),
            LogItem(3, 0, 1, 1, ToolAnswered("c", "read_file", read, "d" * 64, 9, 9, 9), 9, 9),
        ]
        for line in transcript_lines(items, swept={3}):
            assert all(setting in line.text for setting in lines) == is_whole


def test_a_record_says_what_the_user_reverted_before_their_words() -> None:
    note = reverts_note(["tide.py"], [], shown=["tide.py"])
    (line,) = transcript_lines([LogItem(7, 0, 1, 1, UserSpoke("Take bars.", 3, note=note), 9, 9)])
    assert line.text == "e7 user: [The user reverted the changes to tide.py.] Take bars."


def test_a_todo_list_stands_with_its_tasks_in_a_record() -> None:
    """With "0 of 2 done" alone, a handover can name no task of it."""
    text = list_text((TodoItem("Rework the lexer", "in_progress"), TodoItem("Measure the pager")))
    output = ToolAnswered(
        "t1", TODO, text, "e" * 64, 9, 9, 9, target="0 of 2 done", about=text.splitlines()[0]
    )
    (line,) = short_lines([LogItem(7, 0, 1, 1, output, 9, 9)])
    assert line.text == (
        "e7 tool todo 0 of 2 done: Todo list, 0 of 2 done:\n| [>] Rework the lexer\n| [ ] Measure the pager"
    )


def test_a_short_record_says_what_was_found() -> None:
    """A prepared summary is written from it, and what it can't tell is lost to all later ones."""
    hits = "9 matching lines\n" + "\n".join(f"{n}: ERROR harbor mail refused id={n}" for n in range(9))
    source = "def fee(tons, days):\n    return tons * days\n" * 40
    outputs = (
        ToolAnswered("c", "run_command", "5 ERROR\n44 WARN", "d" * 64, 9, 9, 9, about="5 ERROR", exit_code=0),
        ToolAnswered("c", "search_text", hits, "d" * 64, 9, 9, 9, about="9 matching lines"),
        ToolAnswered("c", "run_command", hits * 9, "d" * 64, 9, 9, 9, about="took 3 s", exit_code=1),
        ToolAnswered("c", "read_file", "Berths from 8 days on cost more.", "d" * 64, 9, 9, 9, about="Berths"),
        ToolAnswered("c", "read_file", source, "d" * 64, 9, 9, 9, about="fee"),
    )
    items = [LogItem(seq, 0, 1, 1, output, 9, 9) for seq, output in enumerate(outputs, 2)]
    levels, found, cut, note, read = (line.text for line in short_lines(items))
    assert levels == "e2 tool run_command  exit 0: 5 ERROR\n| 44 WARN"
    assert all(line in found for line in hits.splitlines())
    assert "took 3 s" in cut
    assert all(line in cut for line in hits.splitlines()[:5])
    assert len(cut) < 800
    assert note.endswith("Berths from 8 days on cost more.")
    assert read == "e6 tool read_file : fee"


_PASSED = "".join(f"test_{n} (test_tide.TestTide.test_{n}) ... ok\n" for n in range(60))
_OTHER = "  a line of a traceback\n" * 40


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            f"{_PASSED}FAIL: test_ebb (test_tide.TestTide.test_ebb)\n{_OTHER}"
            f"ERROR: test_flood (test_tide.TestTide.test_flood)\n{_OTHER}"
            "Ran 62 tests in 0.1s\n\nFAILED (failures=1, errors=1)\n",
            ["FAIL: test_ebb (", "ERROR: test_flood (", "FAILED (failures=1, errors=1)"],
        ),
        (
            f"{_PASSED}FAILED tests/test_tide.py::test_ebb - {'assert 1 == 2 ' * 20}\n"
            f"FAILED tests/test_tide.py::test_flood[a b]\n=== 2 failed in 0.10s ===\n{_OTHER}",
            ["FAILED tests/test_tide.py::test_ebb - ", "::test_flood[a b]\n", "=== 2 failed in 0.10s ==="],
        ),
        (
            f"{_PASSED}Ran 75 tests in 0.1s\n\nOK\n{_OTHER}tide: must be 1 or more\n",
            ["Ran 75 tests in 0.1s\n| OK\n", "tide: must be 1 or more"],
        ),
    ],
)
def test_a_cut_output_keeps_the_lines_that_say_how_tests_went(text: str, kept: list[str]) -> None:
    """Which tests failed is what a summary has to say of a run, not which passed."""
    output = ToolAnswered("c", "run_command", text, "d" * 64, 9, 9, 9, about="exit 1", exit_code=1)
    (line,) = short_lines([LogItem(7, 0, 1, 1, output, 9, 9)])
    for cut in (line.text, truncate_middle(text, 300)):
        assert [part for part in kept if part not in cut] == []
    assert len(truncate_middle(text, 600)) <= 600 + len(" …\n| … ")


def test_a_record_names_what_a_cut_edit_defines() -> None:
    """Else an observation could not name the tests that were written; what stood there before is not new."""
    old = "def test_kept():\n" + "    assert level() == 1\n" * 20
    new = old + "\n\n" + "def test_added():\n" + "    assert level() == 2\n" * 20
    edit = json.dumps({"path": "tests/test_gauge.py", "old_text": old, "new_text": new + old})
    patch = "*** Update File: A.java\n def test_context():\n+    public void addsLevels() {\n"
    patch += "+        run();\n" * 60 + '+it("adds levels", () => {\n'
    calls = (
        *(ToolCall("c1", "edit_file", edit), ToolCall("c2", "read_file", '{"path": "a.py"}')),
        ToolCall("c3", "apply_patch", json.dumps({"patch": patch})),
    )
    items = [LogItem(7, 0, 1, 1, AssistantSpoke("I add tests.", "m", 9, calls), 9, 9)]
    (whole,) = transcript_lines(items)
    (brief,) = brief_lines(items)
    assert brief.text == (
        "e7 assistant: I add tests. -> calls edit_file (defines test_added), read_file, "
        "apply_patch (defines addsLevels, adds levels)"
    )
    assert " (defines test_added); read_file" in whole.text
    assert "test_kept)" not in whole.text
