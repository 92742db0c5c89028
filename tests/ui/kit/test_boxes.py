"""Boxes: what they take and leave, where they stand, and what is found; menus made on opening."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.kit.boxes import (
    Box,
    Column,
    Flow,
    Frame,
    Pill,
    Row,
    RowWithEnd,
    Text,
    TwoColumns,
    chip,
    link,
)
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.kit.wrapped_text import Words
from helix_desktop.ui.rows.item import ListItem

LONG = "A sentence that is longer than the room there is for it, however wide a window may be"


def lay_out(box: Box, width: float) -> float:
    height = box.height(width)
    box.place(QRectF(0, 0, width, height))
    return height


@pytest.fixture(autouse=True)
def _app(qtbot: QtBot) -> None:
    """Boxes measure with the application's font."""


def test_what_grows_takes_the_room_and_what_shrinks_gives_it() -> None:
    title = Text(LONG, grow=True, shrink=True)
    when = Text("9 min ago")
    lay_out(Row([title, when]), 300)
    assert when.rect.right() == pytest.approx(300)
    assert when.rect.width() == pytest.approx(when.width())
    assert title.rect.right() < when.rect.left()
    assert title.tip == LONG, "it is cut"
    lay_out(Row([title, when]), 2_000)
    assert when.rect.right() == pytest.approx(2_000)


def test_a_flow_breaks_where_it_has_to_and_keeps_its_parts_inside() -> None:
    pills = [Pill(f"pill {number}") for number in range(6)]
    one_line = lay_out(Flow(pills), 2_000)
    assert lay_out(Flow(pills), 150) > 2 * one_line
    assert all(pill.rect.left() >= 0 and pill.rect.right() <= 150 for pill in pills)
    lay_out(Flow(pills, is_at_end=True), 2_000)
    assert pills[-1].rect.right() == pytest.approx(2_000)
    wide = Pill(LONG)
    lay_out(Flow([wide]), 100)
    assert wide.rect.width() == 100


def test_what_stands_beside_words_goes_below_them_where_it_is_narrow() -> None:
    words = Words(LONG, grow=True, shrink=True)
    undo = link("undo", None, "Undo")
    box = RowWithEnd([words, Flow([undo])])
    lay_out(box, 500)
    assert undo.rect.left() >= words.rect.right()
    lay_out(box, 200)
    assert undo.rect.top() >= words.rect.bottom()


def test_halves_stand_side_by_side_where_there_is_room() -> None:
    left = Column([Text("Issues")])
    right = Column([Text("To do")])
    lay_out(TwoColumns([left, right]), 700)
    assert left.rect.top() == right.rect.top()
    assert left.rect.width() == right.rect.width()
    lay_out(TwoColumns([left, right]), 300)
    assert right.rect.top() >= left.rect.bottom()


def test_words_wrap_with_chips_behind_the_last_one_and_give_positions() -> None:
    source = chip("source", None, Pill("", icon="message-square"), "Show in chat")
    words = Words("Run `pytest -q` twice,\nthen **stop**.", is_marked_up=True, tail=[source])
    one_line = lay_out(words, 600)
    assert words.text() == "Run pytest -q twice, then stop."
    assert lay_out(words, 120) > one_line
    assert words.rect.contains(source.rect)
    assert source.rect.bottom() == pytest.approx(words.rect.bottom(), abs=3)
    lay_out(words, 600)
    assert words.position_at(0, 5) == 0
    assert words.position_at(599, 5) == words.length
    start, end = words.word_range(words.text().index("twice") + 1)
    assert words.text(start, end) == "twice"


def test_a_tree_is_a_row_with_names_texts_tips_and_places_of_its_own() -> None:
    links = [link("source", number, "Show") for number in (1, 2)]
    tip = Pill("In context", tip="It is sent")
    content = Column([Words("One"), Row([*links, tip]), Words("Two")])
    item = ListItem("key", "A card", Frame(content, (9, 9, 9, 9)), LIGHT)
    item.layout(400)
    names = [area.name for area in item.hit_areas]
    assert len(set(names)) == 2, "each is found by its own name"
    assert [area.action for area in item.hit_areas] == [1, 2]
    assert [text.text() for text in item.texts] == ["One", "Two"]
    assert item.accessible_text().splitlines() == ["One", "Two", "In context"]
    assert item.tip_at(tip.rect.center().x(), tip.rect.center().y()) == "It is sent"
    assert item.tip_at(1, 1) == ""


def test_the_key_beside_an_entry_does_it_while_the_menu_is_open(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    done: list[str] = []
    for key in (Qt.Key.Key_P, Qt.Key.Key_C, Qt.Key.Key_X):
        menu = EntryMenu(parent)
        menu.add("pin", "Pin", lambda: done.append("pin"), "P")
        menu.add("cache", "Cache now", lambda: done.append("cache"), "C", is_enabled=False)
        menu.popup(parent.mapToGlobal(parent.rect().center()))
        QTest.keyClick(menu, key)
        assert menu.isVisible() is (key != Qt.Key.Key_P)
        menu.close()
    assert done == ["pin"], "one that is off does nothing"
