"""The lines between messages, and their buttons."""

from __future__ import annotations

from helix_desktop.ui.chat.actions import EditHandover, Redo, ShowInTimeline, Undo
from helix_desktop.ui.chat.rows.row_types import DividerRow
from helix_desktop.ui.chat.viewport.view import ChatView
from tests.support.window.chat_geometry import row_key


def test_undo_and_redo_share_a_place_and_move_no_other_button(view: ChatView) -> None:
    places = []
    for is_undone, turn in ((False, Undo(1)), (True, Redo(1))):
        actions = ShowInTimeline(1), EditHandover(1), turn
        row = DividerRow(
            row_key("d"), "handover", "Summarized 9 messages", actions=actions, is_undone=is_undone
        )
        view.chat_viewport.model.reset([row])
        item = view.chat_viewport.item(0)
        places.append([area.rect for area in item.hit_areas if area.name.startswith("action:")])
    assert len(places[0]) == 3
    assert places[0] == places[1]


def test_a_chip_whose_buttons_stand_below_it_is_in_the_middle(view: ChatView) -> None:
    """Between dashes of one length: room for the words of an undo moved it to the left."""
    words = "41 messages, 72 tool calls summarized · 9.8k → 7.9k tokens"
    row = DividerRow(row_key("d"), "handover", words, actions=(ShowInTimeline(1), Undo(1)))
    view.chat_viewport.model.reset([row])
    item = view.chat_viewport.item(0)
    for width in (380, 420, 460):
        item.layout(width)
        chip, button = item.hit_area("explain:chip"), item.hit_area("action:undo")
        assert chip is not None
        assert button is not None
        assert button.rect.top() > chip.rect.center().y(), "on a line of its own"
        assert abs(chip.rect.center().x() - width / 2) <= 0.5
