"""The About page by itself: what it shows, copies and finds."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from helix_desktop.ui.settings.about_page import AboutPage
from helix_desktop.ui.settings.rows import AboutInfo, Terms

TERMS = (
    Terms("Inter", "4", "OFL-1.1", "The font's terms"),
    Terms("Qt", "6", "LGPL-3.0-only", "Qt's terms"),
)


def test_it_names_build_folder_and_terms(qtbot: QtBot) -> None:
    about = AboutPage()
    qtbot.addWidget(about)
    about.show_about(AboutInfo("Helix 0.1.0 (deb)", (("Qt", "6.11.3"),), "/data/helix"))
    about.terms.show_terms(TERMS)
    about.show()

    said = "\n".join(one.text() for one in about.findChildren(QLabel))
    for part in ("Helix 0.1.0 (deb)", "Qt 6.11.3", "/data/helix", "2 parts", "names no place to ask"):
        assert part in said, part
    (copy,) = [one for one in about.findChildren(QPushButton) if one.text() == "Copy"]
    QTest.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "Helix 0.1.0 (deb)\nQt: 6.11.3"

    QTest.keyClicks(about.terms.field, "lgpl")
    listed = about.terms.list
    assert [listed.item(at).text() for at in range(listed.count())] == ["Qt 6 · LGPL-3.0-only"]
    assert about.terms.text.isHidden()
    listed.setCurrentRow(0)
    assert about.terms.text.toPlainText() == "Qt's terms"
    about.terms.field.clear()
    assert listed.count() == 2
