"""The list of a combo box shows its choices whole."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.style.stylesheet import Appearance


def test_the_last_choice_is_not_cut(qapp: QApplication, qtbot: QtBot) -> None:
    Appearance(qapp).apply_stylesheet()
    combo = ComboBox(300)
    qtbot.addWidget(combo)
    for name in ("First", "Second", "Third", "Last"):
        combo.addItem(name)
    combo.show()
    combo.showPopup()
    view = combo.view()
    for at in range(combo.count()):
        place: QRect = view.visualRect(combo.model().index(at, 0))
        assert view.viewport().rect().contains(place), combo.itemText(at)
    combo.hidePopup()
