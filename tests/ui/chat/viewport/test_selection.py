"""Selecting in a card of several texts: the marked and copied text is what the pointer went over."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from helix_desktop.ui.chat.actions import ControlTurn, RowKey
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, Row, UserRow
from helix_desktop.ui.chat.viewport.view import ChatView
from tests.support.window.chat_geometry import row_key, row_widget, text_point

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
