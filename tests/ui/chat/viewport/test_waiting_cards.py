"""Cards that wait for the user: their place while more comes, and no answer in the moment that one moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.domain.tools import EditedFile, PermissionRule
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.presenter import AskRows
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, AssistantRow, DividerRow, UserRow
from helix_desktop.ui.chat.viewport.interactions import REST_S, SETTLE_S
from helix_desktop.ui.chat.viewport.view import ChatView, NewRowsButton
from helix_desktop.ui.rows.list_view import ARRIVAL_S
from tests.support.intents import take_intents
from tests.support.manual_clock import ManualClock
from tests.support.window.chat_geometry import approval_row, hit_area_point, row_key, row_widget, tool_row

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


def _buttons(view: ChatView, call_id: str) -> list[QRect]:
    widget = row_widget(view, RowKey(0, call_id, "approval"))
    assert widget.item is not None
    areas = [area for area in widget.item.hit_areas if area.name.startswith("decide:")][:2]
    return [view.chat_viewport.place_of(widget.index, area) for area in areas]


def _pill(view: ChatView) -> NewRowsButton:
    (pill,) = view.findChildren(NewRowsButton)
    return pill


def test_another_card_moves_no_button(view: ChatView) -> None:
    """Also where one click could allow both: the last card offers that."""
    asks = AskRows(view.chat_viewport.model)
    view.chat_viewport.model.reset([ANSWER])
    view.chat_viewport.go_to_end()
    edit = EditedFile("a.py", diff_contents(None, b"x = 1\n"))
    request = approval_row("p", "edit_file", "Edit a.py", "", "edit", edits=(edit,)).request
    asks.show(structs.replace(request, is_safe=True))
    stood = _buttons(view, "p")
    asks.show(structs.replace(_card("q").request, is_safe=True))
    assert view.chat_viewport.item(2).hit_area("decide:all") is not None
    assert _buttons(view, "p") == stood
    view.chat_viewport.model.append(DIVIDER)
    assert _buttons(view, "p") == stood, "a rewrite comes above it"
    asks.drop_others()
    assert view.chat_viewport.is_following, "the conversation goes on at its end"


def test_a_card_moves_nothing_that_is_about_to_be_clicked(view: ChatView) -> None:
    viewport = view.chat_viewport
    viewport.model.reset([ANSWER, tool_row("t", "read_file", "a.py", text="words")])
    viewport.go_to_end()
    stood = row_widget(view, "t").geometry()
    QTest.mouseMove(view.viewport(), hit_area_point(view, "t", "open:card"))
    viewport.model.append(_card("p"))
    assert row_widget(view, "t").geometry() == stood
    assert _pill(view).isVisible()
    assert _pill(view).text() == "Approval needed"
    _pill(view).click()
    assert row_widget(view, "p").isVisible()
    viewport.model.remove(row_key("p"))
    assert viewport.is_following


def _tops(view: ChatView, *keys: str) -> list[int]:
    return [row_widget(view, key).y() for key in keys]


def test_what_is_read_stays_where_it_is_as_a_card_is_answered(view: ChatView) -> None:
    """What comes fills the room that the card leaves; from then on the end is followed."""
    viewport = view.chat_viewport
    viewport.model.reset([ANSWER, DIVIDER, _card("p")])
    viewport.go_to_end()
    stood = _tops(view, "a", "d")
    viewport.model.remove(row_key("p"))
    assert _tops(view, "a", "d") == stood
    assert viewport.is_following
    assert not _pill(view).isVisible()
    view.resize(view.width(), view.height() + 20)
    assert _tops(view, "a", "d") == stood, "the composer has another height"
    viewport.model.append(DividerRow(row_key("e"), "context", "Context: 9k → 8k"))
    assert _tops(view, "a", "d") == stood
    viewport.model.append(AssistantRow(row_key("b"), "More words.\n\n" * 40))
    assert viewport.is_at_end
    assert viewport.placed_row(len(viewport.model) - 1) is not None
    viewport.scroll_by(-10_000)
    viewport.scroll_by(10_000)
    last = viewport.scroll_layout.placed[-1]
    assert viewport.height - last.y - last.height < 30, "no room is left at the end"


def test_scrolling_in_the_room_of_an_answered_card_goes_no_further(view: ChatView) -> None:
    viewport = view.chat_viewport
    viewport.model.reset([ANSWER, DIVIDER, _card("p")])
    viewport.go_to_end()
    stood = _tops(view, "d")[0]
    viewport.model.remove(row_key("p"))
    viewport.scroll_by(50)
    assert _tops(view, "d") == [stood]
    viewport.scroll_by(-10)
    assert _tops(view, "d") == [stood + 10]


def test_the_next_card_takes_the_place_of_an_answered_one(view: ChatView) -> None:
    viewport = view.chat_viewport
    viewport.model.reset([ANSWER, DIVIDER])
    viewport.go_to_end()
    viewport.model.append(_card("p"))
    viewport.model.append(_card("q"))
    stood = _tops(view, "d", "p")
    viewport.model.remove(row_key("p"))
    assert _tops(view, "d", "q") == stood
    viewport.model.remove(row_key("q"))
    assert _tops(view, "d") == stood[:1]
    assert viewport.is_following


def test_a_higher_card_in_the_place_of_an_answered_one_is_in_sight(view: ChatView) -> None:
    viewport = view.chat_viewport
    viewport.model.reset([ANSWER])
    viewport.go_to_end()
    viewport.model.append(_card("p"))
    viewport.model.append(approval_row("q", "run_command", "Run it", "make it\n" * 6, "command"))
    viewport.model.remove(row_key("p"))
    assert row_widget(view, "q").geometry().bottom() <= viewport.height


def test_answered_cards_leave_who_scrolled_up_where_they_are(view: ChatView) -> None:
    """Others may answer them: another window, or a turn that is stopped."""
    viewport = view.chat_viewport
    viewport.model.reset([ANSWER, DIVIDER])
    viewport.go_to_end()
    viewport.model.append(_card("p"))
    viewport.model.append(_card("q"))
    viewport.scroll_by(-700)
    stood = _tops(view, "a")
    viewport.model.remove(row_key("p"))
    assert _tops(view, "a") == stood, "another card still waits"
    viewport.model.remove(row_key("q"))
    assert _tops(view, "a") == stood
    assert not viewport.is_following


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def _click(view: ChatView, key: str, area: str) -> None:
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=hit_area_point(view, key, area))


def test_a_card_ignores_clicks_at_the_moment_it_appears(view: ChatView, clock: ManualClock) -> None:
    """By mouse or keyboard: input meant for something else must not approve a command."""
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.call_id))
    view.chat_viewport.model.append(_card("p"))
    _click(view, "p", "decide:once")
    view.setFocus()
    while row_widget(view, "p").focused_area != "decide:once":
        QTest.keyClick(
            view if not row_widget(view, "p").focused_area else row_widget(view, "p"), Qt.Key.Key_Tab
        )
    QTest.keyClick(row_widget(view, "p"), Qt.Key.Key_Space)
    clock.now += 0.9 * SETTLE_S
    _click(view, "p", "decide:once")
    assert decided == []
    assert not view.takes_denial, "a message that was being written is not about it"
    clock.now += 0.2 * SETTLE_S
    assert view.takes_denial
    _click(view, "p", "decide:once")
    assert decided == ["p"]


def test_a_key_answers_the_first_card_only_where_it_is_in_sight(view: ChatView, clock: ManualClock) -> None:
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.answer))
    view.chat_viewport.model.reset([_card(key) for key in "pqrstuvw"])
    view.chat_viewport.go_to_end()
    view.show_answer_tips(frozenset({("deny", "Ctrl+Shift+N")}))
    clock.now += 1.0
    view.answer_first("deny")
    assert decided == [], "it only leads there"
    area = row_widget(view, "p").item.hit_area("decide:deny")  # type: ignore[union-attr]  # it is shown
    assert area is not None
    assert area.tip == "Ctrl+Shift+N"
    view.answer_first("deny")
    assert decided == ["deny"]


def test_the_way_to_the_end_covers_no_card_that_waits(view: ChatView) -> None:
    view.chat_viewport.model.reset([_card(key) for key in "pqrstuvw"])
    view.chat_viewport.show_row(0)
    assert not view.chat_viewport.is_following
    assert _pill(view).isHidden()
    view.chat_viewport.model.reset([UserRow(row_key(str(number)), "Words\n" * 9) for number in range(9)])
    view.chat_viewport.show_row(0)
    assert not _pill(view).isHidden()


def test_a_second_click_at_the_same_place_does_not_answer_the_next_card(
    view: ChatView, clock: ManualClock
) -> None:
    """The next card's Allow lies where the first one's lay; once the pointer moved, or rested, it answers."""
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.call_id))
    for key in "pqr":
        view.chat_viewport.model.reset([_card(key)])
        clock.now += REST_S
        place = hit_area_point(view, key, "decide:once")
        if key == "q":
            clock.now += SETTLE_S - REST_S
            _click(view, key, "decide:once")
            assert decided == ["p"], "meant for the first one"
            QTest.mouseMove(view.viewport(), place + QPoint(40, 0))
            QTest.mouseMove(view.viewport(), place)
        _click(view, key, "decide:once")
    assert decided == ["p", "q", "r"]


def test_what_comes_under_a_mouse_that_rests_takes_no_click(view: ChatView, clock: ManualClock) -> None:
    """The click is meant for what was there; once the mouse moved, or rested on it, it counts."""
    for is_moved in (True, False):
        cards = [tool_row(key, "read_file", "a.py", text="words") for key in "tu"]
        view.chat_viewport.model.reset([cards[0]])
        place = hit_area_point(view, "t", "open:card")
        QTest.mouseMove(view.viewport(), place)
        view.chat_viewport.model.reset([cards[1]])
        low = row_widget(view, "u").height()
        _click(view, "u", "open:card")
        assert row_widget(view, "u").height() == low
        if is_moved:
            QTest.mouseMove(view.viewport(), place + QPoint(3, 0))
        else:
            clock.now += ARRIVAL_S
        _click(view, "u", "open:card")
        assert row_widget(view, "u").height() > low
        _click(view, "u", "open:card")
        assert row_widget(view, "u").height() == low, "the same place takes a second click at once"


def test_a_finger_presses_what_it_points_at_though_rows_came_under_the_mouse(view: ChatView) -> None:
    cards = [tool_row(key, "read_file", "a.py", text="words") for key in "tuv"]
    view.chat_viewport.model.reset([cards[0]])
    QTest.mouseMove(view.viewport(), hit_area_point(view, "t", "open:card"))
    view.chat_viewport.model.reset(cards[1:])
    low = row_widget(view, "v").height()
    _click(view, "v", "open:card")
    assert row_widget(view, "v").height() > low


def _leave_card_above(view: ChatView) -> None:
    view.chat_viewport.model.remove(row_key("p"))


def _shrink(view: ChatView) -> None:
    view.resize(view.width(), view.height() - 35)


def _type_reason(view: ChatView) -> None:
    view.show_message(is_reason=True, is_answer=False)


@pytest.mark.parametrize("move", [_leave_card_above, _shrink, _type_reason])
def test_a_button_that_moves_under_the_pointer_ignores_clicks(
    view: ChatView, clock: ManualClock, move: Callable[[ChatView], None]
) -> None:
    """A double click on the first of two cards answers the first alone; a button grows beside another."""
    decided: list[str] = []
    take_intents(view, lambda action: decided.append(action.answer))
    rule = PermissionRule("run_command", "make *", kind="pattern")
    card = approval_row("q", "run_command", "Run it", "make it", "command", suggested_rules=(rule,))
    view.chat_viewport.model.reset([_card("p"), card])
    clock.now += 1.0
    move(view)
    _click(view, "q", "decide:always")
    assert decided == []
    clock.now += 2 * SETTLE_S
    _click(view, "q", "decide:always")
    assert decided == ["always"]
