"""MCP servers in the window: added, approved, edited in their file, signed in, asking and offering."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.services.mcp_config import ServerDraft
from helix_desktop.ui.chat.actions import StopCall
from helix_desktop.ui.chat.composer.editor import CompletionItem
from helix_desktop.ui.chat.question_card import FormCard
from helix_desktop.ui.chat.rows.row_types import QuestionRow, ToolRow
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import TextInputDialog
from helix_desktop.ui.settings.mcp.page import McpPage, ServerRow
from tests.support.mcp.authorization_server import GuardedServer, browse, serve_guarded
from tests.support.mcp.mcp_rig import SCRIPTS_DIR, raw_server
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.browser import Browser, use_browser
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop

ARGS = ["-S", str(SCRIPTS_DIR / "raw_server.py")]


def use_mcp_servers(rig: WindowRig, *entries: McpServerConfig) -> None:
    """Write servers into the record and start them."""
    rig.wiring.services.registry.change(rig.workspace.id, servers=entries)
    rig.wiring.services.mcp_servers.start(rig.workspace.id)


async def restart_server(rig: WindowRig, name: str) -> None:
    """Restart a server and wait until it is there again."""
    servers = rig.wiring.services.mcp_servers
    await servers.restart(rig.workspace.id, name)
    await servers._hubs[rig.workspace.id].wait_settled(30)


def tool_names(rig: WindowRig) -> list[str]:
    return [spec.name for spec in rig.conversation.window.measure()[0].request.tools]


def focused_name(page: McpPage) -> str:
    focused = page.focusWidget()
    return focused.objectName() if focused is not None else ""


async def open_page(rig: WindowRig) -> McpPage:
    await rig.wiring.settings.show("mcp")
    return rig.settings.mcp


def record(rig: WindowRig) -> tuple[McpServerConfig, ...]:
    return rig.wiring.services.registry.get(rig.workspace.id).servers


async def ready(page: McpPage, name: str) -> ServerRow:
    await until(lambda: name in page.rows and state(page.rows[name]).startswith("Ready"), f"{name} ready")
    return page.rows[name]


def server_file(rig: WindowRig) -> Path:
    return rig.wiring.services.registry.mcp_file(rig.workspace.id).path


def state(card: ServerRow) -> str:
    return card._state.full_text()


async def test_a_server_is_added_approved_trusted_removed_and_signed_in(
    server: GuardedServer, browser: Browser, rig: WindowRig
) -> None:
    """One workspace, whose servers change with each step."""
    await _check_a_pasted_server(rig)
    await _check_an_edited_file(rig)
    await _check_unused_secrets(rig)
    await _check_consent(rig)
    await _check_changed_files(rig)
    await _check_a_removed_server(rig)
    await _check_trust(rig)
    await _check_a_sign_in(rig, server, browser)


async def _check_a_pasted_server(rig: WindowRig) -> None:
    """It is tested, added and used: from a line of text to an answer in the chat, with an approval."""
    call = StreamedReply(Call("mcp__box__echo", '{"word": "hello"}'))
    async with rig.answered_by(replies_in_order(call, text_reply("It echoes.")), "project"):
        page = await open_page(rig)
        page.open_add()
        config = {"command": sys.executable, "args": ARGS, "env": {"API_TOKEN": "abcdef", "LEVEL": "2"}}
        page.add_box.paste.setPlainText(json.dumps({"mcpServers": {"box": config}}))
        shown = " ".join(part.text() for part in page.add_box.findChildren(QLabel))
        assert "raw_server.py" in shown, "what is agreed to is on screen"
        assert "Secrets: API_TOKEN. Kept until Helix Desktop closes" in shown
        assert "abcdef" not in shown
        assert record(rig) == ()
        press(page.add_box, "add")
        card = await ready(page, "box")
        assert page.add_box.isHidden()
        await until(lambda: focused_name(page) == "add_server", "the keyboard is at the list")
        (entry,) = record(rig)
        assert (entry.env, entry.secret_env, entry.is_consented) == ({"LEVEL": "2"}, ("API_TOKEN",), True)
        files = [*(rig.folder / "data").rglob("*.toml"), *(rig.folder / "data").rglob("*.json")]
        settings_text = "".join(path.read_text() for path in files)
        assert "LEVEL" in settings_text
        assert "abcdef" not in settings_text
        assert json.loads(server_file(rig).read_text())["mcpServers"]["box"]["secrets"] == ["API_TOKEN"]
        assert "6 tools" in card._cost.text()

        rig.window.leave_settings()
        rig.type_message("Echo hello")
        approval = await rig.answer_approval("once")
        assert "box: echo" in approval.summary
        assert list(approval.offers) == ["Use echo of the MCP server box"], "not the name for the model"
        await rig.wait_for_turn_end()
        output = rig.last_output("mcp__box__echo")
        assert output.text == '{"word": "hello"}'
        assert (await rig.workspace.contents.attach(output.digest)).label == "box: echo hello"
        assert "mcp__box__echo" in tool_names(rig)


async def _check_consent(rig: WindowRig) -> None:
    """Nothing starts until the user has reviewed it; then it is stored as approved."""
    page = await open_page(rig)
    swapped = msgspec.structs.replace(raw_server(name="swapped"), env={"EVIL": "1"})
    use_mcp_servers(rig, swapped)
    await until(lambda: "swapped" in page.rows, "the card")
    card = page.rows["swapped"]
    await until(lambda: "Needs your approval" in state(card), "the question")
    assert rig.wiring.services.mcp_servers.configs(rig.workspace.id)[0].approved != swapped.fingerprint
    assert not [name for name in tool_names(rig) if name.startswith("mcp__")]
    assert "EVIL=1" in card._consent_words[2].text()
    await until(lambda: "The MCP server swapped needs your approval." in rig.banner_text(), "the banner")
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
    await ready(page, "swapped")
    assert record(rig)[0].is_consented
    assert not card._endpoint.isHidden()
    await until(lambda: "approval" not in rig.banner_text(), "no banner")


async def _check_an_edited_file(rig: WindowRig) -> None:
    """Opened in an editor; read on return: a changed command is asked about, an error is named."""
    page = await open_page(rig)
    card = await ready(page, "box")
    with use_browser(("file",)) as editor:
        press(page, "open_file")
        await until(lambda: editor.addresses == [server_file(rig).as_uri()], "the editor")
    content = server_file(rig).read_text()
    server_file(rig).write_text(content.replace('"LEVEL": "2"', '"LEVEL": "3"'))
    rig.window.activated.emit()
    await until(lambda: "Needs your approval" in state(card), "the question")
    assert "LEVEL=3" in card._consent_words[2].text()
    await until(lambda: "The MCP server box needs your approval." in rig.banner_text(), "the banner")
    press(card, "allow")
    await ready(page, "box")
    server_file(rig).write_text(content.replace('"env": {', '"env": [{'))
    rig.window.activated.emit()
    await until(lambda: "mcp.json has an error." in rig.banner_text(), "the banner")
    await until(page._file_error.isVisible, "the page")
    assert page._file_error.text().startswith("mcp.json: Line ")
    assert state(card).startswith("Ready"), "what runs goes on"
    page.open_add()
    page.add_box.paste.setPlainText("npx other")
    press(page.add_box, "add")
    await until(lambda: "has an error" in page._error.text(), "nothing is written over it")
    page.close_add()
    server_file(rig).write_text(content)
    rig.window.activated.emit()
    await until(page._file_error.isHidden, "it is right again")
    assert "mcp.json" not in rig.banner_text()


async def _check_unused_secrets(rig: WindowRig) -> None:
    """A secret of a server that left the file is named, and deleted by one click."""
    page = await open_page(rig)
    server_file(rig).unlink()
    rig.window.activated.emit()
    await until(lambda: not page.rows and page.unused_secrets.isVisible(), "what is left")
    assert page.unused_secrets._words.text() == "Secrets that mcp.json no longer names: API_TOKEN of box."
    press(page, "delete_secrets")
    await until(page.unused_secrets.isHidden, "deleted")
    assert "abcdef" not in await rig.wiring.services.secret_values()


async def _check_changed_files(rig: WindowRig) -> None:
    """A server whose script was changed is asked about, with the script's name."""
    root = Path(rig.wiring.services.registry.get(rig.workspace.id).path)
    (root / "serve.py").write_text((SCRIPTS_DIR / "raw_server.py").read_text())
    page = await open_page(rig)
    page.open_add()
    config = {"command": sys.executable, "args": ["-S", "serve.py"]}
    page.add_box.paste.setPlainText(json.dumps({"box": config}))
    press(page.add_box, "add")
    card = await ready(page, "box")
    (root / "serve.py").write_text("print()\n")
    press(card, "restart")
    await until(lambda: "Needs your approval" in state(card), "the question")
    assert "have changed since you approved it: serve.py." in card._consent_words[0].text()
    assert "it runs serve.py" in card._consent_words[3].text()
    assert "the agent changes anything in the workspace" in card._consent_words[3].text()
    await until(lambda: "Files that it runs have changed: serve.py." in rig.banner_text(), "the banner")
    assert "isn't running" not in rig.banner_text()


async def _check_a_removed_server(rig: WindowRig) -> None:
    """Undo brings it back where it stood, and it starts again."""
    page = await open_page(rig)
    secret = raw_server(name="second", secret_env=("TOKEN",))
    services = rig.wiring.services
    identity = rig.workspace.id
    await services.secrets.set(f"mcp/{identity}/second/TOKEN", "kept")
    first, third = (raw_server(name=name, enabled=False) for name in ("first", "third"))
    use_mcp_servers(rig, first, secret, third)
    await ready(page, "second")
    press(page.rows["second"], "remove")
    await until(lambda: list(page.rows) == ["first", "third"], "removed")
    await until(lambda: focused_name(page) == "undo", "the keyboard at Undo")
    assert (await services.secrets.get(f"mcp/{identity}/second/TOKEN")).value == ""
    press(page, "undo")
    await ready(page, "second")
    await until(lambda: focused_name(page) == "add_server", "the keyboard is at the list")
    assert list(page.rows) == ["first", "second", "third"]
    assert (await services.secrets.get(f"mcp/{identity}/second/TOKEN")).value == "kept"


async def _check_trust(rig: WindowRig) -> None:
    """Without trust nothing runs or starts; trust starts the servers."""
    identity = rig.workspace.id
    page = await open_page(rig)
    await rig.wiring.trust.set_trusted(identity, trusted=False)
    await until(lambda: state(page.rows["second"]) == "Folder not trusted", "ended")
    hub = rig.wiring.services.mcp_servers._hubs[identity]
    assert hub.actor("second") is None
    use_mcp_servers(rig, raw_server(name="box"))
    await until(lambda: "box" in page.rows, "the card")
    await until(lambda: state(page.rows["box"]) == "Folder not trusted", "nothing runs")
    assert hub.actor("box") is None
    await rig.wiring.trust.set_trusted(identity, trusted=True)
    await ready(page, "box")


@pytest.fixture
def browser() -> Iterator[Browser]:
    with use_browser() as browser:
        yield browser


@pytest.fixture
async def server() -> AsyncIterator[GuardedServer]:
    async with serve_guarded() as server:
        yield server


def key_press(button: PushButton) -> None:
    assert button.hasFocus(), f"the keyboard is not at {button.text()!r}"
    QTest.keyClick(button, Qt.Key.Key_Space)


async def signed_out_card(rig: WindowRig, server: GuardedServer) -> ServerRow:
    config = McpServerConfig(name="web", url=f"http://{server.host}/mcp")
    await rig.wiring.services.mcp_servers.add(rig.workspace.id, [ServerDraft(config)])
    await rig.wiring.settings.show("mcp")
    page = rig.settings.mcp
    await until(lambda: "web" in page.rows and state(page.rows["web"]) == "Sign-in needed", "signed out")
    return page.rows["web"]


async def _check_a_sign_in(rig: WindowRig, server: GuardedServer, browser: Browser) -> None:
    """By keyboard, out again, and canceled."""
    card = await signed_out_card(rig, server)
    box = card.sign_in
    await rig.wiring.settings.show_server("web", lacks_secret=False)
    key_press(box.start)
    await until(box.open.isVisible, "the address")
    assert box._words.text() == f"Sign in at 127.0.0.1:{server.authorization.port} in your browser."
    assert browser.addresses == [], "it opens only what the user has seen"
    key_press(box.open)
    press(box, "copy_address")
    assert browser.addresses == [QGuiApplication.clipboard().text()]
    await browse(browser.addresses[0])
    await until(lambda: state(card).startswith("Ready"), "ready")
    assert box.isHidden()
    assert card.toggles["log"].hasFocus()
    assert card._signed_in.text().startswith("Signed in. Kept until Helix Desktop closes: ")
    await act(find_button(card, "sign_out").click)
    await until(lambda: state(card) == "Sign-in needed", "signed out again")
    assert card._sign_out.isHidden()

    browser.addresses.clear()
    press(box, "sign_in")
    await until(box.open.isVisible, "the address")
    press(box, "cancel_sign_in")
    assert (box.start.isVisible(), box.open.isVisible(), box.is_running) == (True, False, False)


FORM = {
    "message": "What should be released?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "title": "Name", "minLength": 2}},
        "required": ["name"],
    },
}
PAGE = {"mode": "url", "message": "Sign in.", "url": "https://example.org/sign?id=1", "elicitationId": "e"}


def asking(params: dict[str, Any]) -> StreamedReply:
    return StreamedReply(
        Call("mcp__raw__ask", json.dumps({"method": "elicitation/create", "params": params}), id="c1")
    )


async def shown_card(rig: WindowRig) -> FormCard:
    """Send a message, allow the call that it leads to, and return the card of the server's question."""
    rig.type_message("Go")
    await rig.answer_approval("once")
    await until(lambda: rig.rows(QuestionRow), "the question")
    (row,) = rig.rows(QuestionRow)
    find = rig.chat.view.chat_viewport.item_cache.form_cards.by_key.get
    await until(lambda: find(row.key), "the card")
    card = find(row.key)
    assert isinstance(card, FormCard)
    return card


async def press_until_answered(rig: WindowRig, button: QWidget, key: Qt.Key | None = None) -> None:
    """Press a button until the card is gone: one that just came takes no answer yet."""

    def is_gone() -> bool:
        if rig.rows(QuestionRow):
            if key is None:
                QTest.mouseClick(button, Qt.MouseButton.LeftButton)
            else:
                QTest.keyClick(button, key)
        return not rig.rows(QuestionRow)

    await until(is_gone, "the question is answered")


def words_of(card: FormCard) -> list[str]:
    return [part.text() for part in card.findChildren(QLabel) if part.isVisible()]


def server_got(rig: WindowRig) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads(rig.events(ToolAnswered)[-1].text.partition("\n\n")[0])
    return reply


async def test_a_server_asks_offers_and_notifies(
    browser: Browser, qapp: QApplication, tmp_path: Path
) -> None:
    """One server asks in its calls and offers prompts and resources; another needs a secret at each start."""
    calls = asking(FORM), asking(FORM), asking(FORM), asking(PAGE), asking(FORM)
    replies = [reply for call in calls for reply in (call, text_reply("Done."))]
    async with ChatServer(replies_in_order(*replies)) as server, open_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project", {"notes.txt": "words"})
        await rig.use_server(server)
        use_mcp_servers(rig, raw_server("recent", "offers"))
        await until(lambda: any(name.startswith("mcp__") for name in tool_names(rig)), "the tools")
        servers = rig.wiring.services.mcp_servers
        await until(lambda: servers.resources(rig.workspace.id), "what the server offers")
        await _check_a_form(rig)
        await _check_other_answers(rig, browser)
        await _check_prompts(rig)
        await _check_resources(rig, server)
        await _check_notices(rig)
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        await until(lambda: "mcp-secret" in rig.window.notices.names(), "it ended with the last run")
        find_button(rig.window.notices, "dismiss").click()
        await restart_server(rig, "box")
        assert "mcp-secret" not in rig.window.notices.names(), "once per start"
        lacking = (raw_server(name=name, secret_env=("TOKEN",)) for name in ("box", "late"))
        use_mcp_servers(rig, *lacking)
        await restart_server(rig, "late")
        assert rig.wiring.services.mcp_servers.servers_lacking_secrets(identity) == ("box", "late")
        assert "mcp-secret" not in rig.window.notices.names(), "also of a server that came since"


async def _check_other_answers(rig: WindowRig, browser: Browser) -> None:
    """Each is what the server gets. A page is opened by a click alone; its whole address is on the card."""
    for name, key in (("decline", None), ("cancel", Qt.Key.Key_Return)):
        card = await shown_card(rig)
        await press_until_answered(rig, getattr(card, name), key)
        await rig.wait_for_turn_end()
        assert server_got(rig) == {"action": name}
    card = await shown_card(rig)
    assert PAGE["url"] in words_of(card)
    assert browser.addresses == []
    await press_until_answered(rig, card.accept)
    await rig.wait_for_turn_end()
    assert browser.addresses == [PAGE["url"]]
    assert server_got(rig) == {"action": "accept"}
    await shown_card(rig)
    rig.perform(StopCall("c1"))
    await until(lambda: not rig.rows(QuestionRow), "the card goes with the call")
    await rig.wait_for_turn_end()


async def _check_notices(rig: WindowRig) -> None:
    """Each once: with the secret the server starts, and its first tools are no news."""
    use_mcp_servers(rig, raw_server(name="box", secret_env=("TOKEN",)))
    await until(lambda: "mcp-secret" in rig.window.notices.names(), "the notice")
    assert "The MCP server box can't start: its secret is missing." in rig.banner_text()
    press(rig.window.notices, "enter")
    page = rig.settings.mcp
    await until(lambda: "box" in page.rows and page.rows["box"].secrets.isVisible(), "the fields")
    card = page.rows["box"]
    field = card.secrets.lines()["TOKEN"]
    assert page.focusWidget() is field
    assert state(card) == "Failed", "no attempt that nothing could change"
    QTest.keyClicks(field, "sesame")
    QTest.keyClick(field, Qt.Key.Key_Return)
    await ready(page, "box")
    await until(lambda: "mcp-secret" not in rig.window.notices.names(), "no notice")
    assert "echo" in record(rig)[0].known_tools
    assert "mcp-new-tools" not in rig.window.notices.names()
    (rig.folder / "project" / "extended").touch()
    await restart_server(rig, "box")
    await until(lambda: "mcp-new-tools" in rig.window.notices.names(), "the notice")
    assert "box has 2 new tools." in rig.banner_text()
    assert "later, latest" in rig.banner_text()
    press(rig.window.notices, "look")
    await until(card.tools.isVisible, "its tools")
    rig.window.notices.end("mcp-new-tools", rig.workspace.id)
    await restart_server(rig, "box")
    assert "mcp-new-tools" not in rig.window.notices.names(), "said once"


async def _check_a_form(rig: WindowRig) -> None:
    """Nothing is sent while a field is wrong."""
    card = await shown_card(rig)
    name = card.form.line("field:0")
    await until(lambda: rig.window.top_bar.status().startswith("Waiting for you"), "the top bar says so")
    assert words_of(card)[:2] == ["raw asks", "What should be released?"]
    assert rig.chat.question is None, "a message in the composer is no answer"
    name.setFocus()
    QTest.keyClick(name, Qt.Key.Key_Escape)
    assert rig.composer.editor.hasFocus()
    QTest.keyClicks(name, "x")
    QTest.mouseClick(card.accept, Qt.MouseButton.LeftButton)
    assert card.form.errors() == {"field:0": "At least 2 characters."}
    QTest.keyClick(name, Qt.Key.Key_End)
    QTest.keyClicks(name, "y")
    await press_until_answered(rig, name, Qt.Key.Key_Return)
    await rig.wait_for_turn_end()
    assert server_got(rig) == {"action": "accept", "content": {"name": "xy"}}
    assert [row.state for row in rig.rows(ToolRow)] == ["ok"]


def rows(rig: WindowRig) -> list[CompletionItem]:
    """The rows of the popup; none while it is closed."""
    popup = rig.composer.completer.popup
    return list(popup.completions) if popup is not None and popup.isVisible() else []


def _is_said(rig: WindowRig, words: str) -> bool:
    """Return True if a notice has these words."""
    return words in rig.banner_text()


async def _check_prompts(rig: WindowRig) -> None:
    """With its arguments typed, or asked for; a text of a server is never run as a command."""
    messages = len(rig.events(UserSpoke))
    rig.type_message("/raw:rev", send=False)
    await until(lambda: rows(rig), "the command")
    assert rows(rig)[0].title == "/raw:review"
    assert rows(rig)[0].detail == "FILE [TONE] · Reviews a change."
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Tab)
    rig.type_message("a.py very strict")
    await until(lambda: rig.composer.text() == "Review a.py. Be very strict.", "the text")
    assert "raw wrote this message" in rig.banner_text()
    assert len(rig.events(UserSpoke)) == messages
    rig.composer.editor.clear()
    assert "raw wrote" not in rig.banner_text()
    rig.type_message("/raw:review")
    dialog = await rig.dialog(TextInputDialog)
    QTest.keyClicks(dialog.field, "b.py")
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    await until(lambda: rig.composer.text() == "Review b.py. Be kind.", "the text")
    await rig.run_turn("")
    assert rig.events(UserSpoke)[-1].text == "Review b.py. Be kind."
    assert "raw wrote" not in rig.banner_text()
    rig.type_message("/raw:menu")
    await until(lambda: rig.composer.text() == " /quit", "a text")
    await rig.run_turn("")
    assert rig.events(UserSpoke)[-1].text.strip() == "/quit"


async def _check_resources(rig: WindowRig, server: ChatServer) -> None:
    """The text goes along with the message; what can't be attached is said."""
    rig.composer.set_text("")
    rig.type_message("Sum up @notes", send=False)
    await until(lambda: len(rows(rig)) == 2, "a file and a resource")
    assert [row.title for row in rows(rig)] == ["notes.txt", "Notes of today"]
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Down)
    QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
    await until(rig.attachment_labels, "the chip")
    assert rig.composer.text() == "Sum up "
    assert rig.attachment_labels()[0].startswith("raw: Notes of today · 1 line")
    await rig.run_turn("")
    (attachment,) = rig.events(UserSpoke)[-1].attachments
    assert await rig.workspace.store.get(attachment.digest) == b"Buy milk."
    assert "Buy milk." in str(server.bodies[-1]["messages"])
    for typed, why in (("@blob", "It isn't text"), ("@gone", "raw didn't answer")):
        rig.composer.set_text("")
        rig.type_message(typed, send=False)
        await until(lambda: len(rows(rig)) == 1, "the resource")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        await until(partial(_is_said, rig, why), "why it can't be attached")
        assert rig.attachment_labels() == []
