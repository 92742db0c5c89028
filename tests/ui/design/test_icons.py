"""Icons are there, tinted, and drawn once."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.stylesheet import stylesheet
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.design.tool_icons import tool_icon


def test_a_pixmap_has_its_color_and_size(qtbot: QtBot) -> None:
    picture = pixmap("stop", "#ff0000", 16, 2.0)
    assert picture.size().toTuple() == (32, 32)
    assert picture.devicePixelRatio() == 2.0
    image = picture.toImage()
    colors = {image.pixelColor(x, 16).name() for x in range(32) if image.pixelColor(x, 16).alpha() > 250}
    assert colors == {"#ff0000"}
    assert pixmap("stop", "#ff0000", 16, 2.0).cacheKey() == picture.cacheKey()


def test_the_mark_of_a_menu_has_smooth_edges(qtbot: QtBot) -> None:
    menu = QMenu()
    qtbot.addWidget(menu)
    action = menu.addAction(" ")
    action.setCheckable(True)
    action.setChecked(True)
    menu.setStyleSheet(stylesheet(LIGHT))
    image = menu.grab(menu.actionGeometry(action).adjusted(2, 2, -2, -2)).toImage()
    colors = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    assert len(colors) > 10  # Qt's own mark has two, and that of the ground


def test_every_tool_has_an_icon_that_exists() -> None:
    tools = ("", "bash", "read_file", "edit_file", "mcp__x", "recall_cached_content", "handover", "fold")
    there = {file.stem for file in (resources_dir() / "icons").glob("*.svg")}
    assert {tool_icon(tool) for tool in tools} <= there
