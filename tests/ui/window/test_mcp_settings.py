"""The page of MCP servers in the real window, with real servers; and the card that shares a cache."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.foreign.discovery import AgentFolders
from helix_desktop.ui.design.buttons import Switch
from helix_desktop.ui.settings.mcp.page import McpPage, ServerCard
from tests.support.mcp.mcp_rig import SCRIPTS_DIR, raw_server
from tests.support.model_servers.chat_server import (
    Call,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, act, until

pytestmark = pytest.mark.qt_loop

LINE = shlex.join([sys.executable, "-S", str(SCRIPTS_DIR / "raw_server.py")])


def focused_name(page: McpPage) -> str:
    focused = page.focusWidget()
    return focused.objectName() if focused is not None else ""


async def open_page(rig: WindowRig) -> McpPage:
    await rig.wiring.settings.show("mcp")
    return rig.settings.mcp


def record(rig: WindowRig) -> tuple[McpServerConfig, ...]:
    return rig.wiring.services.registry.get(rig.workspace.id).servers


def add_servers(rig: WindowRig, *entries: McpServerConfig) -> None:
    """Write servers into the record as an external editor might."""
    rig.wiring.services.registry.change(rig.workspace.id, servers=entries)
    rig.wiring.services.mcp_servers.start(rig.workspace.id)


async def ready(page: McpPage, name: str) -> ServerCard:
    await until(lambda: name in page.cards and state(page.cards[name]).startswith("Ready"), f"{name} ready")
    return page.cards[name]


def state(card: ServerCard) -> str:
    return card._state.full_text()


def _switch(card: ServerCard, name: str) -> Switch:
    return next(switch for switch in card.findChildren(Switch) if switch.accessibleName() == name)


def statuses(rig: WindowRig) -> list[str]:
    """Return the names of the tools in the next request."""
    return [spec.name for spec in rig.conversation.window.measure()[0].request.tools]


async def test_a_pasted_server_is_tested_added_and_used_by_the_agent(tmp_path: Path, rig: WindowRig) -> None:
    """From a line of text to an answer in the chat, with an approval in between."""
    call = StreamedReply(Call("mcp__box__echo", '{"word": "hello"}'))
    async with rig.answered_by(replies_in_order(call, text_reply("It echoes.")), "project"):
        page = await open_page(rig)
        page.open_add()
        page.add_box.paste.setPlainText(f"API_TOKEN=abcdef LEVEL=2 {LINE}")
        form = page.add_box.editor.form
        form.write("name", "box")
        editor = page.add_box.editor
        form.write("reach", "sleep 100")
        press(page.add_box, "test_server")
        assert editor.status._message.text().startswith("Testing, for at most 120 s")
        assert editor.test.text() == "Stop test"
        press(page.add_box, "test_server")
        assert (editor.status._message.text(), editor.test.text()) == ("", "Test")
        form.write("reach", "http://127.0.0.1:9/mcp")
        press(page.add_box, "test_server")
        assert editor.status._message.text() == "Testing, for at most 20 s."
        press(page.add_box, "test_server")
        form.write("reach", LINE)
        press(page.add_box, "test_server")
        await until(lambda: "6 tools" in page.add_box.editor.status._message.text(), "the test")
        assert record(rig) == ()
        press(page.add_box, "save_server")
        card = await ready(page, "box")
        assert page.add_box.isHidden()
        await until(lambda: focused_name(page) == "add_server", "the keyboard is at the list")
        (entry,) = record(rig)
        assert (entry.env, entry.secret_env, entry.is_consented) == ({"LEVEL": "2"}, ("API_TOKEN",), True)
        settings_text = "".join(path.read_text() for path in (tmp_path / "data").rglob("*.toml"))
        assert "LEVEL" in settings_text
        assert "abcdef" not in settings_text
        assert "6 tools" in card._cost.text()

        rig.window.leave_settings()
        rig.type_message("Echo hello")
        approval = await rig.answer_approval("once")
        assert "box: echo" in approval.summary
        await rig.wait_for_turn_end()
        assert rig.last_output("mcp__box__echo").text == '{"word": "hello"}'
        assert "mcp__box__echo" in statuses(rig)


async def test_servers_are_switched_changed_removed_and_repaired(rig: WindowRig) -> None:
    """Each step has a workspace of its own."""
    await _check_switches(rig)
    await _check_consent(rig)
    await _check_changed_files(rig)
    await _check_trust(rig)
    await _check_a_failure(rig)
    await _check_a_removed_server(rig)
    await _check_invalid_json(rig)


async def test_servers_of_other_programs_are_offered_reviewed_and_approved(
    tmp_path: Path, rig: WindowRig
) -> None:
    """Nothing is started, stored or shown of them before; no value of theirs is ever."""
    servers = {
        name: {
            "command": sys.executable,
            "args": ["-S", str(SCRIPTS_DIR / "raw_server.py"), mode],
            "env": {"API_TOKEN": "s3cret", "LEVEL": "s3cret"},
        }
        for name, mode in (("box", "ok"), ("other", "crash"))
    }
    rig.wiring.services.foreign_servers._folders = lambda: AgentFolders(tmp_path / "home", {}, "linux")
    identity = await rig.open_folder("offers", {".mcp.json": json.dumps({"mcpServers": servers})})
    await rig.wiring.trust.set_trusted(identity, trusted=False)
    page = await open_page(rig)
    assert page.foreign_servers.isHidden(), "nothing is read without trust"
    await rig.wiring.trust.set_trusted(identity, trusted=True)
    await rig.wiring.settings.show("permissions")
    await rig.wiring.settings.show("mcp")
    box = page.foreign_servers
    await until(lambda: box.toggle.text() == "2 servers from other programs", "the list")
    assert record(rig) == ()
    box.toggle.click()
    review = find_button(box, "review:box")
    review.setFocus()
    QTest.keyClick(review, Qt.Key.Key_Return)
    form = page.add_box.editor.form
    assert QApplication.focusWidget() is form.line("name")
    assert (form.values.get("env"), form.secrets.values.get("API_TOKEN")) == ("LEVEL=${LEVEL}", "")
    form.write("env", "LEVEL=2")
    form.secrets.write("API_TOKEN", "typed")
    assert record(rig) == ()
    press(page.add_box, "save_server")
    await ready(page, "box")
    (entry,) = record(rig)
    assert (entry.env, entry.secret_env, entry.is_consented) == ({"LEVEL": "2"}, ("API_TOKEN",), True)
    await until(lambda: box.toggle.text() == "1 server from other programs", "one is left")
    written = "".join(path.read_text() for path in (tmp_path / "data").rglob("*.toml"))
    assert "LEVEL" in written
    assert "s3cret" not in written


async def _check_switches(rig: WindowRig) -> None:
    """A disabled tool and a disabled server are not offered; the cost follows."""
    await rig.open_folder("switches")
    page = await open_page(rig)
    add_servers(rig, raw_server(name="box"))
    card = await ready(page, "box")
    assert "mcp__box__bang" in statuses(rig)
    card.toggles["tools"].click()
    for tool in ("bang", "hang"):
        await act(_switch(card, tool).click)
    await until(lambda: "4 of 6 tools" in card._cost.text(), "two off")
    assert record(rig)[0].off == ("bang", "hang")
    assert "mcp__box__bang" not in statuses(rig)
    await act(_switch(card, "Use box").click)
    await until(lambda: state(card) == "Off", "off")
    await until(lambda: not [name for name in statuses(rig) if name.startswith("mcp__")], "its tools gone")
    await act(_switch(card, "Use box").click)
    await ready(page, "box")
    assert "mcp__box__echo" in statuses(rig)


async def _check_consent(rig: WindowRig) -> None:
    """Nothing starts until the user has reviewed it; then it is stored as approved."""
    await rig.open_folder("consent")
    page = await open_page(rig)
    swapped = msgspec.structs.replace(raw_server(name="box"), env={"EVIL": "1"})
    add_servers(rig, swapped)
    await until(lambda: "box" in page.cards, "the card")
    card = page.cards["box"]
    await until(lambda: "Needs your approval" in state(card), "the question")
    assert rig.wiring.services.mcp_servers.configs(rig.workspace.id)[0].approved != swapped.fingerprint
    assert not [name for name in statuses(rig) if name.startswith("mcp__")]
    assert "EVIL=1" in card._consent_words[2].text()
    await until(lambda: "The MCP server box needs your approval." in rig.banner_text(), "the banner")
    assert "raw_server.py" in card._consent_words[2].text()
    assert card._endpoint.isHidden(), "the command is there once"
    rig.wiring.services.registry.change(
        rig.workspace.id, servers=(msgspec.structs.replace(swapped, command="sh"),)
    )
    press(card, "allow")  # of the displayed state, which is outdated by now
    await until(lambda: "was changed in the meantime" in page._error.text(), "the refusal")
    assert not record(rig)[0].is_consented
    rig.wiring.services.registry.change(rig.workspace.id, servers=(swapped,))
    await rig.wiring.settings.show("mcp")
    press(card, "allow")
    await ready(page, "box")
    assert record(rig)[0].is_consented
    assert not card._endpoint.isHidden()
    await until(lambda: "approval" not in rig.banner_text(), "no banner")


async def _check_changed_files(rig: WindowRig) -> None:
    """A server whose script was changed is asked about, with the script's name."""
    await rig.open_folder("files", {"serve.py": (SCRIPTS_DIR / "raw_server.py").read_text()})
    page = await open_page(rig)
    page.open_add()
    page.add_box.paste.setPlainText(shlex.join([sys.executable, "-S", "serve.py"]))
    page.add_box.editor.form.write("name", "box")
    press(page.add_box, "save_server")
    card = await ready(page, "box")
    root = Path(rig.wiring.services.registry.get(rig.workspace.id).path)
    (root / "serve.py").write_text("print()\n")
    press(card, "restart")
    await until(lambda: "Needs your approval" in state(card), "the question")
    assert "have changed since you approved it: serve.py." in card._consent_words[0].text()
    assert "it runs serve.py" in card._consent_words[3].text()
    assert "the agent changes anything in the workspace" in card._consent_words[3].text()
    await until(lambda: "Files that it runs have changed: serve.py." in rig.banner_text(), "the banner")
    assert "isn't running" not in rig.banner_text()


async def _check_trust(rig: WindowRig) -> None:
    """Trust starts the servers, and taking it back ends them."""
    identity = await rig.open_folder("trust")
    trusting = rig.wiring.trust
    page = await open_page(rig)
    await trusting.set_trusted(identity, trusted=False)
    add_servers(rig, raw_server(name="box"))
    await until(lambda: "box" in page.cards, "the card")
    await until(lambda: state(page.cards["box"]) == "Folder not trusted", "nothing runs")
    await trusting.set_trusted(identity, trusted=True)
    await ready(page, "box")
    await trusting.set_trusted(identity, trusted=False)
    await until(lambda: state(page.cards["box"]) == "Folder not trusted", "ended")
    assert rig.wiring.services.mcp_servers._hubs[identity].actor("box") is None


async def _check_a_failure(rig: WindowRig) -> None:
    """The reason is on the card; editing it repairs it."""
    await rig.open_folder("failure")
    page = await open_page(rig)
    add_servers(rig, raw_server("crash", name="box"))
    await until(lambda: "box" in page.cards and state(page.cards["box"]).startswith("Failed"), "failed")
    card = page.cards["box"]
    assert "cannot find the database" in card._reason.text()
    assert "cannot find the database" in card.log.toPlainText()
    card.toggles["edit"].click()
    card.editor.form.write("reach", "")
    press(card.editor, "save_server")
    assert "reach" in card.editor.form.errors()
    card.editor.form.write("env", "LEVEL 2")
    press(card.editor, "save_server")
    assert "NAME=value" in card.editor.form.errors()["env"]
    card.editor.form.write("env", "LEVEL=2")
    assert "env" not in card.editor.form.errors()
    card.editor.form.write("reach", LINE)
    card.editor.form.write("name", "better")
    press(card.editor, "save_server")
    await ready(page, "better")
    assert [server.name for server in record(rig)] == ["better"]


async def _check_a_removed_server(rig: WindowRig) -> None:
    """Undo brings it back where it stood, and it starts again."""
    await rig.open_folder("removed")
    page = await open_page(rig)
    secret = raw_server(name="second", secret_env=("TOKEN",))
    services, identity = rig.wiring.services, rig.workspace.id
    await services.secrets.set(f"mcp/{identity}/second/TOKEN", "kept")
    add_servers(rig, raw_server(name="first"), secret, raw_server(name="third"))
    await ready(page, "second")
    press(page.cards["second"], "remove")
    await until(lambda: list(page.cards) == ["first", "third"], "removed")
    await until(lambda: focused_name(page) == "undo", "the keyboard at Undo")
    assert (await services.secrets.get(f"mcp/{identity}/second/TOKEN")).value == ""
    press(page, "undo")
    await ready(page, "second")
    await until(lambda: focused_name(page) == "add_server", "the keyboard is at the list")
    assert list(page.cards) == ["first", "second", "third"]
    assert (await services.secrets.get(f"mcp/{identity}/second/TOKEN")).value == "kept"


async def _check_invalid_json(rig: WindowRig) -> None:
    """An incomplete block, a duplicate name; several servers at once."""
    await rig.open_folder("invalid", {".mcp.json": '{"mcpServers": {"sly": {"command": "touch"}}}'})
    page = await open_page(rig)
    assert page.cards == {}
    page.open_add()
    page.add_box.paste.setPlainText('{"mcpServers": ')
    page.open_add()
    assert page.has_unsaved_edits(), "what was pasted stays"
    assert "isn't valid JSON" in page.add_box._error.text()
    two = msgspec.json.encode(
        {
            name: {"command": sys.executable, "args": ["-S", str(SCRIPTS_DIR / "raw_server.py")]}
            for name in "ab"
        }
    )
    page.add_box.paste.setPlainText(two.decode())
    press(page.add_box, "add_all")
    await ready(page, "b")
    page.open_add()
    page.add_box.paste.setPlainText(LINE)
    page.add_box.editor.form.write("name", "a")
    press(page.add_box, "save_server")
    assert "already" in page.add_box.editor.form.errors()["name"]


async def test_the_endpoint_is_switched_on_copied_renewed_and_switched_off(
    tmp_path: Path, rig: WindowRig
) -> None:
    await rig.open_folder("project")
    await rig.wiring.settings.show("mcp")
    card = rig.settings.mcp.sharing
    assert not card.http.isChecked()
    press(card, "copy_command")
    (server,) = json.loads(QGuiApplication.clipboard().text())["mcpServers"].values()
    assert [server["command"], *server["args"]] == list(
        rig.wiring.services.cache_endpoints.stdio_command(rig.workspace.id)
    )
    card.http.click()
    await until(card._endpoint_row.isVisible, "the address is shown")
    press(card, "copy_http")
    (server,) = json.loads(QGuiApplication.clipboard().text())["mcpServers"].values()
    shared = await rig.wiring.services.cache_endpoints.sharing_state(rig.workspace.id)
    assert (server["url"], server["headers"]["Authorization"]) == (shared.url, f"Bearer {shared.token}")
    assert card._url.text() == shared.url
    press(card, "renew_token")
    await until(lambda: shared.token not in card._http_config, "another token is shown")
    card.http.click()
    await until(lambda: not card._endpoint_row.isVisible(), "the address is gone")
    assert not rig.wiring.services.registry.get(rig.workspace.id).share_port
    settings_files = [path.read_text(errors="replace") for path in (tmp_path / "data").rglob("*.toml")]
    assert not any(shared.token in text for text in settings_files), "a token is in no file"
