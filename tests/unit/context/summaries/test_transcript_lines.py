"""Transcript lines: what a model reads of the messages that it summarizes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.window_layout import Cover, LogItem
from helix_desktop.context.summaries.transcript_lines import (
    brief_lines,
    transcript_lines,
    truncate_middle,
)
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import FoldMade
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
    assert len("\n".join([first, *further])) <= cap + 3
    assert all(line.startswith("| ") or line in ("|", "") for line in further)


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
