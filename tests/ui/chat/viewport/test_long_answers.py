"""Long answers are built in part, with no difference for reading, copying, finding and screen readers."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QImage, QPainter, QTextDocument
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.ui.chat.items.assistant_message import (
    MAX_GROWING_CHARS,
    MAX_TAKEN_CHARS,
    AssistantMessageItem,
)
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools
from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.rows.row_types import AssistantRow, UserRow
from helix_desktop.ui.chat.style import ChatStyle
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.document_units import slice_units
from helix_desktop.ui.design.highlight import Highlighter, HighlightJob
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme
from helix_desktop.ui.kit.boxes import PaintState
from helix_desktop.ui.rows.row_widget import RowWidget
from tests.support.window.chat_geometry import row_key
from tests.support.window.looks import ShowLook

_FOR_EVER = float("inf")
_PIECES = (
    "Words **bold** with `code` and [a link](https://x.org).\n\n",
    "A longer paragraph. " * 30 + "\n\n",
    "- one\n- two\n  - three\n",
    "1. first\n   ```sh\n   run\n   ```\n2. second\n\n",
    "## Head\n\n",
    "> quoted\n\n",
    "| a | b |\n|--|--|\n| 1 | |\n\n",
    "---\n\n",
    "```python\n" + 'def f():\n    """Text\n    on."""\n' * 60 + "```\n",
    "```\n" + "z" * 9_001 + "\n```\n",
    "\n\n" + "wide " * 1_800 + "\n\n",
    "```\n\tcode\n```\n",
)
_TEXTS = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=9).map("".join)


@pytest.fixture
def slice_s() -> None:
    """Rows are built in slices as long as in the window."""


def _laid_out_item(text: str) -> AssistantMessageItem:
    style = ChatStyle(LIGHT)
    sheet = AssistantMessageItem(
        AssistantRow(row_key("a"), text),
        ItemContext(),
        ItemTools(style, DocumentWriter(style), Highlighter()),
    )
    sheet.layout(600.0)
    return sheet


def _picture(sheet: AssistantMessageItem) -> QImage:
    image = QImage(620, round(sheet.height) + 2, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    sheet.paint(painter, PaintState(QRectF(0, 0, 620, sheet.height + 2)))
    painter.end()
    return image


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(_TEXTS, st.randoms(use_true_random=False))
def test_slices_render_and_copy_like_a_complete_build(text: str, chance: random.Random) -> None:
    complete = _laid_out_item(text)
    sliced = _laid_out_item(text)
    before = [words[1:] for words in sliced.block_texts()]
    numbers = [words.number for words in sliced.block_texts()]
    complete.build(0.0, _FOR_EVER, _FOR_EVER)
    for _ in range(6):
        top = chance.uniform(0, sliced.height)
        sliced.build(top, top + 200, _FOR_EVER, upwards=chance.random() < 0.5)
    sliced.build(0.0, _FOR_EVER, _FOR_EVER)
    assert sliced.height == complete.height
    assert [hot.rect for hot in sliced.hit_areas] == [hot.rect for hot in complete.hit_areas]
    assert _picture(sliced) == _picture(complete)
    assert [words[1:] for words in complete.block_texts()] == before
    assert [text.number for text in complete.texts] == numbers
    assert [text.text() for text in complete.texts] == [words[0] for words in before]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(_TEXTS, st.randoms(use_true_random=False))
def test_visible_text_stays_wherever_a_slice_ends(text: str, chance: random.Random) -> None:
    """The view begins where a text ends; that one and another were built before, as finding words does."""
    sheet = _laid_out_item(text * 4)
    numbers = [words.number for words in sheet.block_texts()]
    for _ in range(8):
        at = chance.randrange(len(numbers))
        above, *_ = [sheet.text(number) for number in numbers[at : at + 3 : 2]]
        top = above.rect.bottom() + chance.uniform(-2, 12)
        upwards = chance.random() < 0.5
        slice_end = chance.uniform(top - 300, top + 600)
        with _is_still(sheet, top, top + 600, at_end=upwards):
            if upwards:
                sheet.build(slice_end, top + 600, _FOR_EVER, upwards=True)
            else:
                sheet.build(top - 300, slice_end, _FOR_EVER)


@contextmanager
def _is_still(sheet: AssistantMessageItem, top: float, bottom: float, *, at_end: bool) -> Iterator[None]:
    """Check that the first text in sight moves as its anchor does, which the viewport makes up for."""
    anchor = sheet.scroll_anchor(top, bottom, at_end=at_end)
    text = next((text for text in sheet.built_texts if text.y < bottom and text.rect.bottom() > top), None)
    stood = sheet.anchor_top(anchor)
    y = text.y if text is not None else 0.0
    yield
    if text is not None:
        assert abs((text.y - y) - (sheet.anchor_top(anchor) - stood)) < 1e-6


def test_text_stays_below_the_edge_of_a_frame_and_what_is_not_built() -> None:
    sheet = _laid_out_item("```\n1\n```\n\n" + "Some words. " * 60 + "\n\n```\n2\n```\n")
    numbers = [words.number for words in sheet.block_texts()]
    first = sheet.text(numbers[0])
    second = sheet.text(numbers[-1])
    estimated_y = second.y
    with _is_still(sheet, first.rect.bottom() + 2, second.rect.bottom(), at_end=False):
        sheet.build(0.0, sheet.height, _FOR_EVER)
    assert second.y != estimated_y


def test_what_is_not_built_of_a_long_line_is_one_object_a_section() -> None:
    gc.collect()
    before = len(gc.get_objects())
    sheet = _laid_out_item("x" * 3_600_000)
    added = len(gc.get_objects()) - before
    assert added < 2 * len(sheet.lazy_markdown().sections), "the first frame would wait for them"


def test_a_width_that_returns_brings_its_height_back() -> None:
    sheet = _laid_out_item(_long(20))
    sheet.build(0.0, _FOR_EVER, _FOR_EVER)
    height = sheet.height
    sheet.layout(400.0)
    assert sheet.layout(600.0) == height


def _long(paragraphs: int) -> str:
    return "\n\n".join(f"Paragraph {n} has **bold** words. " + "It goes on. " * 60 for n in range(paragraphs))


def _built(view: ChatView, index: int = 0) -> int:
    return len(view.chat_viewport.item(index).built_texts)


def _widget(view: ChatView, key: str) -> RowWidget:
    return view.chat_viewport.widget_pool.visible[row_key(key)]


def test_only_visible_and_adjacent_slices_are_built(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), _long(300))])
    qtbot.waitUntil(lambda: _built(view) > 5)
    assert _built(view) < 60
    assert view.chat_viewport.is_following
    view.chat_viewport.show_row(0, 0.0)
    qtbot.waitUntil(lambda: view.chat_viewport.item(0).built_texts[0].text().startswith("Paragraph 0"))
    assert _built(view) < 90


def test_small_steps_up_through_a_long_answer_are_exact(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset(
        [UserRow(row_key("u"), "go"), AssistantRow(row_key("a"), _long(120)), UserRow(row_key("v"), "thanks")]
    )
    qtbot.waitUntil(lambda: _built(view, 1) > 5)

    def places() -> dict[int, float]:
        top = next(
            row.y for row in view.chat_viewport.scroll_layout.placed if row.row_index == 1
        ) + view.chat_viewport.item_cache.gap(1)
        texts = view.chat_viewport.item(1).built_texts
        return {text.number: top + text.y for text in texts if -200 < top + text.y < 600}

    for _ in range(60):
        where = places()
        view.chat_viewport.scroll_by(-37)
        now = places()
        assert where.keys() & now.keys()
        for number in where.keys() & now.keys():
            assert abs(now[number] - where[number] - 37) < 1e-6


def test_a_long_answer_is_copied_and_read_aloud_without_building_all(view: ChatView) -> None:
    text = _long(200) + "\n\n```\n" + "q" * 50_000 + "\nend\n```\n"
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), text)])
    view.select_all()
    expected = text.replace("**", "").split("\n\n```\n")[0]
    copied = view.selected_text()
    assert copied.split("\n\nqqq")[0] == expected.replace(" \n", "\n").strip()
    assert copied.endswith("q" * 50_000 + "\nend")
    assert _built(view) < 60
    assert _widget(view, "a").text().count("Paragraph") == 200


def test_distant_words_in_a_long_answer_are_found(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), _long(200))])
    for words, number in (("paragraph 3 has", 3), ("paragraph 150 has", 150)):
        with qtbot.waitSignal(view.finder.finished) as done:
            view.find_text(words)
        assert done.args == [True]
        current = view.finder.current
        assert current is not None
        text = view.chat_viewport.item(0).text(current[0].text)
        assert text.text().startswith(f"Paragraph {number} ")
        top = view.chat_viewport.scroll_layout.placed[0].y + view.chat_viewport.item_cache.gap(0)
        assert 0 <= top + text.line_rect(current[0].position).y() < 600
    assert _built(view) < 90


def test_long_strings_in_cut_code_are_colored_from_their_start(qtbot: QtBot, view: ChatView) -> None:
    code = 'x = """' + "\nwords in a string" * 300 + '"""'
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), f"```python\n{code}\n```")])
    last = view.chat_viewport.item(0).texts[-1].document.firstBlock()
    qtbot.waitUntil(lambda: len(last.layout().formats()) > 0)
    assert last.layout().formats()[0].format.foreground().color().name() == LIGHT.code.string


def test_words_behind_an_emoji_have_their_colors(qapp: object) -> None:
    document = QTextDocument('x = "😀😀" + "a"')
    highlighter = Highlighter()
    highlighter.add(HighlightJob(document, "python", LIGHT.code))
    highlighter.finish()
    formats = document.firstBlock().layout().formats()
    strings = [part for part in formats if part.format.foreground().color().name() == LIGHT.code.string]
    words = [slice_units(document.toPlainText(), part.start, part.start + part.length) for part in strings]
    assert "".join(words) == '"😀😀""a"'


def test_the_last_line_of_a_diff_is_colored(qapp: object) -> None:
    document = QTextDocument("- a\n+ b")
    highlighter = Highlighter()
    highlighter.add(HighlightJob(document, "diff", LIGHT.code))
    highlighter.finish()
    (last,) = document.lastBlock().layout().formats()
    assert (last.start, last.length) == (0, 3)
    assert last.format.foreground().color().name() == LIGHT.code.string


def test_an_answer_that_streams_on_after_opening_stays_complete(view: ChatView) -> None:
    model = view.chat_viewport.model
    model.reset([AssistantRow(row_key("s"), _long(100), streaming=True)])
    model.stream(row_key("s"), " And more.\n\nLast **words**.")
    view.chat_viewport.flush()
    assert view.chat_viewport.item(0).texts[-1].text() == "Last words."
    model.replace(row_key("s"), AssistantRow(row_key("s"), _long(100) + " And more.\n\nLast **words**."))
    texts = [text.text() for text in view.chat_viewport.item(0).texts]
    model.reset([AssistantRow(row_key("s"), _long(100) + " And more.\n\nLast **words**.")])
    assert [text.text() for text in view.chat_viewport.item(0).texts] == texts


def test_an_endless_answer_costs_each_frame_the_same_and_is_whole_at_its_end(view: ChatView) -> None:
    model = view.chat_viewport.model
    viewport = view.chat_viewport
    model.reset([AssistantRow(row_key("s"), "", streaming=True)])
    piece = "A line of an answer that does not end by itself.\n" * 10_000
    shown = [0]
    for _ in range(20):
        model.stream(row_key("s"), piece)
        viewport.flush()
        shown.append(_shown_chars(view))
    steps = [after - before for before, after in pairwise(shown)]
    assert max(steps) < MAX_TAKEN_CHARS + 100  # and the note that it is shown as it is

    for _ in range(60):
        viewport.flush()
    assert MAX_GROWING_CHARS - 100 < _shown_chars(view) < MAX_GROWING_CHARS + 100

    text = piece * 20
    model.replace(row_key("s"), AssistantRow(row_key("s"), text))
    item = viewport.item(0)
    whole = "\n".join(part.text for part in item.block_texts() if part.text)
    assert whole.endswith(text.removesuffix("\n"))  # behind the note that it is shown as it is
    assert _shown_chars(view) < MAX_GROWING_CHARS


def _shown_chars(view: ChatView) -> int:
    return sum(text.length for text in view.chat_viewport.item(0).built_texts)


def test_what_is_not_shown_at_once_of_an_answer_follows_by_itself(qtbot: QtBot, view: ChatView) -> None:
    model = view.chat_viewport.model
    model.reset([AssistantRow(row_key("s"), "", streaming=True)])
    model.stream(row_key("s"), f"{_long(60)}\n\nThe end.")
    qtbot.waitUntil(lambda: [text.text() for text in view.chat_viewport.item(0).texts[-1:]] == ["The end."])


def test_the_end_of_a_very_long_answer_is_in_sight_at_once(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("a"), "word " * 200_000 + "\n\nThe end.")])
    assert view.chat_viewport.is_at_end
    qtbot.waitUntil(
        lambda: [text.text() for text in view.chat_viewport.item(0).built_texts[-1:]] == ["The end."]
    )
    assert view.chat_viewport.is_at_end


def test_tab_reaches_every_copy_button_of_a_long_answer(view: ChatView) -> None:
    text = "\n\n".join(f"{_long(12)}\n\n```py\nx = {n}\n```" for n in range(6))
    view.chat_viewport.model.reset([UserRow(row_key("u"), "go"), AssistantRow(row_key("a"), text)])
    view.chat_viewport.show_row(0)
    view.setFocus()
    copied = []
    QTest.keyClick(view, Qt.Key.Key_Tab)
    while _widget(view, "a").has_keyboard():
        widget = _widget(view, "a")
        copied.append(view.chat_viewport.item(1).copy_text(int(widget.focused_area.removesuffix(":copy"))))
        QTest.keyClick(widget, Qt.Key.Key_Tab)
    assert copied == [f"x = {n}" for n in range(6)]


def test_what_is_built_after_a_theme_switch_is_painted(
    qtbot: QtBot, view: ChatView, show_look: ShowLook
) -> None:
    view.chat_viewport.slice_s = 0.0
    text = "**A** `b` [c](https://x.org)\n\n" * 4
    view.chat_viewport.model.reset([AssistantRow(row_key(name), text) for name in "abcdefgh"])
    for _ in range(30):
        view.chat_viewport.refresh()
    qtbot.waitUntil(lambda: _lines_on_screen(view, LIGHT) > 80)
    at_first = _lines_on_screen(view, LIGHT)
    show_look(DARK)
    qtbot.waitUntil(lambda: _lines_on_screen(view, DARK) == at_first)


def _lines_on_screen(view: ChatView, theme: Theme) -> int:
    """Return how many lines of pixels of the painted view show text in the color of a theme."""
    shot = view.screen().grabWindow(view.winId()).toImage()
    return sum(any(shot.pixelColor(x, y).name() == theme.text for x in range(10, 120)) for y in range(600))
