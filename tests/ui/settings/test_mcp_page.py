"""The page of MCP servers while workspaces change."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.services.mcp_config import McpServerStatus
from helix_desktop.ui.settings.mcp.page import McpPage
from tests.support.default_settings import NothingOnScreen
from tests.support.window.buttons import find_button


def test_edits_of_a_server_stay_with_their_workspace(qtbot: QtBot) -> None:
    page = McpPage(NothingOnScreen())
    qtbot.addWidget(page)
    here = (McpServerStatus(McpServerConfig(name="box", command="here"), "off"),)
    there = (McpServerStatus(McpServerConfig(name="box", command="there"), "off"),)
    page.show_servers("Here", "/here", here)
    edited = page.cards["box"]
    edited._toggles["edit"].click()
    reach = edited.editor.form.controls["reach"]
    QTest.keyClick(reach, Qt.Key.Key_End)
    QTest.keyClicks(reach, " --fast")
    page.show_servers("There", "/there", there)
    page.cards["box"]._toggles["edit"].click()
    assert page.cards["box"].editor.form.values.get("reach") == "there"
    assert page.has_unsaved_edits()
    page.show_no_workspace()
    page.show_servers("Here", "/here", here)
    assert page.cards["box"].is_open("edit")
    assert page.cards["box"].editor.form.values.get("reach") == "here --fast"
    page.cards["box"].end_editing()
    assert not page.has_unsaved_edits()


def test_the_keyboard_stays_at_what_a_second_press_may_repeat(qtbot: QtBot) -> None:
    page = McpPage(NothingOnScreen())
    qtbot.addWidget(page)
    config = McpServerConfig(name="box", command="here")
    other = McpServerStatus(McpServerConfig(name="next", command="here"), "ready")
    page.show_servers("Here", "/here", (McpServerStatus(config, "ready"), other))
    with qtbot.waitActive(page):
        page.show()
    restart = find_button(page.cards["box"], "restart")
    restart.setFocus()
    for state in ("waiting", "starting", "ready"):
        QTest.keyClick(restart, Qt.Key.Key_Space)
        page.show_servers(
            "Here", "/here", (McpServerStatus(config, state, "The server is restarted."), other)
        )
        assert restart.hasFocus(), "not Remove beside it"
    page.cards["box"]._toggles["edit"].click()
    find_button(page.cards["box"].editor, "cancel").setFocus()
    QTest.keyClick(find_button(page.cards["box"].editor, "cancel"), Qt.Key.Key_Space)
    assert page.focusWidget() is page.cards["box"]._toggles["edit"], "not the switch of the next server"
