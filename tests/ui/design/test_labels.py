"""Labels of one line: what they keep where they have no room."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import ElidedLabel, IconLabel
from helix_desktop.ui.design.motion import reduce_motion


def test_a_title_that_is_cut_keeps_its_number(qtbot: QtBot) -> None:
    label = ElidedLabel("The gross total is wrong, find out why (12)")
    qtbot.addWidget(label)
    label.resize(label.full_width() // 2, 20)
    label.set_full_text(label.full_text())
    assert label.text().startswith("The gross")
    assert label.text().endswith("… (12)")
    assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()
    label.set_full_text("The gross total is wrong (see e12), find out why")
    assert label.text().endswith("…")


def test_the_icon_of_work_that_runs_turns_unless_motion_is_reduced(qtbot: QtBot) -> None:
    """Another icon stands upright again."""
    moving = IconLabel("loader-circle")
    qtbot.addWidget(moving)
    moving.show()
    upright = moving.grab().toImage()
    qtbot.waitUntil(lambda: moving.grab().toImage() != upright)
    reduce_motion("on")
    try:
        qtbot.waitUntil(lambda: moving.grab().toImage() == upright)
    finally:
        reduce_motion("off")
    moving.hide()
    moving.show()
    qtbot.waitUntil(lambda: moving.grab().toImage() != upright)
    moving.show_icon("check", "muted")
    still = IconLabel("check", color_token="muted")
    qtbot.addWidget(still)
    assert moving.grab().toImage() == still.grab().toImage()
