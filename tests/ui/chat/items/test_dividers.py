"""The lines between messages, and their links."""

from __future__ import annotations

import pytest

from helix_desktop.ui.chat.rows.row_texts import accessible_name
from helix_desktop.ui.chat.rows.row_types import DividerRow
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.kit.intents import Redo, ShowInTimeline, Undo
from tests.support.window.chat_geometry import row_key


def test_undo_and_redo_share_a_place_and_move_no_other_link(view: ChatView) -> None:
    places = []
    for is_undone, turn in ((False, Undo((1,))), (True, Redo((1,)))):
        actions = ShowInTimeline(1), turn
        row = DividerRow(row_key("d"), "context", "Context: 104k → 31k", actions=actions, is_undone=is_undone)
        view.chat_viewport.model.reset([row])
        item = view.chat_viewport.item(0)
        places.append([area.rect for area in item.hit_areas if area.name.startswith("action:")])
        labels = [area.label for area in item.hit_areas]
        assert labels[0].startswith("Details")
    assert len(places[0]) == 2
    assert places[0] == places[1]


@pytest.mark.parametrize("width", [150, 260, 380, 720])
def test_words_and_links_are_in_the_middle_and_apart(view: ChatView, width: int) -> None:
    """Where they don't fit on one line the links stand below."""
    row = DividerRow(row_key("d"), "context", "Context: 104k → 31k", actions=(ShowInTimeline(1), Undo((1,))))
    view.chat_viewport.model.reset([row])
    item = view.chat_viewport.item(0)
    item.layout(width)
    (words,) = item.texts
    links = [area.rect for area in item.hit_areas]
    assert words.x >= 0
    assert all(rect.right() <= width for rect in links)
    assert links[0].right() < links[1].left()
    assert links[0].left() > words.x + words.width - 1 or links[0].top() >= words.y + words.height
    if links[0].top() >= words.y + words.height:
        assert abs(words.x + words.width / 2 - width / 2) <= 1


def test_what_is_undone_after_another_shows_which_in_place_of_its_link(view: ChatView) -> None:
    """Its Undo was gone, and only the timeline said why."""
    first = "Undo “Compacted turns 1–5” first"
    row = DividerRow(
        row_key("d"), "context", "Context: 104k → 31k", actions=(ShowInTimeline(1),), undo_first=first
    )
    view.chat_viewport.model.reset([row])
    item = view.chat_viewport.item(0)
    (details,) = item.hit_areas
    x = details.rect.right() + 30
    y = details.rect.center().y()
    assert item.tip_at(x, y) == first
    assert first in accessible_name(row)
