"""The slider of the policy page."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.ui.settings.policy.page import StopTrack


def test_slider_is_mirrored_where_texts_begin_at_the_right(qtbot: QtBot) -> None:
    selected = list[int]()
    track = StopTrack(selected.append)
    qtbot.addWidget(track)
    track.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    track.resize(400, 26)
    track.set_stop(5, 1, is_changed=False, value_text="Plain")

    QTest.keyClick(track, Qt.Key.Key_Left)
    QTest.keyClick(track, Qt.Key.Key_Right)
    QTest.keyClick(track, Qt.Key.Key_Up)
    QTest.mouseClick(track, Qt.MouseButton.LeftButton, pos=QPoint(390, 13))

    assert selected == [2, 0, 2, 0]
    selected.clear()
    track.set_stop(5, 4, is_changed=True, value_text="Lean, changed")
    QTest.keyClick(track, Qt.Key.Key_Up)
    QTest.keyClick(track, Qt.Key.Key_Down)
    assert selected == [4, 3], "up leads to the profile without the changes"
