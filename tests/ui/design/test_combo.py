"""Choices in a list that opens."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.fields import ComboBox


def test_the_wheel_over_a_choice_is_left_to_the_page(qtbot: QtBot) -> None:
    """A setting that comes below the mouse stays as it is, and the keyboard where it was."""
    combo = ComboBox()
    combo.addItems(["Balanced", "Lean"])
    qtbot.addWidget(combo)
    with qtbot.waitExposed(combo):
        combo.show()
    middle, down = combo.rect().center(), QPoint(0, -120)
    no_button, no_key = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    phase = Qt.ScrollPhase.NoScrollPhase
    places = QPointF(middle), QPointF(combo.mapToGlobal(middle))
    turned = QWheelEvent(*places, QPoint(), down, no_button, no_key, phase, False)
    QApplication.sendEvent(combo, turned)
    assert combo.currentText() == "Balanced"
    assert not turned.isAccepted()
    assert combo.focusPolicy() == Qt.FocusPolicy.StrongFocus
