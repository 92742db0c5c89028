"""Selecting in a card of several texts: the marked and copied text is what the pointer went over."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from helix_desktop.ui.chat.actions import ControlTurn, RowKey
from helix_desktop.ui.chat.rows.row_texts import bar_texts
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, Row, UserRow
from helix_desktop.ui.chat.viewport.view import ChatView
from tests.support.window.chat_geometry import (
    questions_and_answers,
    row_key,
    row_widget,
    text_point,
    tool_row,
)

NOTICE = NoticeRow(
    row_key("n"),
    "error",
    "The provider refused.",
    "The key has expired.",
    "Set another key.",
    (ControlTurn("retry"),),
)


def drag(view: ChatView, start: str, end: str) -> None:
    """Select from the start of some words to the end of others."""
    area, left = view.viewport(), Qt.MouseButton.LeftButton
    QTest.mousePress(area, left, pos=text_point(view, "n", start))
    QTest.mouseMove(area, text_point(view, "n", end, after=True))
    QTest.mouseRelease(area, left, pos=text_point(view, "n", end, after=True))


def numbers(view: ChatView) -> list[int]:
    """The numbers by which marks find the texts of the card."""
    sheet = row_widget(view, "n").item
    assert sheet is not None
    return [text.number for text in sheet.texts]


@pytest.mark.parametrize(
    ("start", "end", "selected"),
    [
        ("key has", "expired", "key has expired"),
        ("refused", "Set another", "refused.\n\nThe key has expired.\n\nSet another"),
    ],
)
def test_the_selection_stays_in_its_original_text(
    view: ChatView, start: str, end: str, selected: str
) -> None:
    view.chat_viewport.model.reset([NOTICE])
    drag(view, start, end)
    assert view.selected_text() == selected
    assert numbers(view) == [0, 1, 2]


def test_every_text_of_an_opened_attempt_can_be_selected(view: ChatView) -> None:
    details = ("I was saying", "It broke.", "The line was cut.")
    view.chat_viewport.model.reset([DividerRow(row_key("n"), "attempt", "Attempt 1 failed", details=details)])
    view.chat_viewport.item_cache.toggle(row_key("n"), "details")
    view.chat_viewport.refresh()
    drag(view, "broke", "The line")
    assert numbers(view) == [0, 1, 2, 3]
    assert view.selected_text() == "broke.\n\nThe line"


@pytest.mark.parametrize(
    "row",
    [
        replace(NOTICE, details="expired_key: see the console"),
        DividerRow(NOTICE.key, "note", "1 file changed since it was read", details=("a: expired_key",)),
    ],
)
def test_find_opens_the_details_that_hold_the_words(view: ChatView, row: Row) -> None:
    view.chat_viewport.model.reset([row])
    before = numbers(view)
    view.find_text("expired_key")
    assert view.finder.current is not None
    assert len(numbers(view)) == len(before) + 1


def test_the_words_of_a_server_are_shown_on_request(view: ChatView) -> None:
    notice = replace(NOTICE, details="expired_key: see the console")
    view.chat_viewport.model.reset([notice])
    assert numbers(view) == [0, 1, 2]
    view.chat_viewport.item_cache.toggle(notice.key, "details")
    view.chat_viewport.refresh()
    drag(view, "expired_key", "console")
    assert view.selected_text() == "expired_key: see the console"
    assert numbers(view) == [0, 1, 2, 3]


def test_a_selection_names_the_messages_that_it_touches(view: ChatView) -> None:
    rows: list[Row] = [
        UserRow(RowKey(seq=3), "Say it"),
        AssistantRow(RowKey(seq=5), "Here."),
        UserRow(RowKey(seq=9), "And?"),
    ]
    view.chat_viewport.model.reset(rows)
    assert view.selected_seqs() is None
    view._selection.select_row(1)
    assert view.selected_seqs() == (5, 5)
    view.select_all()
    assert view.selected_seqs() == (3, 9)


def press_keys(view: ChatView, *keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(view, key, Qt.KeyboardModifier.ShiftModifier)


def test_shift_moves_the_end_of_the_selection_by_lines(view: ChatView) -> None:
    """From the click on; a closed call is a line of its own, and copied with what it did."""
    calls = [tool_row(name, "read_file", f"{name}.py", text="x") for name in ("t1", "t2")]
    answers = [AssistantRow(row_key(key), f"first {key}\n\nsecond {key}") for key in ("a", "b")]
    view.chat_viewport.model.reset([answers[0], *calls, answers[1]])
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=text_point(view, "a", "first a"))
    lines = [" ".join(bar_texts(call)) for call in calls]
    steps = [
        "first a",
        f"first a\n\nsecond a\n\n{lines[0]}",
        f"first a\n\nsecond a\n\n{lines[0]}\n{lines[1]}",
        f"first a\n\nsecond a\n\n{lines[0]}\n{lines[1]}",  # before the first word of the next answer
        f"first a\n\nsecond a\n\n{lines[0]}\n{lines[1]}\n\nfirst b",
    ]
    for expected in steps:
        press_keys(view, Qt.Key.Key_Down)
        assert view.selected_text() == expected
    for expected in (*reversed(steps[:-1]), ""):
        press_keys(view, Qt.Key.Key_Up)
        assert view.selected_text() == expected


def test_shift_moves_the_end_of_the_selection_by_pages_and_to_both_ends(view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(40))
    view.jump_to(row_key("u20"))
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=text_point(view, "u20", "question"))
    press_keys(view, Qt.Key.Key_PageDown)
    assert view.selected_text().startswith("question 20\n\nanswer 20")
    assert "question 21" in view.selected_text()
    assert "question 30" not in view.selected_text()
    press_keys(view, Qt.Key.Key_PageUp, Qt.Key.Key_PageUp)
    assert view.selected_text().endswith("line.")
    assert "answer 19" in view.selected_text()
    press_keys(view, Qt.Key.Key_End)
    assert view.selected_text().startswith("question 20\n\nanswer 20")
    assert "answer 39" in view.selected_text()
    assert view.chat_viewport.is_following
    press_keys(view, Qt.Key.Key_Home)
    assert view.selected_text().startswith("question 0\n\nanswer 0")
    assert "question 20" not in view.selected_text()
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == view.selected_text()
