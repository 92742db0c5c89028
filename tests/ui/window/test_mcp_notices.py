"""What the window says of MCP servers: a missing secret, new tools, changed ones, and their display names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.ui.cache.rows import COLUMN_BY_KEY
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from tests.support.mcp.mcp_rig import raw_server, sdk_server
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def use_mcp_servers(rig: WindowRig, *entries: McpServerConfig) -> None:
    """Write servers into the record and start them."""
    rig.wiring.services.registry.change(rig.workspace.id, servers=entries)
    rig.wiring.services.mcp_servers.start(rig.workspace.id)


def tool_names(rig: WindowRig) -> list[str]:
    return [spec.name for spec in rig.conversation.window.measure()[0].request.tools]


async def restart_server(rig: WindowRig, name: str) -> None:
    """Restart a server and wait until it is there again."""
    servers = rig.wiring.services.mcp_servers
    await servers.restart(rig.workspace.id, name)
    await servers._hubs[rig.workspace.id].wait_settled(30)


@asynccontextmanager
async def window_with_calls(
    qapp: QApplication, folder: Path, entry: McpServerConfig, *calls: StreamedReply
) -> AsyncIterator[WindowRig]:
    replies = [reply for call in calls for reply in (call, text_reply("Done."))]
    async with ChatServer(replies_in_order(*replies)) as server, open_window(qapp, folder) as rig:
        await rig.open_folder("project")
        await rig.use_server(server)
        use_mcp_servers(rig, entry)
        await until(lambda: any(name.startswith("mcp__") for name in tool_names(rig)), "the tools")
        yield rig


async def test_a_secret_that_ended_with_the_last_run_is_asked_for_once(
    qapp: QApplication, tmp_path: Path
) -> None:
    """The notice leads to its field; with the secret the server starts, and the notice goes."""
    async with open_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project")
        rig.wiring.services.registry.change(
            identity, servers=(raw_server(name="box", secret_env=("TOKEN",)),)
        )
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        await until(lambda: "mcp-secret" in rig.window.notices.names(), "the notice")
        assert "The MCP server box can't start: its secret is missing." in rig.banner_text()
        press(rig.window.notices, "enter")
        page = rig.settings.mcp
        await until(lambda: "box" in page.cards and page.cards["box"].is_open("edit"), "the fields")
        form = page.cards["box"].editor.form
        assert page.focusWidget() is form.secrets.controls["TOKEN"]
        assert page.cards["box"]._state.full_text() == "Failed", "no attempt that nothing could change"
        QTest.keyClicks(form.secrets.controls["TOKEN"], "sesame")
        press(page.cards["box"].editor, "save_server")
        await until(lambda: page.cards["box"]._state.full_text().startswith("Ready"), "the server")
        await until(lambda: "mcp-secret" not in rig.window.notices.names(), "no notice")
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        await until(lambda: "mcp-secret" in rig.window.notices.names(), "the notice of another start")
        find_button(rig.window.notices, "dismiss").click()
        await restart_server(rig, "box")
        assert "mcp-secret" not in rig.window.notices.names(), "once per start"


async def test_the_form_says_before_saving_how_long_secrets_last(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.wiring.settings.show("mcp")
        page = rig.settings.mcp
        page.open_add()
        page.add_box.paste.setPlainText("API_TOKEN=abc npx server")
        note = page.add_box.editor.form.rows["env"].note_text()
        assert "are secrets. Kept until Helix Desktop closes: " in note
        page.add_box.paste.setPlainText(
            '{"mcpServers": {"a": {"command": "x", "env": {"API_TOKEN": "abc"}}, "b": {"command": "y"}}}'
        )
        words = [widget.text() for widget in page.add_box._multiple.findChildren(QLabel)]
        assert any("Kept until Helix Desktop closes" in text for text in words)


async def test_a_tool_that_changed_asks_again_and_says_why(qapp: QApplication, tmp_path: Path) -> None:
    """The rule stays in the settings, marked; an answer renews it."""
    call = StreamedReply(Call("mcp__box__echo", '{"word": "hello"}'))
    async with window_with_calls(qapp, tmp_path, raw_server(name="box"), call, call, call, call) as rig:
        rig.type_message("Echo")
        first = (await rig.answer_approval("always")).request
        assert (first.description, first.server, first.mcp_change) == ("Does echo.", "box", "")
        await rig.wait_for_turn_end()
        await rig.run_turn("Again")
        (tmp_path / "project" / "reworded").touch()
        await restart_server(rig, "box")
        await rig.wiring.settings.show("permissions")
        page = rig.settings.permissions
        shown = "\n".join(widget.text() for widget in page.findChildren(QLabel))
        assert "The server describes a tool differently since you allowed this." in shown
        assert "Use echo of the MCP server box" in shown.replace("\u200b", "")
        rig.window.leave_settings()
        rig.type_message("Once more")
        again = (await rig.answer_approval("always")).request
        assert (again.description, again.mcp_change) == ("Does echo, and sends it away.", "tool")
        await rig.wait_for_turn_end()
        await rig.run_turn("Again, as it is described now")
        assert not rig.rows(ApprovalRow)
        (rule,) = rig.wiring.services.registry.get(rig.workspace.id).rules
        assert rig.wiring.services.mcp_servers.rule_change(rig.workspace.id, rule) == ""
        changed = msgspec.structs.replace(raw_server(name="box"), env={"LEVEL": "2"})
        use_mcp_servers(rig, changed)
        assert rig.wiring.services.mcp_servers.rule_change(rig.workspace.id, rule) == "server"
        assert rig.wiring.services.mcp_servers.rule_change(rig.workspace.id, PermissionRule("x", "y")) == ""


async def test_new_tools_of_a_server_are_announced(qapp: QApplication, tmp_path: Path) -> None:
    async with window_with_calls(qapp, tmp_path, raw_server(name="box")) as rig:
        assert "mcp-new-tools" not in rig.window.notices.names()
        (tmp_path / "project" / "extended").touch()
        await restart_server(rig, "box")
        await until(lambda: "mcp-new-tools" in rig.window.notices.names(), "the notice")
        assert "box has 2 new tools." in rig.banner_text()
        assert "later, latest" in rig.banner_text()
        press(rig.window.notices, "look")
        page = rig.settings.mcp
        await until(lambda: "box" in page.cards and page.cards["box"].is_open("tools"), "its tools")
        rig.window.notices.end("mcp-new-tools", rig.workspace.id)
        await restart_server(rig, "box")
        assert "mcp-new-tools" not in rig.window.notices.names(), "said once"


async def test_new_tools_are_announced_after_a_restart(qapp: QApplication, tmp_path: Path) -> None:
    """A server may have been updated between two runs; its first tools are no news."""
    async with window_with_calls(qapp, tmp_path, raw_server(name="box")) as rig:
        identity = rig.workspace.id
        (config,) = rig.wiring.services.registry.get(identity).servers
        assert "echo" in config.known_tools
        assert "mcp-new-tools" not in rig.window.notices.names()
    (tmp_path / "project" / "extended").touch()
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        await until(lambda: "mcp-new-tools" in rig.window.notices.names(), "the notice")
        assert "box has 2 new tools." in rig.banner_text()
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        await rig.wiring.services.mcp_servers._hubs[identity].wait_settled(30)
        assert "mcp-new-tools" not in rig.window.notices.names(), "they are known by now"


async def test_plan_mode_asks_for_tools_that_only_read(qapp: QApplication, tmp_path: Path) -> None:
    """The others are refused as our own are, and all are sent, so that the request's start stays as it is."""
    calls = (
        StreamedReply(Call("mcp__made__say", '{"text": "hello"}')),
        StreamedReply(Call("mcp__made__environment", "{}")),
    )
    async with window_with_calls(qapp, tmp_path, sdk_server(), *calls) as rig:
        rig.window.commands.mode_plan.trigger()
        await until(rig.window.commands.mode_plan.isChecked, "mode plan")
        before = tool_names(rig)
        rig.type_message("Look")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert rig.last_output("mcp__made__say").outcome == "ran"
        await rig.run_turn("Look at the environment")
        assert rig.last_output("mcp__made__environment").outcome == "denied"
        assert tool_names(rig) == before


async def test_an_mcp_tool_has_one_name_wherever_it_is_read(qapp: QApplication, tmp_path: Path) -> None:
    """In the cache, on what is recalled of it, and in the rules; not the name that the model calls it by."""
    call = StreamedReply(Call("mcp__box__big", '{"size": 60000}'))
    async with window_with_calls(qapp, tmp_path, raw_server(name="box"), call) as rig:
        rig.type_message("Fetch")
        asked = await rig.answer_approval("once")
        assert list(asked.offers) == ["Use big of the MCP server box"]
        await rig.wait_for_turn_end()
        output = rig.last_output("mcp__box__big")
        assert output.target == "size: 60000"
        attachment = await rig.workspace.contents.attach(output.digest)
        assert attachment.label == "box: big size: 60000"
        rig.window.show_page("cache")
        model = rig.views.cache.get().table._model
        await until(lambda: model.rowCount() and model.entry(0), "the cache")
        row = model.entry(0)
        assert row is not None
        assert (COLUMN_BY_KEY["tool"].text(row, 0), row.target) == ("box: big", "size: 60000")
