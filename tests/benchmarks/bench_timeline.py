"""The timeline of 1,000 cards: first paint, all of it page by page, the way to its oldest card."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QAbstractScrollArea, QApplication

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design.style import fonts, stylesheet
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.timeline.cards import SweepCard, TimelineCard, UndoCard
from helix_desktop.ui.timeline.page import Timeline, TimelineState
from tests.benchmarks.timing import seconds
from tests.support.galleries.panes_samples import (
    NOW_MS,
    compacted_calls_card,
    handover_card,
    long_timeline_state,
    observations_card,
    usage_points,
)

CARDS = 1_000
_PAGE_PX = 700


def cards() -> Iterator[TimelineCard]:
    """Handovers with two other cards between them, newest first: too few to stand behind one line."""
    small = [card for card in long_timeline_state().cards if isinstance(card, SweepCard | UndoCard)]
    for number in range(CARDS, 0, -1):
        if number % 3 == 0:
            yield handover_card(number // 3, number)
        elif number % 3 == 1:
            yield compacted_calls_card(number) if number % 2 else observations_card(number)
        else:
            sample = small[number % len(small)]
            yield type(sample)(
                **{name: getattr(sample, name) for name in sample.__struct_fields__} | {"seq": number}
            )


def main() -> list[tuple[str, float, str]]:
    """Milliseconds; of all cards, those that a user sees who scrolls from the newest to the oldest."""
    app = QApplication([])
    fonts.load(resources_dir() / "fonts")
    stylesheet.apply(app, LIGHT)
    pane = Timeline(lambda: NOW_MS)
    pane.resize(804, 846)
    state = TimelineState(tuple(cards()), usage_points(), 24_000)

    def first_paint() -> None:
        pane.set_state(state)
        pane.show()
        pane.grab()

    opened = seconds(first_paint)
    area = next(area for area in pane.findChildren(QAbstractScrollArea) if area.isVisible())
    bar = area.verticalScrollBar()
    pages = list[float]()
    started = time.perf_counter()
    while bar.value() < bar.maximum():
        page_started = time.perf_counter()
        bar.setValue(bar.value() + _PAGE_PX)
        app.processEvents()
        pane.grab()
        pages.append(time.perf_counter() - page_started)
    through = time.perf_counter() - started
    pane.cards.verticalScrollBar().setValue(0)

    def oldest() -> None:
        pane.reveal(1)
        app.processEvents()
        pane.grab()

    jumped = seconds(oldest)
    return [
        (f"timeline of {CARDS:,} cards: first paint", opened * 1000, "ms"),
        (
            "the same: scrolled from the newest to the oldest",
            through * 1000,
            f"ms, {len(pages)} pages painted",
        ),
        ("the same, per page", statistics.median(pages) * 1000, "ms"),
        ("the same: back at the top, then to the oldest", jumped * 1000, "ms"),
    ]
