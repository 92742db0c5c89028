"""Icons are there, tinted, and drawn once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui import chat
from helix_desktop.ui.design.style.icons import icon, pixmap
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


def test_an_icon_is_sharp_at_several_ratios(qtbot: QtBot) -> None:
    assert {size.width() for size in icon("copy", "#000000", 16).availableSizes()} >= {16}


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


def test_an_unknown_icon_is_an_error(qtbot: QtBot) -> None:
    with pytest.raises(FileNotFoundError):
        pixmap("no-such-icon", "#000000")


def test_what_wrote_stored_content_has_its_own_icon() -> None:
    icons = [tool_icon(writer) for writer in ("handover", "observations", "fold", "argument")]
    assert icons == ["history", "eye", "list-tree", "braces"]


def test_every_tool_has_an_icon_that_exists(qtbot: QtBot) -> None:
    names = {
        tool_icon(tool) for tool in ("", "bash", "read_file", "edit_file", "mcp__x", "recall_cached_content")
    }
    source = "".join(
        file.read_text(encoding="utf-8") for file in Path(str(chat.__file__)).parent.glob("items/*.py")
    )
    there = {file.stem for file in (resources_dir() / "icons").glob("*.svg")}
    quoted = set(re.findall(r'"([a-z]+-[a-z0-9-]+)"', source))
    assert names <= there
    assert {"shield-alert", "circle-alert", "loader-circle"} <= quoted & there
