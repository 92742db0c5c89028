"""The page of MCP servers while workspaces change."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.services.foreign_servers import ForeignServer, ForeignServers, UnusableServer
from helix_desktop.services.mcp_config import McpServerStatus, ServerDraft
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
    edited.toggles["edit"].click()
    reach = edited.editor.form.controls["reach"]
    QTest.keyClick(reach, Qt.Key.Key_End)
    QTest.keyClicks(reach, " --fast")
    page.show_servers("There", "/there", there)
    page.cards["box"].toggles["edit"].click()
    assert page.cards["box"].editor.form.values.get("reach") == "there"
    assert page.has_unsaved_edits()
    page.show_no_workspace()
    page.show_servers("Here", "/here", here)
    assert page.cards["box"].toggles["edit"].isChecked()
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
    page.cards["box"].toggles["edit"].click()
    find_button(page.cards["box"].editor, "cancel").setFocus()
    QTest.keyClick(find_button(page.cards["box"].editor, "cancel"), Qt.Key.Key_Space)
    assert page.focusWidget() is page.cards["box"].toggles["edit"], "not the switch of the next server"


def test_servers_of_other_programs_are_one_line_until_the_user_opens_it(qtbot: QtBot) -> None:
    """By the keyboard too; what has no value yet can't be added."""
    page = McpPage(NothingOnScreen())
    qtbot.addWidget(page)
    page.show_servers("Here", "/here", ())
    config = McpServerConfig(
        name="box", command="run", args=("${TEAM}",), env={"LEVEL": "${LEVEL}"}, secret_env=("API_KEY",)
    )
    draft = ServerDraft(config, {"API_KEY": ""}, ("${TEAM}", "${LEVEL}"))
    found = ForeignServers(
        (ForeignServer(draft, "Claude Code", ".mcp.json"),),
        (UnusableServer(".cursor/mcp.json", "", verbatim("It's a pipe.")),),
    )
    page.foreign_servers.show_servers(found)
    with qtbot.waitActive(page):
        page.show()
    assert page.foreign_servers.toggle.text() == "1 server from other programs"
    review = find_button(page.foreign_servers, "review:box")
    assert not review.isVisible()
    page.foreign_servers.toggle.setFocus()
    QTest.keyClick(page.foreign_servers.toggle, Qt.Key.Key_Space)
    assert review.isVisible()
    assert review.accessibleName() == "Review box"
    shown = " ".join(part.text() for part in page.foreign_servers.findChildren(QLabel))
    for part in ("Claude Code · .mcp.json", "API_KEY", "TEAM", "LEVEL", "It's a pipe."):
        assert part in shown
    page.foreign_servers.show_servers(found)
    assert find_button(page.foreign_servers, "review:box") is review, "the keyboard can be there"
    review.setFocus()
    QTest.keyClick(review, Qt.Key.Key_Space)
    form = page.add_box.editor.form
    assert page.focusWidget() is form.controls["name"]
    assert not page.has_unsaved_edits()
    find_button(page.add_box, "save_server").click()
    assert form.errors() == {
        "reach": "Replace ${TEAM} with its value.", "env": "Replace ${LEVEL} with its value.",
    }  # fmt: skip
    form.write("reach", "run red")
    form.write("env", "LEVEL=2")
    filled_in = form.draft()
    assert filled_in is not None
    assert (filled_in.config.args, filled_in.config.env) == (("red",), {"LEVEL": "2"})
    assert filled_in.config.secret_env == ("API_KEY",)
    assert page.has_unsaved_edits()
    page.open_add()
    assert page.add_box.paste.isVisible()
    assert not page.has_unsaved_edits()
    page.foreign_servers.show_servers(ForeignServers())
    assert page.foreign_servers.isHidden()
