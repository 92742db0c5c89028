"""What Settings > About and the diagnostics say."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QTreeWidget, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.config.build_info import Build
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.settings.about_page import AboutPage, DiagnosticsDialog
from tests.support.default_settings import NothingOnScreen
from tests.support.window.buttons import press


def test_it_displays_build_and_folder(qtbot: QtBot) -> None:
    session = NothingOnScreen(Path("/data/helix"))
    session.app.build_info.build = Build(version="0.1.0", target="deb")
    about = AboutPage(session)
    qtbot.addWidget(about)
    about.show_about((("Qt", "6.11.3"),))
    about.show()

    text = "\n".join(label.text() for label in about.findChildren(QLabel))
    for part in (
        "Helix Desktop 0.1.0 (deb)",
        "Qt 6.11.3",
        str(Path("/data/helix")),
        "has no update source",
    ):
        assert part in text, part
    press(about, "copy")
    assert QGuiApplication.clipboard().text() == "Helix Desktop 0.1.0 (deb)\nQt: 6.11.3"


def test_what_is_checked_and_collected_is_saved_as_it_is_on_screen(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = DiagnosticsDialog(parent, NothingOnScreen())
    for item in dialog.list.items()[2:]:
        item.setCheckState(0, Qt.CheckState.Unchecked)
    dialog.show()
    save, files = dialog.findChild(PushButton, "save"), dialog.findChild(QTreeWidget, "diagnostics_files")
    assert isinstance(save, PushButton)
    assert isinstance(files, QTreeWidget)
    dialog.show_file("versions.txt", "first line\nsecond line\n")
    assert dialog.viewer.text.content.line_count == 2
    assert not save.isEnabled()  # the self-check still runs

    QTest.keyClick(files, Qt.Key.Key_Down)
    QTest.keyClick(files, Qt.Key.Key_Space)
    assert dialog.files() == [("versions.txt", "first line\nsecond line\n")]

    names = dialog.findChild(Switch, "with_names")
    assert isinstance(names, Switch)
    names.click()  # texts without names are no longer what would be saved
    assert dialog.files() == []
    assert not save.isEnabled()
    dialog.show_file("self-check.json", "{}")
    dialog.show_file("versions.txt", "named\n")
    assert save.isEnabled()
    assert dialog.files() == [("versions.txt", "named\n")]
    QTest.keyClick(files, Qt.Key.Key_Up)
    QTest.keyClick(files, Qt.Key.Key_Return)  # clears the last box
    assert not save.isEnabled()
