"""The code of a three-way merge, as a side shows it."""

from __future__ import annotations

from PySide6.QtGui import QFont
from pytestqt.qtbot import QtBot

from helix_desktop.ui.changes.reverts.merge_dialog import SideView
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import DARK, LIGHT
from tests.support.window.looks import ShowLook


def test_a_side_has_the_code_font_without_ligatures_in_each_theme(qtbot: QtBot, show_look: ShowLook) -> None:
    """An arrow of two signs stays two signs, as in the diff."""
    side = SideView("Now", "ours")
    qtbot.addWidget(side)
    side.show()
    for theme in (LIGHT, DARK):
        show_look(theme)
        font = side.text.document().defaultFont()
        assert font.family() == fonts.MONO_FAMILY
        assert font.featureValue(QFont.Tag("calt")) == 0
        assert font.isFeatureSet(QFont.Tag("calt"))
