"""Answers to approval cards: none in the moment that a card arrives or moves."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from helix_desktop.domain.tools import PermissionRule
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, UserRow
from helix_desktop.ui.chat.viewport.interactions import REST_S, SETTLE_S
from helix_desktop.ui.chat.viewport.view import ChatView, NewRowsButton
from tests.support.intents import take_intents
from tests.support.manual_clock import ManualClock
from tests.support.window.chat_geometry import approval_row, row_key
from tests.support.window.chat_geometry import hit_area_point as _hot_point
from tests.support.window.chat_geometry import row_widget as _widget


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def _click(view: ChatView, key: str, area: str) -> None:
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=_hot_point(view, key, area))


def _question(key: str) -> ApprovalRow:
    return approval_row(key, "bash", "Run it", "make")


def test_a_card_ignores_clicks_at_the_moment_it_appears(view: ChatView, clock: ManualClock) -> None:
    """By mouse or keyboard: input meant for something else must not approve a command."""
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.call_id))
    view.chat_viewport.model.append(_question("p"))
    _click(view, "p", "decide:once")
    view.setFocus()
    while _widget(view, "p").focused_area != "decide:once":
        QTest.keyClick(view if not _widget(view, "p").focused_area else _widget(view, "p"), Qt.Key.Key_Tab)
    QTest.keyClick(_widget(view, "p"), Qt.Key.Key_Space)
    clock.now += 0.9 * SETTLE_S
    _click(view, "p", "decide:once")
    assert decided == []
    assert not view.takes_denial, "a message that was being written is not about it"
    clock.now += 0.2 * SETTLE_S
    assert view.takes_denial
    _click(view, "p", "decide:once")
    assert decided == ["p"]


def test_a_card_ignores_clicks_when_something_next_to_the_chat_moves_it(
    view: ChatView, clock: ManualClock
) -> None:
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.call_id))
    view.chat_viewport.model.reset([_question("p")])
    clock.now += 1.0
    view.resize(view.width(), view.height() + 35)
    _click(view, "p", "decide:once")
    assert decided == []
    clock.now += 2 * SETTLE_S
    _click(view, "p", "decide:once")
    assert decided == ["p"]


def test_a_key_answers_the_first_card_only_where_it_is_in_sight(view: ChatView, clock: ManualClock) -> None:
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.answer))
    view.chat_viewport.model.reset([_question(key) for key in "pqrstuvw"])
    view.chat_viewport.go_to_end()
    view.show_answer_tips(frozenset({("deny", "Ctrl+Shift+N")}))
    clock.now += 1.0
    view.answer_first("deny")
    assert decided == [], "it only leads there"
    area = _widget(view, "p").item.hit_area("decide:deny")  # type: ignore[union-attr]  # it is shown
    assert area is not None
    assert area.tip == "Ctrl+Shift+N"
    view.answer_first("deny")
    assert decided == ["deny"]


def test_the_way_to_the_end_covers_no_card_that_waits(view: ChatView) -> None:
    view.chat_viewport.model.reset([_question(key) for key in "pqrstuvw"])
    view.chat_viewport.show_row(0)
    assert not view.chat_viewport.is_following
    (pill,) = view.findChildren(NewRowsButton)
    assert pill.isHidden()
    view.chat_viewport.model.reset([UserRow(row_key(str(number)), "Words\n" * 9) for number in range(9)])
    view.chat_viewport.show_row(0)
    assert not pill.isHidden()


def test_a_card_that_moves_under_the_pointer_ignores_clicks(view: ChatView, clock: ManualClock) -> None:
    """A double click on the first of two cards answers the first alone."""
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.call_id))
    view.chat_viewport.model.reset([_question("p"), _question("q")])
    clock.now += 1.0
    view.chat_viewport.model.remove(row_key("p"))
    _click(view, "q", "decide:once")
    assert decided == []
    clock.now += 2 * SETTLE_S
    _click(view, "q", "decide:once")
    assert decided == ["q"]


def test_a_second_click_at_the_same_place_does_not_answer_the_next_card(
    view: ChatView, clock: ManualClock
) -> None:
    """The next card's Allow lies where the first one's lay; once the pointer moved, or rested, it answers."""
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.call_id))
    for key in "pqr":
        view.chat_viewport.model.reset([_question(key)])
        clock.now += REST_S
        place = _hot_point(view, key, "decide:once")
        if key == "q":
            clock.now += SETTLE_S - REST_S
            _click(view, key, "decide:once")
            assert decided == ["p"], "meant for the first one"
            QTest.mouseMove(view.viewport(), place + QPoint(40, 0))
            QTest.mouseMove(view.viewport(), place)
        _click(view, key, "decide:once")
    assert decided == ["p", "q", "r"]


def test_a_button_that_moves_sideways_under_the_pointer_ignores_clicks(
    view: ChatView, clock: ManualClock
) -> None:
    """A button grows beside it, as more words come to stand on that one."""
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.answer))
    rule = PermissionRule("run_command", "make *", kind="pattern")
    row = approval_row("p", "run_command", "Run it", "make it", "command", suggested_rules=(rule,))
    view.chat_viewport.model.reset([row])
    clock.now += 1.0
    view.show_message(is_reason=True, is_answer=False)
    _click(view, "p", "decide:always")
    assert decided == []
    clock.now += 2 * SETTLE_S
    _click(view, "p", "decide:always")
    assert decided == ["always"]
