"""Transcript lines: what a model reads of the messages that it summarizes."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.context.summaries.summary_task import (
    brief_lines,
    short_lines,
    transcript_lines,
    truncate_middle,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.rewrite import FoldMade
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


def test_source_in_a_note_stands_with_its_constants() -> None:
    """A fold leaves the names of what it defines; facts can be noted from its constants and limits only."""
    digest = "ab" * 32
    text = (
        "import re\n\nMAX_LINKS = 2_000\n\ndef link(level):\n    pos += 1\n    if level > 32:\n        pass\n"
    )
    answer = ToolAnswered("c1", "read_file", text, digest, 9, 9, 9, target="link.py", about="link")
    items = [LogItem(3, 0, 1, 1, answer, 9, 9)]
    fold = Cover(9, 0, 4, FoldMade(0, 4, "note", 9, digest, 1, 2, 3))
    (line,) = transcript_lines(items, [fold])
    assert line.text == "e3 tool read_file link.py: link\n| MAX_LINKS = 2_000\n| if level > 32:"
    assert [line.text for line in brief_lines(items)] == ["e3 tool read_file link.py: link"]


def test_a_note_names_the_tests_that_failed_and_what_was_edited() -> None:
    """A summary is written from it: a count alone, or that something was replaced, says nothing.

    Whether the command says so with its exit code or not, as before a pipe.
    """
    digest = "ab" * 32
    failed = "FAILED tests/test_link.py::test_levels - assert 31 == 32"
    text = f"exit code 0\nE       assert 31 == 32\n{failed}\n1 failed, 120 passed in 3.98s\n"
    run = ToolAnswered("c1", "run_command", text, digest, 9, 9, 9, about='exit 0, "1 failed, 120 passed"')
    edits = [
        {"path": "a.py", "old_text": "a = 1", "new_text": "a = 1\nlevel = 32"},
        {"old_text": "", "new_text": 1},
    ]
    one = msgspec.json.encode(edits[0]).decode()
    many = msgspec.json.encode({"edits": edits[:1] * 2}).decode()
    odd = msgspec.json.encode({"edits": edits}).decode()
    calls = [ToolCall(name, name, text) for name, text in (("edit", one), ("multi", many), ("odd", odd))]
    events: tuple[AssistantSpoke | ToolAnswered, ...] = (
        msgspec.structs.replace(run, exit_code=0),
        AssistantSpoke("", "lab/m", 1, tuple(calls)),
    )
    result, answer = brief_lines(LogItem(seq, 0, 1, 1, event, 9, 9) for seq, event in enumerate(events))
    assert result.text == f"e0 tool run_command  exit 0: 1 failed, 120 passed\n| {failed}"
    assert answer.text == "e1 assistant:  -> calls edit (level = 32), multi (level = 32 | level = 32), odd"


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
