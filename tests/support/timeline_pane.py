"""A timeline on screen, and its cards."""

from __future__ import annotations

from collections.abc import Hashable

from pytestqt.qtbot import QtBot

from helix_desktop.ui.kit.boxes import Button, Pill
from helix_desktop.ui.timeline.card_list import CardItem, CollapsedRewrites, key_of
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from tests.support.galleries.panes_samples import NOW_MS


def open_timeline(qtbot: QtBot, state: TimelineState | None = None) -> Timeline:
    timeline = Timeline(lambda: NOW_MS)
    qtbot.addWidget(timeline)
    timeline.resize(800, 700)
    if state is not None:
        timeline.set_state(state)
    timeline.show()
    return timeline


def card(pane: Timeline, key: Hashable) -> CardItem:
    """Return a card, by its event, that must be there and not behind a folded row."""
    index = pane.cards.cards.index_of(key)
    assert index is not None, f"no card of {key}"
    item = pane.cards.rows.item(index)
    assert isinstance(item, CardItem)
    return item


def shown_seqs(pane: Timeline) -> list[int]:
    """Return the events of all cards in the list, in sight or not."""
    keys = (pane.cards.cards.key(index) for index in range(pane.cards.cards.count()))
    return [key for key in keys if isinstance(key, int)]


def find_card(pane: Timeline, key: Hashable) -> CardItem | None:
    """Return a card by its event, or by the name of its row; None if there is none, or it is folded."""
    return card(pane, key) if pane.cards.cards.index_of(key) is not None else None


def unfold_all(pane: Timeline) -> None:
    """Show what stands between handovers, too."""
    for row in [row for row in pane.cards.cards.rows if isinstance(row, CollapsedRewrites)]:
        pane.cards.toggle(key_of(row), "rewrites")


def has(pane: Timeline, key: Hashable, name: str) -> bool:
    return card(pane, key).hit_area(name) is not None


def names(pane: Timeline, key: Hashable) -> list[str]:
    return [area.name for area in card(pane, key).hit_areas]


def press(pane: Timeline, key: Hashable, name: str) -> None:
    """Press a button of a card, as the keyboard does; what opens a menu needs the card in sight."""
    item = card(pane, key)
    index = pane.cards.cards.index_of(key)
    area = item.hit_area(name)
    assert area is not None, f"{name!r} is none of {names(pane, key)}"
    pane.cards.rows.widget_pool.activated.emit(index, area)


def pills(pane: Timeline, key: Hashable) -> dict[str, str]:
    """Return the pills of a card, those that can be pressed too, with their tips."""
    found: dict[str, str] = {}
    for part in card(pane, key).parts:
        if isinstance(part, Pill):
            found[part.words] = part.tip
        elif isinstance(part, Button) and isinstance(part.content, Pill):
            found[part.content.words] = part.tip
    return found


def words(pane: Timeline, key: Hashable) -> list[str]:
    """Return all that a card says, button by button and line by line."""
    parts = card(pane, key).parts
    texts = (part.label if isinstance(part, Button) else part.accessible_text for part in parts)
    return [text for text in texts if text]


def top(pane: Timeline, key: Hashable) -> float | None:
    """Return where the top of a card stands in the viewport; None if it is out of sight."""
    index = pane.cards.cards.index_of(key)
    placed = pane.cards.rows.placed_row(index) if index is not None else None
    return placed.y if placed is not None else None
