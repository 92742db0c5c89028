"""The About page alone: what it displays and copies."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.config.build_info import Build
from helix_desktop.services.build_info import BuildInfoService
from helix_desktop.ui.settings.about.page import AboutPage
from tests.support.window.buttons import press


async def _no_diagnostics() -> None:
    return None


def test_it_displays_build_and_folder(qtbot: QtBot) -> None:
    info = BuildInfoService()
    info.build = Build(version="0.1.0", target="deb")
    about = AboutPage(info, lambda coroutine, _: coroutine.close(), _no_diagnostics)
    qtbot.addWidget(about)
    about.show_about((("Qt", "6.11.3"),))
    about.data_folder.show_folder(Path("/data/helix"))
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
