"""Lists of a hundred items, and in quotes: each number is in sight whole, and texts stand in one column."""

from __future__ import annotations

import pytest

from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.markdown.parser import MarkdownParser, Paragraph, Prose, Span
from helix_desktop.ui.chat.style import BODY, ChatStyle
from helix_desktop.ui.design.style.theme import LIGHT
from tests.support.window.painted_text import dark_columns, painted


@pytest.mark.usefixtures("qapp")
def test_numbers_from_a_hundred_on_have_room() -> None:
    style = ChatStyle(LIGHT)
    markers = ("9.", "99.", "100.", "111.", "777.", "1000.")
    items = (Paragraph((Span("An item"),), indent=1, marker=marker) for marker in markers)
    document = DocumentWriter(style).write_prose(Prose(tuple(items))).document
    lefts = [document.findBlockByNumber(number).blockFormat().leftMargin() for number in range(len(markers))]
    assert (lefts[0], lefts[2]) == (lefts[1], lefts[3])
    for left, marker in zip(lefts, markers, strict=True):
        assert left >= style.width(marker, style.font(BODY))


@pytest.mark.usefixtures("qapp")
def test_a_paragraph_stands_below_the_first_one_of_its_item() -> None:
    (chunk,) = MarkdownParser().parse("100. An item\n\n     goes on\n     - nested\n\n     and on")
    (block,) = chunk.blocks
    assert isinstance(block, Prose)
    document = DocumentWriter(ChatStyle(LIGHT)).write_prose(block).document
    first, second, nested, last = (
        document.findBlockByNumber(number).blockFormat().leftMargin() for number in range(4)
    )
    assert first == second == last < nested


@pytest.mark.usefixtures("qapp")
def test_the_bar_of_a_quote_is_left_of_the_numbers_in_it() -> None:
    (chunk,) = MarkdownParser().parse("> before\n>\n> 1. An item\n> 2. Another")
    (block,) = chunk.blocks
    assert isinstance(block, Prose)
    assert {paragraph.quotes for paragraph in block.paragraphs} == {(0,)}
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(block)
    text.layout(400)
    image = painted(text)
    bar = [row for row in range(int(text.height)) if image.pixelColor(1, row).lightness() < 250]
    assert bar == list(range(bar[0], bar[-1] + 1)), "one bar for all of the quote"
    assert bar[-1] - bar[0] > text.height - 8
    empty = [column for column in range(3, 15) if column not in dark_columns(image, 30, round(text.height))]
    assert len(empty) > 5, "between the bar and the numbers"


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("words", ["- `first`\n- second", "- `first` שני\n- שני"])
def test_the_bullets_of_a_list_stand_below_each_other_also_before_code(words: str) -> None:
    blocks = [block for chunk in MarkdownParser().parse(words) for block in chunk.blocks]
    items = tuple(item for block in blocks if isinstance(block, Prose) for item in block.paragraphs)
    text = DocumentWriter(ChatStyle(LIGHT)).write_prose(Prose(items))
    text.layout(400)
    image = painted(text)
    is_from_right = "שני" in words
    second = round(text.document.documentLayout().blockBoundingRect(text.document.lastBlock()).top())
    edges = []
    for top, bottom in ((0, second), (second, image.height())):
        columns = dark_columns(image, top, bottom)
        edges.append(max(columns) if is_from_right else min(columns))
    assert edges[0] == edges[1]
