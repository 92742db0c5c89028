"""Cards that wait for the user, while more comes into the conversation."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.ui.chat.rows.row_types import ApprovalRow, AssistantRow, DividerRow
from helix_desktop.ui.chat.viewport.view import ChatView
from tests.support.window.chat_geometry import approval_row, row_key, row_widget

ANSWER = AssistantRow(row_key("a"), "Some words to fill the page.\n\n" * 60)
DIVIDER = DividerRow(row_key("d"), "context", "Context: 12k → 9k")


def _card(key: str) -> ApprovalRow:
    return approval_row(key, "run_command", "Run it", "make it", "command")


def _keys(view: ChatView) -> list[str]:
    return [row.key.call_id for row in view.chat_viewport.model.raw_rows()]


def test_cards_stay_at_the_end_with_the_keyboard(view: ChatView) -> None:
    """A rewrite of the context is recorded while they wait."""
    model = view.chat_viewport.model
    model.reset([ANSWER, _card("p"), _card("q")])
    view.chat_viewport.go_to_end()
    view.setFocus()
    while row_widget(view, "q").focused_area != "decide:deny":
        QTest.keyClick(view.focusWidget() or view, Qt.Key.Key_Tab)
    stood = row_widget(view, "q").geometry()
    model.append(DIVIDER)
    assert _keys(view) == ["a", "d", "p", "q"]
    assert [model.index_of(row_key(key)) for key in "adpq"] == [0, 1, 2, 3]
    assert row_widget(view, "q").geometry() == stood
    assert row_widget(view, "q").has_keyboard()
    assert row_widget(view, "q").focused_area == "decide:deny"


def test_what_comes_above_a_card_that_is_read_moves_nothing(view: ChatView) -> None:
    viewport = view.chat_viewport
    viewport.model.reset([ANSWER, *map(_card, "pqrstuvw")])
    viewport.show_row(5)
    stood = row_widget(view, "t").geometry()
    viewport.model.append(DIVIDER)
    assert _keys(view)[:3] == ["a", "d", "p"]
    assert row_widget(view, "t").geometry() == stood


def test_a_hit_in_a_card_is_still_the_current_one(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([ANSWER, _card("p")])
    with qtbot.waitSignal(view.finder.finished):
        view.find_text("make it")
    view.chat_viewport.model.append(DIVIDER)
    qtbot.waitUntil(lambda: view.finder.counter.is_done)
    assert view.finder.current is not None
    assert view.finder.current[0].row == 2
    assert (view.finder.position, view.finder.counter.total) == (1, 1)
