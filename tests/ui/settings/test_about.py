"""The About page alone: what it displays and copies."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.config.build_info import Build
from helix_desktop.ui.settings.about_page import AboutPage
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
