"""The tour: callouts beside real parts of the window, by keyboard, closed for good, started again by Help."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QWidget

from helix_desktop.ui.chat.viewport.row_widget import RowWidget
from helix_desktop.ui.onboarding.tour import Tour, place_next_to
from tests.support.window.window_rig import WindowRig, open_window, until

_CALLOUT, _BOUNDS = QSize(320, 140), QRect(8, 8, 1008, 624)


@given(st.integers(0, 1024), st.integers(0, 640), st.integers(1, 600), st.integers(1, 400))
def test_a_callout_stays_inside_and_covers_nothing_where_there_is_room(
    x: int, y: int, width: int, height: int
) -> None:
    target = QRect(x, y, width, height) & _BOUNDS
    place = place_next_to(target, _CALLOUT, _BOUNDS)
    assert _BOUNDS.contains(place)
    assert place.size() == _CALLOUT
    has_room = (
        target.top() - _BOUNDS.top() >= 160
        or _BOUNDS.bottom() - target.bottom() >= 160
        or target.left() - _BOUNDS.left() >= 340
        or _BOUNDS.right() - target.right() >= 340
    )
    assert not (has_room and place.intersects(target))


def test_a_callout_stands_toward_the_middle() -> None:
    """Of the gauge at the right, it hid the figures beside it."""
    for target in (QRect(700, 20, 60, 30), QRect(120, 20, 60, 30)):
        place = place_next_to(target, _CALLOUT, _BOUNDS)
        assert place.left() == target.left() or place.right() == target.right()
        assert abs(place.center().x() - _BOUNDS.center().x()) < abs(
            target.center().x() - _BOUNDS.center().x()
        )


def _press(tour: Tour, key: Qt.Key) -> None:
    focused = QApplication.focusWidget()
    QTest.keyClick(focused if focused is not None else tour.callout, key)


def _check_place(rig: WindowRig, tour: Tour) -> None:
    callout = tour.callout
    assert callout.isVisible()
    assert rig.window.rect().contains(callout.geometry())
    assert rig.window.rect().contains(tour.ring.geometry())
    assert not callout.geometry().intersects(callout.target)


def _has_card_at(rig: WindowRig, target: QRect) -> bool:
    """Return True if a card of the chat has just this place, without the gap above it."""
    cards = [card for card in rig.window.findChildren(RowWidget) if card.isVisible()]
    places = (QRect(card.mapTo(rig.window, QPoint(0, 0)), card.size()) for card in cards)
    return any(
        abs(place.top() - target.top()) <= 1 and abs(place.bottom() - target.bottom()) <= 1
        for place in places
    )


@pytest.mark.qt_loop
async def test_the_stops_are_counted_right_from_the_first_one(qapp: QApplication, tmp_path: Path) -> None:
    """A session in which nothing has left the context has one stop less."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        rig.window.commands.tour.trigger()
        tour = rig.wiring.tour.tour
        assert tour is not None
        dialog = QDialog(rig.window)
        dialog.open()
        assert tour.callout.isHidden()
        rig.window.commands.tour.trigger()  # as when the sample is opened behind a question
        tour = rig.wiring.tour.tour
        assert tour is not None
        assert tour.callout.isHidden()
        dialog.close()
        await until(tour.callout.isVisible, "the tour goes on after the dialog")
        counts = []
        while tour.stop:
            texts = [label.text() for label in tour.callout.findChildren(QLabel)]
            counts += [text for text in texts if text[:1].isdigit()]
            _press(tour, Qt.Key.Key_Return)
        assert counts == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]


@pytest.mark.qt_loop
async def test_the_sample_begins_with_the_tour_until_it_is_closed(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_sample()
        tour = rig.wiring.tour.tour
        assert tour is not None
        stops = []
        while tour.stop:
            await until(tour.ring.isVisible, "what is explained is marked")
            stops.append(tour.stop)
            _check_place(rig, tour)
            assert tour.stop != "marker" or _has_card_at(rig, tour.callout.target)
            assert tour.callout.accessibleName()
            _press(tour, Qt.Key.Key_Return)
        assert stops == ["gauge", "marker", "cache", "timeline", "inspector"]
        assert not tour.callout.isVisible()
        assert rig.window.page() == "chat"
        await rig.wiring.workspace_controller.open_sample()
        assert rig.wiring.tour.tour is tour, "it is offered once"

        rig.window.commands.tour.trigger()
        tour = rig.wiring.tour.tour
        rig.window.resize(1024, 680)
        await until(lambda: rig.window.rect().contains(tour.callout.geometry()), "it follows the window")
        assert tour.callout.findChild(QWidget, "tour_next") is not None
        _press(tour, Qt.Key.Key_Escape)
        assert tour.stop == ""

        rig.window.commands.tour.trigger()
        last = rig.wiring.tour.tour
        assert last is not None
        assert last.stop == "gauge"
        await rig.open_folder("project")
        assert last.stop == "", "its session has left the screen"


@pytest.mark.qt_loop
async def test_the_tour_ends_when_the_user_turns_to_something_else(
    qapp: QApplication, tmp_path: Path
) -> None:
    """It stayed above the other page, pointing at what was not there, and above the field of Ctrl+K."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        rig.window.commands.tour.trigger()
        first = rig.wiring.tour.tour
        assert first is not None
        rig.window.commands.switch_workspace.trigger()
        field = rig.window.switcher.search
        await until(field.isVisible, "the panel is open")
        first.follow()
        await until(lambda: not first._follow_timer.isActive(), "the tour looked again")
        center = field.mapTo(rig.window, field.rect().center())
        assert rig.window.childAt(center) in (field, *field.findChildren(QWidget))
        QTest.keyClick(field, Qt.Key.Key_Escape)
        assert first.stop == "gauge"
        rig.window.show_page("cache")
        assert first.stop == ""
        assert first.callout.isHidden()

        rig.window.commands.tour.trigger()
        tour = rig.wiring.tour.tour
        assert tour is not None
        rig.composer.editor.setFocus()
        _press(tour, Qt.Key.Key_Escape)
        assert tour.stop == "", "Esc ends it wherever the keyboard is"
