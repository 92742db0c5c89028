"""The small widgets that pages are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QWheelEvent
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.cards import Disclosure, DisclosureHead
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.drops import drag_picture
from helix_desktop.ui.design.focus import refocus
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel, SelectableText
from helix_desktop.ui.design.layout import ResponsiveRow, VerticalScrollArea
from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.style.theme import LIGHT, reduce_motion
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.design.viewer.picture import read_thumbnail, thumbnail_size
from helix_desktop.ui.settings.mcp.server_parts import DisclosureButton
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.times import AGE_STEP_MS
from tests.support.image_bytes import png


def test_the_wheel_over_a_choice_is_left_to_the_page(qtbot: QtBot) -> None:
    """A setting that comes below the mouse stays as it is, and the keyboard where it was."""
    combo = ComboBox()
    combo.addItems(["Balanced", "Lean"])
    qtbot.addWidget(combo)
    with qtbot.waitExposed(combo):
        combo.show()
    middle = combo.rect().center()
    down = QPoint(0, -120)
    no_button = Qt.MouseButton.NoButton
    no_key = Qt.KeyboardModifier.NoModifier
    phase = Qt.ScrollPhase.NoScrollPhase
    places = QPointF(middle), QPointF(combo.mapToGlobal(middle))
    turned = QWheelEvent(*places, QPoint(), down, no_button, no_key, phase, False)
    QApplication.sendEvent(combo, turned)
    assert combo.currentText() == "Balanced"
    assert not turned.isAccepted()
    assert combo.focusPolicy() == Qt.FocusPolicy.StrongFocus


def test_the_last_choice_is_not_cut(qapp: QApplication, qtbot: QtBot) -> None:
    Appearance(qapp).apply_stylesheet()
    combo = ComboBox(300)
    qtbot.addWidget(combo)
    for name in ("First", "Second", "Third", "Last"):
        combo.addItem(name)
    combo.show()
    combo.showPopup()
    view = combo.view()
    for at in range(combo.count()):
        place: QRect = view.visualRect(combo.model().index(at, 0))
        assert view.viewport().rect().contains(place), combo.itemText(at)
    combo.hidePopup()


def test_a_long_name_stays_a_small_pill(qtbot: QtBot) -> None:
    short, long = (
        drag_picture(name, LIGHT, 2.0) for name in ("read_file a.py", "read_file " + "folder/" * 90)
    )
    assert long.deviceIndependentSize().width() <= 320
    assert short.deviceIndependentSize().width() < long.deviceIndependentSize().width()
    assert long.height() == 2 * long.deviceIndependentSize().height()


def test_a_search_field_says_one_word_where_its_words_are_cut(qtbot: QtBot) -> None:
    words = "Search contents, files, tools or a SHA-256"
    field = SearchField(words)
    qtbot.addWidget(field)
    field.resize(700, 32)
    field.show()
    assert (field.placeholderText(), field.toolTip()) == (words, "")
    field.resize(150, 32)
    assert (field.placeholderText(), field.toolTip(), field.accessibleName()) == ("Search", words, words)
    field.resize(700, 32)
    assert (field.placeholderText(), field.toolTip()) == (words, "")


def test_the_keyboard_goes_back_only_to_what_is_still_there(qtbot: QtBot) -> None:
    """What Qt has deleted meanwhile is no error: a tour or a panel has to end."""
    window = QWidget()
    field = QLineEdit()
    field.setParent(window)
    qtbot.addWidget(window)
    assert not refocus(field)
    window.show()
    assert refocus(field)
    delete(field)
    assert not refocus(field)
    assert not refocus(None)


def test_a_page_scrolls_to_where_the_keyboard_comes_from_outside(qtbot: QtBot) -> None:
    """Qt scrolls for a move inside the page only: behind a page's end, Tab went to a field out of sight."""
    window = QWidget()
    page = QWidget()
    outside = QLineEdit()
    field = QLineEdit()
    scrolled = QVBoxLayout(page)
    scrolled.addSpacing(2_000)
    scrolled.addWidget(field)
    column = QVBoxLayout(window)
    column.addWidget(outside)
    column.addWidget(VerticalScrollArea(page))
    qtbot.addWidget(window)
    window.resize(200, 300)
    window.show()
    window.activateWindow()
    outside.setFocus()
    assert field.visibleRegion().isEmpty()
    field.setFocus(Qt.FocusReason.TabFocusReason)
    assert not field.visibleRegion().isEmpty()


def test_a_title_that_is_cut_keeps_its_number(qtbot: QtBot) -> None:
    label = ElidedLabel("The gross total is wrong, find out why (12)")
    qtbot.addWidget(label)
    label.resize(label.full_width() // 2, 20)
    label.set_full_text(label.full_text())
    assert label.text().startswith("The gross")
    assert label.text().endswith("… (12)")
    assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()
    label.set_full_text("The gross total is wrong (see e12), find out why")
    assert label.text().endswith("…")


def test_the_icon_of_work_that_runs_turns_unless_motion_is_reduced(qtbot: QtBot) -> None:
    """Another icon stands upright again."""
    moving = IconLabel("loader-circle")
    qtbot.addWidget(moving)
    moving.show()
    upright = moving.grab().toImage()
    qtbot.waitUntil(lambda: moving.grab().toImage() != upright)
    reduce_motion("on")
    try:
        qtbot.waitUntil(lambda: moving.grab().toImage() == upright)
    finally:
        reduce_motion("off")
    moving.hide()
    moving.show()
    qtbot.waitUntil(lambda: moving.grab().toImage() != upright)
    moving.show_icon("check", "muted")
    still = IconLabel("check", color_token="muted")
    qtbot.addWidget(still)
    assert moving.grab().toImage() == still.grab().toImage()


@pytest.mark.parametrize("now_ms", [0, 1, AGE_STEP_MS - 20, 7 * AGE_STEP_MS + 300])
def test_the_next_tick_is_at_the_next_step_of_the_clock(qtbot: QtBot, now_ms: int) -> None:
    """However long ago the widget appeared."""
    widget = QWidget()
    qtbot.addWidget(widget)
    clock = MinuteClock(widget, lambda: now_ms)
    assert (now_ms + clock.wait_ms) % AGE_STEP_MS == 0
    assert 0 < clock.wait_ms <= AGE_STEP_MS


def test_it_ticks_while_its_widget_is_on_screen(qtbot: QtBot) -> None:
    """At once when it appears, and as soon as an age can change."""
    widget = QWidget()
    qtbot.addWidget(widget)
    clock = MinuteClock(widget, lambda: AGE_STEP_MS - 20)
    ticks: list[None] = []
    clock.ticked.connect(lambda: ticks.append(None))
    widget.show()
    assert len(ticks) == 1
    qtbot.waitUntil(lambda: len(ticks) > 2)
    widget.hide()
    count = len(ticks)
    qtbot.wait(60)
    assert len(ticks) == count


def test_a_thumbnail_keeps_the_aspect_and_is_no_larger_than_the_image() -> None:
    assert thumbnail_size(1_600, 800).toTuple() == (80, 40)
    assert thumbnail_size(12, 10).toTuple() == (12, 10)
    assert thumbnail_size(9_000, 2).toTuple() == (96, 1)
    large = read_thumbnail(png(320, 200))
    small = read_thumbnail(png(12, 10))
    assert large is not None
    assert small is not None
    assert (large.size().toTuple(), small.size().toTuple()) == ((128, 80), (12, 10))


def test_a_damaged_image_has_no_thumbnail() -> None:
    assert read_thumbnail(png(320, 200)[:60]) is None


@given(st.integers(min_value=0, max_value=99_000_000))
def test_token_counts_stay_short(tokens: int) -> None:
    assert len(format_tokens(tokens)) <= 6


SENTENCE = "Compacted as observations 2 · \N{MINUS SIGN}22.9k tokens · context above the threshold"


def _boxes(line: ResponsiveRow, width: int) -> list[QRect]:
    line.resize(width, line.heightForWidth(width))
    line.show()
    others = line.findChildren(QPushButton)
    return [QRect(part.mapTo(line, part.rect().topLeft()), part.size()) for part in others]


def test_a_text_that_would_wrap_in_a_narrow_rest_has_the_whole_width(qtbot: QtBot) -> None:
    """A label that wraps asks for little; that is no reason to break it into five lines."""
    words = SelectableText(SENTENCE)
    undo = QPushButton("Undo")
    line = ResponsiveRow(words, [QLabel("9 minutes ago"), undo])
    qtbot.addWidget(line)
    (box,) = _boxes(line, 300)
    assert words.width() == 300
    assert box.top() >= words.geometry().bottom()
    (box,) = _boxes(line, 900)
    assert box.top() <= words.geometry().bottom()


def test_it_makes_room_for_a_part_that_grows_on_screen(qtbot: QtBot) -> None:
    """Sizes are measured once; what changes is measured again."""
    undo = QPushButton("Undo")
    line = ResponsiveRow(SelectableText("Compacted turns 1–31"), [QLabel("now"), undo], least_px=100)
    qtbot.addWidget(line)
    with qtbot.waitExposed(line):
        _boxes(line, 300)
    height = line.heightForWidth(300)
    label = undo.text()
    undo.setText("Undo this handover and the two before it")
    qtbot.waitUntil(lambda: line.heightForWidth(300) > height and undo.width() == undo.sizeHint().width())
    undo.setText(label)
    qtbot.waitUntil(lambda: line.heightForWidth(300) == height and undo.width() == undo.sizeHint().width())


def test_a_screen_reader_hears_that_a_disclosure_is_open_and_opens_it(qtbot: QtBot) -> None:
    accessibility.install()
    body = QLabel("What happened")
    disclosure = Disclosure(DisclosureHead("Details", "3 lines"), body)
    qtbot.addWidget(disclosure)
    disclosure.show()
    head = QAccessible.queryAccessibleInterface(disclosure.head)

    def states() -> tuple[bool, bool, bool]:
        state = head.state()
        return bool(state.expandable), bool(state.expanded), bool(state.collapsed)

    assert (head.role(), head.text(QAccessible.Text.Name)) == (QAccessible.Role.Button, "Details, 3 lines")
    assert (states(), bool(head.state().checkable)) == ((True, False, True), False)
    head.actionInterface().doAction(QAccessibleActionInterface.pressAction())
    assert states() == (True, True, False)
    assert body.isVisible()
    button = DisclosureButton("", QLabel(""))
    qtbot.addWidget(button)
    button.setText("Advanced")
    named = QAccessible.queryAccessibleInterface(button)
    assert (named.role(), named.text(QAccessible.Text.Name)) == (QAccessible.Role.Button, "Advanced")
