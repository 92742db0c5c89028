"""The way of Tab through a window: as it is read, not as it was made."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QButtonGroup,
    QLineEdit,
    QPlainTextEdit,
    QSplitter,
    QVBoxLayout,
    QWidget,
    QWidgetItem,
)
from pytestqt.qtbot import QtBot
from shiboken6 import getAllValidWrappers

from helix_desktop.ui.design.buttons import TabButton
from helix_desktop.ui.design.dialogs import TextInputDialog
from helix_desktop.ui.design.focus import TabsInReadingOrder
from helix_desktop.ui.design.layout import column, row
from tests.support.window.buttons import find_child
from tests.support.window.keyboard_focus import focused_widget


class _Window(TabsInReadingOrder, QWidget):
    """A window of two panes; fields are named after their places."""

    def __init__(self) -> None:
        super().__init__()
        self.last = _field("last")
        self.right = QWidget()
        left = QWidget()
        self.list = QVBoxLayout(left)
        self.right.setLayout(column(row(_field("right")), _field("off")))
        for name in ("top", "late"):  # the second is made when there is a right pane
            self.list.addWidget(_field(name))
        panes = QSplitter()
        panes.addWidget(left)
        panes.addWidget(self.right)
        self.setLayout(column(panes, self.last))
        self.list.insertWidget(1, _field("inserted"))
        off = find_child(self, QLineEdit, "off")
        off.setEnabled(False)


def _field(name: str) -> QLineEdit:
    field = QLineEdit()
    field.setObjectName(name)
    return field


def _go(count: int, key: Qt.Key = Qt.Key.Key_Tab) -> list[str]:
    """Press a key some times; where it went."""
    names = []
    for _ in range(count):
        QTest.keyClick(focused_widget(), key)
        names.append(focused_widget().objectName())
    return names


def test_tab_goes_as_the_window_is_read_and_back(qtbot: QtBot) -> None:
    window = _Window()
    qtbot.addWidget(window)
    with qtbot.waitActive(window):
        window.show()
    window.last.setFocus()
    assert _go(5) == ["top", "inserted", "late", "right", "last"]
    assert _go(5, Qt.Key.Key_Backtab) == ["right", "late", "inserted", "top", "last"]
    window.right.hide()
    assert _go(1, Qt.Key.Key_Backtab) == ["late"]


def test_a_question_is_gone_through_as_it_is_read(qtbot: QtBot) -> None:
    """The button that accepts is made first, and stands last."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = TextInputDialog(parent, "Rename session", "Old name", "Rename")
    with qtbot.waitActive(dialog):
        dialog.show()
    dialog.field.setFocus()
    assert _go(2) == ["cancel", "accept"]
    dialog.close()


def test_tab_makes_no_object_that_outlives_an_item_of_a_layout(qtbot: QtBot) -> None:
    """Python would get it for the next thing that Qt makes at its address, such as the layout of a text."""

    def items() -> int:
        return sum(type(part) is QWidgetItem for part in getAllValidWrappers())

    before = items()
    window = _Window()
    qtbot.addWidget(window)
    with qtbot.waitActive(window):
        window.show()
    window.last.setFocus()
    assert _go(1) == ["top"]
    assert items() <= before


def test_the_parts_that_qt_made_can_be_used_after_tab(qtbot: QtBot) -> None:
    """A conversation holds its scroll bar, which was invalid after the first Tab."""
    window = _Window()
    text = QPlainTextEdit("line\n" * 200)
    qtbot.addWidget(window)
    window.list.addWidget(text)
    bar = text.verticalScrollBar()
    with qtbot.waitActive(window):
        window.show()
    window.last.setFocus()
    _go(1)
    bar.setValue(0)


def test_what_holds_other_stops_comes_before_them_both_ways(qtbot: QtBot) -> None:
    window = _Window()
    frame = QWidget()
    qtbot.addWidget(window)
    frame.setObjectName("frame")
    frame.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    frame.setLayout(column(_field("first"), _field("second")))
    window.list.insertWidget(1, frame)
    with qtbot.waitActive(window):
        window.show()
    window.last.setFocus()
    way = _go(8)
    assert way[:4] == ["top", "frame", "first", "second"]
    assert way[-1] == "last"
    assert _go(8, Qt.Key.Key_Backtab) == [*reversed(way[:-1]), "last"]


def test_where_nothing_has_the_keyboard_tab_begins_at_the_first_or_last_stop(qtbot: QtBot) -> None:
    window = _Window()
    qtbot.addWidget(window)
    with qtbot.waitActive(window):
        window.show()
    for key, name in ((Qt.Key.Key_Tab, "top"), (Qt.Key.Key_Backtab, "last")):
        window.setFocus()
        assert _go(1, key) == [name]


def test_a_group_of_which_one_is_checked_is_one_stop(qtbot: QtBot) -> None:
    """Both ways Tab goes to the checked one, also before any of them had the keyboard."""
    window = _Window()
    group = QButtonGroup(window)
    switch = QWidget()
    buttons = [TabButton(name, "segment") for name in ("one", "two", "three")]
    for button in buttons:
        button.setObjectName(button.text())
        group.addButton(button)
    switch.setLayout(row(*buttons))
    window.list.insertWidget(1, switch)
    buttons[1].setChecked(True)
    qtbot.addWidget(window)
    with qtbot.waitActive(window):
        window.show()
    top = find_child(window, QLineEdit, "top")
    top.setFocus()
    assert _go(2) == ["two", "inserted"]
    assert _go(2, Qt.Key.Key_Backtab) == ["two", "top"]
