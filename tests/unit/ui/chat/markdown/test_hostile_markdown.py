"""Markdown that is nested or repeated to hold the window up: all of it is shown, for work by its length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helix_desktop.ui.chat.markdown.parser import (
    Block,
    Code,
    Prose,
    Table,
    parse_user_text,
    plain_blocks,
)
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown, MarkdownStream
from helix_desktop.ui.chat.markdown.text_layout import text_of_block
from tests.support.call_count import calls_of

_UNITS = (
    "[^a]: ", "[^a]: - ", "[^a]: > ", "[^a]", "[^a]: b\n", "    [^b]: c\n", "- ", "* ", "1. ", "> ", "> - ",
    "- > ", "# ", "*a ", "**a_b ", "***", "_*", "_a", "~~", "[", "![", "[a](", "[a](b", "[a](<", '[a](b "',
    "](x)", "[a]: ", "[a]: b\n", "[x][y]", "<", "<http://a", "http://a.b ", "&amp;", "&", "`", "``a", "```",
    "```a\n", "~~~\n", "$x ", "$", "$$x$$\n", "$$\n", "\\(", "\\[", "\\[x^2\\]\n", "\\", "a\\\n", "|", "|-",
    "a|b\n", "-|-\n", "===\n", "---\n", "***\n", "a", "  - x\n", "    x\n", "\t", "\n", "\n\n", "a  \n",
    "> a\n", "- [ ] a\n", "é", "\u200b",
)  # fmt: skip
# Calls and returns, of Python and of C: the dearest of the steps that a text may take have 70.
_CALLS_PER_STEP = 100
_CALLS_OF_PLAIN_TEXT = 400_000


def _blocks(text: str) -> list[Block]:
    markdown = LazyMarkdown(text)
    return [block for at in range(len(markdown.sections)) for block in markdown.blocks(at)]


def _words(blocks: list[Block]) -> str:
    return "\n".join(text_of_block(block, 0, None).text for block in blocks)


def _repeat(units: list[str], length: int, columns: int) -> str:
    unit = "".join(units)
    text = (unit * (length // len(unit) + 1))[:length]
    return "\n".join(text[at : at + columns] for at in range(0, length, columns)) if columns else text


@given(st.lists(st.sampled_from(_UNITS), min_size=1, max_size=3), st.sampled_from((0, 3, 61)))
@example(["[^a]: "], 0)
@example(["![", "["], 61)
@example(["|"], 61)
@example(["> ", "> ", "_*"], 3)
def test_repeated_constructs_take_work_by_their_length(units: list[str], columns: int) -> None:
    text = _repeat(units, 2_000, columns)
    blocks: list[Block] = []
    calls = calls_of(lambda: blocks.extend(_blocks(text)))
    assert calls < _CALLS_PER_STEP * (20_000 + 6 * len(text)), (units, calls / len(text))


@given(st.lists(st.sampled_from(_UNITS), min_size=1, max_size=3), st.integers(1, 400))
@example(["[^a]: "], 400)
@example(["> "], 400)
def test_nested_constructs_lose_no_word(units: list[str], depth: int) -> None:
    text = "".join(units) * depth + "NEEDLE"
    if "[a]: " in units or "](" in text or "```" in text or "~~~" in text:
        _blocks(text)  # an address or a language is no word; it must be read all the same
        return
    assert "NEEDLE" in _words(_blocks(text))


@pytest.mark.parametrize("opening", ["> ", "- ", "1. ", "> - "])
def test_what_is_nested_too_deep_is_shown_below_a_line(opening: str) -> None:
    note, code = _blocks(opening * 60 + "deep")
    assert isinstance(note, Prose)
    assert code == Code(opening * 60 + "deep")
    assert note == plain_blocks("")[0]
    (prose,) = _blocks("".join("  " * level + f"- level {level}\n" for level in range(9)))
    assert isinstance(prose, Prose)
    assert [paragraph.indent for paragraph in prose.paragraphs] == list(range(1, 10)), "they are still lists"


def _table(rows: int, columns: int) -> str:
    lines = ("|" + f"{word}|" * columns + "\n" for word in ("a", "-", *("b" for _ in range(rows))))
    return "".join(lines)


@pytest.mark.parametrize(("rows", "columns"), [(5_000, 100), (2, 1_800), (4_000, 2), (60, 60)])
def test_a_table_of_too_many_cells_is_shown_as_it_is_written(rows: int, columns: int) -> None:
    text = _table(rows, columns)
    blocks: list[Block] = []
    calls = calls_of(lambda: blocks.extend(_blocks(text)))
    assert not any(isinstance(block, Table) for block in blocks)
    assert "".join(block.text + "\n" for block in blocks if isinstance(block, Code)) == text
    assert calls < _CALLS_OF_PLAIN_TEXT


def test_rows_that_leave_their_cells_out_count_as_whole_rows() -> None:
    assert [type(block) for block in _blocks(_table(400, 6))] == [Table], "a usual one"
    header = "|" + "a|" * 900 + "\n|" + "-|" * 900 + "\n"
    assert not any(isinstance(block, Table) for block in _blocks(header + "b\n" * 2_000))


def _notes(count: int) -> None:
    _blocks("".join(f"[^{at}]: note\n\n" for at in range(count)))


def _feed_lines(count: int, opening: str) -> None:
    stream = MarkdownStream()
    stream.feed(opening)
    for _ in range(count):
        stream.feed("more words\n")


@pytest.mark.parametrize(
    "do",
    [
        _notes,
        partial(_feed_lines, opening="> " * 60 + "deep\n"),
        partial(_feed_lines, opening="A paragraph with **bold** words.\n\n" * 200 + "```py\n"),
    ],
    ids=["notes", "what arrives plain", "code that arrives below a long text"],
)
def test_work_grows_with_the_length(do: Callable[[int], None]) -> None:
    few = calls_of(lambda: do(200))
    many = calls_of(lambda: do(1_600))
    assert many < 10 * few, "eight times as many"


def test_an_answer_that_arrives_becomes_plain_once_and_keeps_every_word() -> None:
    text = "Before.\n\n" + "> " * 60 + "deep\n" + "more\n" * 200
    stream = MarkdownStream()
    for at in range(0, len(text), 7):
        stream.feed(text[at : at + 7])
    assert stream.is_plain
    assert stream.fence is not None
    words = _words([block for chunk in stream.frozen for block in chunk.blocks]) + stream.fence.text()
    assert "Before." in words
    assert words.count("more") == 200
    assert "deep" in words


def test_a_text_without_a_place_to_cut_is_shown_in_parts() -> None:
    text = "a line of a log\n" * 40_000
    markdown = LazyMarkdown(text)
    kinds = [section.kind for section in islice(markdown.sections, 3)]
    assert kinds == ["note", "code", "code"]
    codes = [block.text for block in _blocks(text) if isinstance(block, Code)]
    assert "\n".join(codes) + "\n" == text


def test_references_behind_a_text_that_fails_are_still_known() -> None:
    blocks = _blocks("> " * 60 + "deep\n\n" + "word " * 100 + "\n\n[a]\n\n[a]: https://x.org\n")
    spans = [
        span
        for block in blocks
        if isinstance(block, Prose)
        for leaf in block.paragraphs
        for span in leaf.spans
    ]
    assert any(span.link == "https://x.org" for span in spans)


def test_code_of_a_user_in_too_many_pieces_is_words() -> None:
    text = "`a` " * 9_000
    (chunk,) = parse_user_text(text)
    assert _words(list(chunk.blocks)) == text
