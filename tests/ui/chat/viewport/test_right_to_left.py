"""Where texts run from right to left: a paragraph has the direction of its own letters, code has not."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.markdown.parser import Paragraph, Prose, Span, Table
from helix_desktop.ui.chat.rows.row_types import AssistantRow, NoticeRow
from helix_desktop.ui.chat.style import ChatStyle
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import LIGHT
from tests.support.window.chat_geometry import row_key, row_widget, text_point, tool_row
from tests.support.window.painted_text import dark_columns, painted

_FROM_LEFT = Qt.LayoutDirection.LeftToRight
_FROM_RIGHT = Qt.LayoutDirection.RightToLeft
CARD = tool_row("t", "run_command", "pytest -q", "ok", "head line", tokens=2_400, digest="9f" * 32)
ANSWER = AssistantRow(row_key("a"), "Run this:\n\n```py\nvalue = 1\n```\n\nאחר כך רצים")
NOTICE = NoticeRow(row_key("n"), "error", "The provider refused.", "The key has expired.", "אפשר לבחור מפתח")


def test_code_begins_at_the_left_and_a_paragraph_where_its_letters_begin(view: ChatView) -> None:
    view.chat_viewport.model.reset([ANSWER])
    width = view.viewport().width()
    assert text_point(view, "a", "Run").x() < width / 4
    assert text_point(view, "a", "value").x() < width / 4
    assert text_point(view, "a", "אחר").x() > width * 3 / 4
    image = row_widget(view, "a").grab().toImage()
    line = text_point(view, "a", "value").y() - row_widget(view, "a").y()
    inside = dark_columns(image.copy(12, 0, image.width() - 24, image.height()), line - 6, line + 6)
    assert max(inside) < width / 4


@pytest.mark.parametrize(
    ("start", "end", "selected"), [("key has", "expired", "key has expired"), ("לבחור", "מפתח", "לבחור מפתח")]
)
def test_words_are_selected_where_they_are_seen(view: ChatView, start: str, end: str, selected: str) -> None:
    view.chat_viewport.model.reset([NOTICE])
    area = view.viewport()
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(area, left, pos=text_point(view, "n", start))
    QTest.mouseMove(area, text_point(view, "n", end, after=True))
    QTest.mouseRelease(area, left, pos=text_point(view, "n", end, after=True))
    assert view.selected_text() == selected


@pytest.mark.parametrize(
    ("words", "is_from_right"),
    [("קוראים קובץ", True), ("reading a file", False), ("`read_file` קורא קובץ", True)],
)
def test_the_marker_of_a_list_stands_where_its_line_begins(
    qapp: object, words: str, is_from_right: bool
) -> None:
    spans = tuple(Span(part, code=at % 2 == 1) for at, part in enumerate(words.split("`")) if part)
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(Prose((Paragraph(spans, indent=1, marker="•"),)))
    text.layout(400)
    image = painted(text)
    columns = dark_columns(image, 0, image.height())
    assert (min(columns) > 200) == is_from_right
    assert (max(columns) > 385) == is_from_right  # the marker
    assert (min(columns) < 15) != is_from_right


def test_the_ground_of_code_covers_it_within_a_line_from_right_to_left(qapp: object) -> None:
    style = ChatStyle(LIGHT)
    spans = (Span("קוראים את "), Span("read_file", code=True), Span(" עכשיו"))
    text = DocumentWriter(style).write_prose(Prose((Paragraph(spans),)))
    text.layout(400)
    (ground,) = text.inline_code_rects()
    wide = style.width("read_file", style.font(mono=True))
    assert wide <= ground.width() <= wide + 12
    assert 200 < ground.x() < 400 - ground.width()


def test_the_ground_of_code_begins_within_its_paragraph_on_each_line(qapp: object) -> None:
    style = ChatStyle(LIGHT)
    spans = (Span("read_file", code=True), Span(" and "), Span("run_command " * 9, code=True))
    text = DocumentWriter(style).write_prose(Prose((Paragraph(spans),)))
    text.layout(300)
    grounds = [*text.inline_code_rects()]
    assert len({ground.y() for ground in grounds if -0.5 <= ground.x() <= 0.5}) > 2
    assert min(ground.x() for ground in grounds) >= -0.5


def test_code_in_a_line_from_right_to_left_keeps_its_signs_and_no_copy_or_search_has_more(
    qapp: object,
) -> None:
    spans = (Span("את "), Span("run(x);", code=True), Span(" עכשיו"))
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(Prose((Paragraph(spans),)))
    text.layout(400)
    (begin, end), *others = text.find_all("run(x);")
    assert (others, text.text(begin, end)) == ([], "run(x);")
    assert text.text() == "את run(x); עכשיו"
    ((begin, end),) = text.find_all("; ע")
    assert text.text(begin, end) == "; ע"
    line = text.document.firstBlock().layout().lineAt(0)
    begin, _ = text.find_all("run(x);")[0]
    places = [line.glyphRuns(begin + at, 1)[0].boundingRect().x() for at in range(len("run(x);"))]
    assert places == sorted(places)


def test_copy_and_search_find_their_place_behind_an_emoji(qapp: object) -> None:
    spans = (Span("😀 את "), Span("run(x);", code=True), Span(" 😀 עכשיו"))
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(Prose((Paragraph(spans),)))
    assert text.text() == "😀 את run(x); 😀 עכשיו"
    for words in ("את", "run(x);", "; 😀 ע", "עכשיו"):
        ((begin, end),) = text.find_all(words)
        assert text.text(begin, end) == words


def test_each_line_of_a_message_has_its_own_direction(qapp: object) -> None:
    spans = (Span("שורה ראשונה\nSecond "), Span("line()", code=True), Span(".\n42"))
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(Prose((Paragraph(spans),)))
    text.layout(400)
    assert text.text() == "שורה ראשונה\nSecond line().\n42"
    blocks = [text.document.findBlockByNumber(at) for at in range(text.document.blockCount())]
    assert [block.textDirection() for block in blocks] == [_FROM_RIGHT, _FROM_LEFT, _FROM_LEFT]


@pytest.mark.parametrize("place", [{"indent": 1, "marker": "•"}, {"quotes": (0,)}])
def test_each_line_of_an_item_or_quote_has_its_own_direction_beside_the_others(
    qapp: object, place: dict[str, Any]
) -> None:
    paragraph = Paragraph((Span("שורה ראשונה\nSecond line."),), **place)
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(Prose((paragraph,)))
    text.layout(400)
    assert text.text().endswith("שורה ראשונה\nSecond line.")
    first = text.document.firstBlock()
    second = text.document.lastBlock()
    assert (first.textDirection(), second.textDirection()) == (_FROM_RIGHT, _FROM_LEFT)
    above, below = (block.layout().lineAt(0).naturalTextRect().right() for block in (first, second))
    assert abs(above - below) < 2
    columns = dark_columns(painted(text), 0, round(text.height))
    assert min(columns) > 200, "and nothing is left of them"


def test_the_first_column_of_a_table_is_at_the_right_and_copied_first(qapp: object) -> None:
    rows = [["שם", "מספר"], ["קובץ", "12"]]
    cells = tuple(tuple((Span(word),) for word in row) for row in rows)
    text = DocumentWriter(ChatStyle(LIGHT)).write_table(Table(cells, ("left", "right")))
    text.layout(400)
    assert text.text() == "\n".join("\t".join(row) for row in rows)
    layout = text.document.documentLayout()
    first, second = (
        layout.blockBoundingRect(text.document.findBlock(text.find_all(word)[0][0])) for word in rows[1]
    )
    assert first.x() > second.x()


@pytest.mark.parametrize(("words", "is_from_right"), [("כותבים pytest", True), ("writing", False)])
def test_the_caret_of_an_answer_stands_behind_its_last_word(
    qapp: object, words: str, is_from_right: bool
) -> None:
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(Prose((Paragraph((Span(words),)),)))
    text.layout(400)
    caret = text.caret_rect(17)
    columns = dark_columns(painted(text), 0, round(text.height))
    gap = min(columns) - caret.right() if is_from_right else caret.left() - max(columns)
    assert 0 < gap < 8
