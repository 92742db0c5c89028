"""Parts of a card of the timeline."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.events.summary import Bullet
from helix_desktop.domain.file_history.line_match import Span
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.rows import CardItem
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS, timeline_state
from tests.support.timeline_pane import open_timeline, shown_seqs, words

_TEXT = "Run `make test` for **every**  block."


@pytest.mark.parametrize(
    ("marks", "shown", "marked"),
    [
        (((30, 35),), "Run make test for every block.", ["block"]),
        (((5, 9), (20, 29)), "Run make test for every block.", ["make", "every"]),
        (((4, 5), (14, 15)), "Run `make test` for **every** block.", ["`", "`"]),
    ],
    ids=["behind", "inside", "only markup differs"],
)
def test_marks_stay_on_their_words_where_markup_is_drawn(
    qtbot: QtBot, marks: tuple[Span, ...], shown: str, marked: list[str]
) -> None:
    view = BulletView(Bullet(_TEXT), marks=marks)
    qtbot.addWidget(view)
    view.resize(600, view.heightForWidth(600))
    assert view.accessibleName() == shown
    layout = view.words._layout
    assert layout is not None
    underlined = [part for part in layout.formats() if part.format.fontUnderline()]
    assert [shown[part.start : part.start + part.length] for part in underlined] == marked


def test_the_node_of_each_card_stands_beside_its_first_line(qtbot: QtBot) -> None:
    """Also of an undone card, which has the small gray node."""
    pane = open_timeline(qtbot, timeline_state())
    every = (pane.cards.rows.item(index) for index in range(pane.cards.cards.count()))
    items = [item for item in every if isinstance(item, CardItem) and item.node]
    assert {item.node for item in items} >= {"live", "mark", "sweep"}
    for item in items:
        tops = [part.rect for part in item.parts if part.accessible_text]
        first = min(tops, key=lambda rect: rect.y())
        assert abs(item.node_y - first.center().y()) <= 4, item.row


def test_how_long_ago_is_said_anew(qtbot: QtBot) -> None:
    now = [NOW_MS]
    timeline = Timeline(lambda: now[0])
    qtbot.addWidget(timeline)
    timeline.resize(800, 700)
    timeline.set_state(timeline_state())
    timeline.show()
    seqs = shown_seqs(timeline)
    before = [words(timeline, seq) for seq in seqs]
    now[0] += 24 * 3_600_000
    timeline.hide()
    timeline.show()
    after = [words(timeline, seq) for seq in seqs]
    assert before
    assert all(len(old) == len(new) and old != new for old, new in zip(before, after, strict=True))
