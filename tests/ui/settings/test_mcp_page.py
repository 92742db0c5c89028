"""The page of MCP servers while workspaces change."""

from __future__ import annotations

from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.services.mcp.status import McpServerStatus
from helix_desktop.ui.settings.mcp.page import McpPage


def test_edits_of_a_server_stay_with_their_workspace(qtbot: QtBot) -> None:
    page = McpPage()
    qtbot.addWidget(page)
    here = (McpServerStatus(McpServerConfig(name="box", command="here"), "off"),)
    there = (McpServerStatus(McpServerConfig(name="box", command="there"), "off"),)
    page.show_servers("Here", "/here", here)
    edited = page.cards["box"]
    edited.set_open("edit")
    edited.editor.form._endpoint.end(False)
    QTest.keyClicks(edited.editor.form._endpoint, " --fast")
    page.show_servers("There", "/there", there)
    page.cards["box"].set_open("edit")
    assert page.cards["box"].editor.form._endpoint.text() == "there"
    assert page.has_unsaved_edits()
    page.show_no_workspace()
    page.show_servers("Here", "/here", here)
    assert page.cards["box"].is_open("edit")
    assert page.cards["box"].editor.form._endpoint.text() == "here --fast"
    page.cards["box"].end_editing()
    assert not page.has_unsaved_edits()
