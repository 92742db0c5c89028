"""The About page alone: what it displays, copies and finds."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.ui.settings.about.page import AboutPage
from helix_desktop.ui.settings.forms import AboutInfo, License
from tests.support.window.buttons import press

TERMS = (
    License("Inter", "4", "OFL-1.1", "The font's terms"),
    License("Qt", "6", "LGPL-3.0-only", "Qt's terms"),
)


def test_it_displays_build_folder_and_licenses(qtbot: QtBot) -> None:
    about = AboutPage()
    qtbot.addWidget(about)
    about.show_about(AboutInfo("Helix 0.1.0 (deb)", (("Qt", "6.11.3"),)))
    about.data_folder.show_folder(Path("/data/helix"))
    about.licenses.show_licenses(TERMS)
    about.show()

    text = "\n".join(label.text() for label in about.findChildren(QLabel))
    for part in (
        "Helix 0.1.0 (deb)",
        "Qt 6.11.3",
        str(Path("/data/helix")),
        "2 components",
        "has no update source",
    ):
        assert part in text, part
    press(about, "copy")
    assert QGuiApplication.clipboard().text() == "Helix 0.1.0 (deb)\nQt: 6.11.3"

    QTest.keyClicks(about.licenses.field, "lgpl")
    listed = about.licenses.list
    assert [listed.item(at).text() for at in range(listed.count())] == ["Qt 6 · LGPL-3.0-only"]
    assert about.licenses.text.isHidden()
    listed.setCurrentRow(0)
    assert about.licenses.text.toPlainText() == "Qt's terms"
    about.licenses.field.clear()
    assert listed.count() == 2


def test_the_keyboard_alone_opens_no_terms(qtbot: QtBot) -> None:
    """The text came with the keyboard, and moved the page by a line."""
    about = AboutPage()
    qtbot.addWidget(about)
    about.resize(600, 700)
    about.licenses.show_licenses(TERMS)
    with qtbot.waitActive(about):
        about.show()
        about.activateWindow()
    listed, width = about.licenses.list, about.licenses.width()
    QTest.keyClick(about.licenses.field, Qt.Key.Key_Tab)
    listed.setFocus(Qt.FocusReason.TabFocusReason)
    assert about.licenses.text.isHidden()
    QTest.keyClick(listed, Qt.Key.Key_Return)
    assert about.licenses.text.toPlainText() == "The font's terms"
    QTest.keyClick(listed, Qt.Key.Key_Down)
    assert about.licenses.text.toPlainText() == "Qt's terms"
    assert about.licenses.width() == width, "no scroll bar comes with the text"
