"""Contents become pages: every line is there, numbered, folded, found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from helix_desktop.context.intake.descriptions import number_of_first_line
from helix_desktop.ui.design.style.theme import DARK, LIGHT
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer, PagedText
from helix_desktop.ui.design.viewer.paged_content import PAGE_LINES, WRAP_CHARACTERS, PagedContent
from tests.support.window.looks import ShowLook

LINE = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=60)


@given(st.lists(LINE, max_size=60), st.integers(0, 5_000))
def test_rows_joined_are_the_text(lines: list[str], long: int) -> None:
    """Nothing is lost or doubled by lines, pages and folds."""
    text = "\n".join([*lines, "é" * long])
    content = PagedContent(text.encode())
    rows = [row for page in range(content.page_count) for row in content.page(page)]
    joined = "".join(("\n" if (row.line_number or 0) > 1 else "") + row.text for row in rows)
    assert joined == text.removesuffix("\n")
    assert max((len(row.text.encode()) for row in rows), default=0) <= WRAP_CHARACTERS


def test_pages_number_their_lines() -> None:
    """A page continues where the previous one ended."""
    content = PagedContent(b"".join(b"line %d\n" % number for number in range(1, 1_001)))
    assert (content.last_line, content.page_count) == (1_000, 3)
    assert content.page(1)[0].line_number == PAGE_LINES + 1
    assert content.page(2)[-1].text == "line 1000"


def test_a_folded_line_keeps_its_number() -> None:
    """The rows of one long line carry its number once."""
    content = PagedContent(b"a\n" + b"x" * (2 * WRAP_CHARACTERS + 10) + b"\nb")
    assert [row.line_number for row in content.page(0)] == [1, 2, None, None, 3]
    assert content.line_at(3) == 2


def test_one_line_of_millions_of_characters_is_paged() -> None:
    """A line of 3.6 million characters is many rows, none long."""
    content = PagedContent(b"y" * 3_600_000)
    assert content.last_line == 1
    assert content.page_count == 5
    assert len(content.page(0)) == PAGE_LINES


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\0\0", b"\xff\xfe text that is no UTF-8 " * 4])
def test_binary_content_is_displayed_as_hexadecimal(data: bytes) -> None:
    """Bytes are displayed unchanged."""
    content = PagedContent(data)
    assert content.is_binary
    assert content.page(0)[0].text.startswith(f"00000000  {data[:4].hex(' ')}")


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_text_that_was_cut_inside_its_last_character_is_a_text(missing: int) -> None:
    content = PagedContent("words 😀".encode()[:-missing])
    assert not content.is_binary
    assert content.page(0)[0].text == "words \N{REPLACEMENT CHARACTER}"


def test_control_characters_become_pictures() -> None:
    """An escape sequence is displayed, not interpreted, and occupies one column as before."""
    assert PagedContent(b"\x1b[31mred").page(0)[0].text == "␛[31mred"


@given(st.lists(LINE, min_size=1, max_size=40), st.text(st.sampled_from("abéX"), min_size=1, max_size=3))
def test_search_finds_existing_text(lines: list[str], needle: str) -> None:
    """A hit has the row and the column of the words."""
    text = "\n".join([*lines, f"some {needle} here"])
    content = PagedContent(text.encode())
    hits = [hit for hit in content.search(needle) if hit is not None]
    assert hits
    for hit in hits:
        hit_text = content.row(hit.row).text[hit.column : hit.column + hit.length]
        assert hit_text.encode().lower() == needle.encode().lower()


def test_share_of_lines_is_their_part_of_the_bytes() -> None:
    """The cost of recalling some lines follows from their bytes."""
    content = PagedContent(b"12345\n" * 10)
    assert content.byte_share(1, 10) == pytest.approx(1.0)
    assert content.byte_share(3, 4) == pytest.approx(0.2)


def test_a_hit_behind_an_emoji_is_marked_whole(qtbot: QtBot) -> None:
    text = PagedText()
    content = PagedContent("first\n😀 a 😀 word here".encode())
    qtbot.addWidget(text)
    text.show_content(content)
    matches = [match for match in content.search("a 😀 word") if match is not None]
    text.show_match(matches[0], matches)
    (mark,) = text.extraSelections()
    assert mark.cursor.selectedText() == "a 😀 word"


def test_marked_matches_take_the_colors_of_another_theme(qtbot: QtBot, show_look: ShowLook) -> None:
    text = PagedText()
    content = PagedContent(b"one word\nanother word")
    qtbot.addWidget(text)
    text.show_content(content)
    matches = [match for match in content.search("word") if match is not None]
    text.show_match(matches[0], matches)
    for theme in (LIGHT, DARK, LIGHT):
        show_look(theme)
        grounds = [mark.format.background().color() for mark in text.extraSelections()]
        assert grounds == [QColor(theme.seg_output), QColor(theme.warn_soft)]
    text.clear_matches()
    show_look(DARK)
    assert text.extraSelections() == []


def test_a_header_above_numbered_lines_has_no_number_of_its_own() -> None:
    """Selecting it with lines below it selects those; the share of bytes is that of their numbers."""
    content = PagedContent(b"exit code 0 (sandboxed):\nfirst\nsecond\n", first_number=0)
    assert [row.line_number for row in content.page(0)] == [0, 1, 2]
    assert content.last_line == 2
    assert content.byte_share(2, 2) == len("second\n") / len(content.data)


def test_a_part_of_a_file_has_the_numbers_of_the_file() -> None:
    """They counted from 1 beside the numbers that the lines themselves begin with, as the agent counts."""
    data = b"Lines 100-102 of 400 of a.py:\n100:def f():\n101:    pass\n102:\n"
    content = PagedContent(data, first_number=number_of_first_line("read_file", data))
    assert [row.line_number for row in content.page(0)] == [0, 100, 101, 102]
    assert (content.first_line, content.last_line) == (100, 102)
    assert content.row(content.row_of_line(101)).text == "101:    pass"


def test_the_position_in_a_part_of_a_file_leaves_out_its_header(qtbot: QtBot) -> None:
    lines = b"".join(b"%d:x\n" % number for number in range(100, 900))
    viewer = ContentViewer()
    qtbot.addWidget(viewer)
    viewer.resize(900, 300)
    viewer.show_data(b"Lines 100-899 of 2000 of a.py:\n" + lines, first_number=99)
    assert viewer.position_label.text == "lines 100–498 of 100–899"
