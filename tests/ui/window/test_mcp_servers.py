"""MCP servers in the window: notices, sign-in, questions, prompts as commands, resources through `@`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
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
from helix_desktop.domain.question import ServerQuestion
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.services.mcp_config import ServerDraft
from helix_desktop.ui.chat.actions import RowKey, StopCall
from helix_desktop.ui.chat.composer.editor import CompletionItem
from helix_desktop.ui.chat.question_card import FormCard, FormCards
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, QuestionRow, ToolRow
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.dialogs import TextInputDialog
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.outputs.rows import COLUMN_BY_KEY
from helix_desktop.ui.settings.mcp.page import ServerCard
from tests.support.mcp.authorization_server import GuardedServer, browse, serve_guarded
from tests.support.mcp.mcp_rig import raw_server, sdk_server
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
        await until(lambda: "box" in page.cards and page.cards["box"].editor.isVisible(), "the fields")
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


async def test_the_form_says_before_saving_how_long_secrets_last(rig: WindowRig) -> None:
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
        await until(lambda: "box" in page.cards and page.cards["box"].tools.isVisible(), "its tools")
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


@pytest.fixture
def browser() -> Iterator[Browser]:
    with use_browser() as browser:
        yield browser


@pytest.fixture
async def server() -> AsyncIterator[GuardedServer]:
    async with serve_guarded() as server:
        yield server


def state(card: ServerCard) -> str:
    return card._state.full_text()


def key_press(button: PushButton) -> None:
    assert button.hasFocus(), f"the keyboard is not at {button.text()!r}"
    QTest.keyClick(button, Qt.Key.Key_Space)


async def signed_out_card(rig: WindowRig, server: GuardedServer) -> ServerCard:
    await rig.open_folder("project")
    config = McpServerConfig(name="web", url=f"http://{server.host}/mcp")
    await rig.wiring.services.mcp_servers.add(rig.workspace.id, [ServerDraft(config)])
    await rig.wiring.settings.show("mcp")
    page = rig.settings.mcp
    await until(lambda: "web" in page.cards and state(page.cards["web"]) == "Sign-in needed", "signed out")
    return page.cards["web"]


async def test_a_user_signs_in_by_keyboard_out_again_and_cancels(
    server: GuardedServer, browser: Browser, rig: WindowRig
) -> None:
    """What fails then, too, is said on its card."""
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
    assert card.toggles["edit"].hasFocus()
    assert card._signed_in.text().startswith("Signed in. Kept until Helix Desktop closes: ")
    await act(find_button(card, "sign_out").click)
    await until(lambda: state(card) == "Sign-in needed", "signed out again")
    assert card._sign_out.isHidden()

    browser.addresses.clear()
    press(box, "sign_in")
    await until(box.open.isVisible, "the address")
    press(box, "cancel_sign_in")
    assert (box.start.isVisible(), box.open.isVisible(), box.is_running) == (True, False, False)
    server.authorization.consent = {"error": "access_denied"}
    press(box, "sign_in")
    await until(box.open.isVisible, "the address again")
    press(box, "open_browser")
    await browse(browser.addresses[0])
    await until(lambda: not box.is_running, "the refusal")
    assert box._error.text() == "Access was denied in the browser. Sign in again to allow it."
    assert state(card) == "Sign-in needed"


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name of the <b>release</b>", "minLength": 2},
        "mail": {"type": "string", "format": "email", "title": "Contact"},
        "copies": {"type": "integer", "title": "Copies", "minimum": 1, "maximum": 9, "default": 2},
        "region": {"type": "string", "title": "Region",
                   "oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us"}]},
        "parts": {"type": "array", "title": "Parts", "items": {"enum": ["api", "web"], "type": "string"}},
        "draft": {"type": "boolean", "title": "As a draft"},
        "password": {"type": "string", "title": "Password"},
    },
    "required": ["name", "region"],
}  # fmt: skip
FORM = {"message": "What should be released?", "requestedSchema": SCHEMA}
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


async def test_a_form_is_filled_in_and_what_is_wrong_is_said(qapp: QApplication, tmp_path: Path) -> None:
    """Nothing is sent while a field is wrong; the row runs on; a message in the composer is no answer."""
    async with window_with_calls(qapp, tmp_path, raw_server(quiet_s=5), asking(FORM)) as rig:
        card = await shown_card(rig)
        form = card.form
        status = rig.window.top_bar.status
        await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
        assert words_of(card)[:2] == ["raw asks", "What should be released?"]
        assert rig.chat.question is None
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Backtab)
        assert QApplication.focusWidget() is form.line("field:0")
        QTest.keyClick(form.line("field:0"), Qt.Key.Key_Escape)
        assert rig.composer.editor.hasFocus()
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Backtab)
        assert QApplication.focusWidget() is form.line("field:0")
        QTest.mouseClick(card.accept, Qt.MouseButton.LeftButton)
        assert form.errors() == {"field:0": "Required.", "field:3": "Required."}
        QTest.keyClicks(form.line("field:0"), "x")
        assert form.errors()["field:0"] == "At least 2 characters."
        QTest.keyClicks(form.line("field:0"), "y")
        QTest.keyClicks(form.line("field:1"), "nobody")
        form.line("field:2").selectAll()
        QTest.keyClicks(form.line("field:2"), "10")
        region, part = form.controls["field:3"], form.controls["field:4"].findChild(Switch, "field:4:2")
        assert isinstance(region, ComboBox)
        assert isinstance(part, Switch)
        region.setFocus()
        QTest.keyClick(region, Qt.Key.Key_Down)
        QTest.mouseClick(part, Qt.MouseButton.LeftButton, pos=part.rect().center() / 2)
        QTest.mouseClick(card.accept, Qt.MouseButton.LeftButton)
        assert form.errors() == {"field:1": "Enter an email address.", "field:2": "At most 9."}
        QTest.keyClick(form.line("field:1"), Qt.Key.Key_End)
        QTest.keyClicks(form.line("field:1"), "@example.org")
        QTest.keyClick(form.line("field:2"), Qt.Key.Key_Backspace)
        assert form.controls["field:5"].accessibleName() == "As a draft"
        assert form.rows["field:6"].note_text().startswith("Servers must not ask for passwords")
        await press_until_answered(rig, form.line("field:0"), Qt.Key.Key_Return)
        await rig.wait_for_turn_end()
        values = {"name": "xy", "mail": "nobody@example.org", "copies": 1, "region": "eu", "parts": ["web"]}
        assert server_got(rig) == {"action": "accept", "content": {**values, "draft": False}}
        assert [row.state for row in rig.rows(ToolRow)] == ["ok"]


async def test_questions_are_declined_canceled_and_end_with_their_call_and_a_page_is_opened(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Each is what the server gets. A page is opened by a click alone; its whole address is on the card."""
    calls = asking(FORM), asking(FORM), asking(PAGE), asking(FORM)
    with use_browser() as browser:
        async with window_with_calls(qapp, tmp_path, raw_server("recent"), *calls) as rig:
            for name, key, action in (
                ("decline", None, "decline"),
                ("cancel", Qt.Key.Key_Return, "cancel"),
            ):
                card = await shown_card(rig)
                await press_until_answered(rig, getattr(card, name), key)
                await rig.wait_for_turn_end()
                assert server_got(rig) == {"action": action}
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


def test_the_next_question_of_a_call_has_a_card_of_its_own(qapp: QApplication) -> None:
    """It is opened and sent what its own card says, also if the one before was still there."""
    cards, key = FormCards(), RowKey(call_id="c1", part="approval")
    urls = "https://example.org/", "https://other.example/"
    for url in urls:
        question = ServerQuestion("c1", f"Open {url}", server="raw", url=url)
        card = cards.card_for(QuestionRow(key, question))
        shown = [part.text().replace("\u200b", "") for part in card.findChildren(QLabel)]
        assert {url, f"Open {url}"} <= set(shown)
        assert cards.card_for(QuestionRow(key, question, "1 of 2")) is card
    cards.drop(key)


def rows(rig: WindowRig) -> list[CompletionItem]:
    """The rows of the popup; none while it is closed."""
    popup = rig.composer.completer.popup
    return list(popup.completions) if popup is not None and popup.isVisible() else []


def _is_said(rig: WindowRig, words: str) -> bool:
    """Return True if a notice has these words."""
    return words in rig.banner_text()


async def begin(rig: WindowRig, server: ChatServer) -> None:
    """Open a project with a running server."""
    await rig.open_folder("project", {"notes.txt": "words"})
    await rig.use_server(server)
    use_mcp_servers(rig, sdk_server())
    servers = rig.wiring.services.mcp_servers
    await until(lambda: servers.resources(rig.workspace.id), "what the server offers")


async def test_a_prompt_is_a_command_whose_text_is_read_before_it_is_sent(rig: WindowRig) -> None:
    """With its arguments typed, or asked for; a text of a server is never run as a command."""
    async with ChatServer(lambda _: text_reply("Done.")) as server:
        await begin(rig, server)
        rig.type_message("/made:rev", send=False)
        await until(lambda: rows(rig), "the command")
        assert rows(rig)[0].title == "/made:review"
        assert rows(rig)[0].detail == "FILE [TONE] · Reviews a change."
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Tab)
        rig.type_message("a.py very strict")
        await until(lambda: rig.composer.text() == "Review a.py. Be very strict.", "the text")
        assert "made wrote this message" in rig.banner_text()
        assert rig.events(UserSpoke) == []
        rig.composer.editor.clear()
        assert "made wrote" not in rig.banner_text()
        rig.type_message("/made:review")
        dialog = await rig.dialog(TextInputDialog)
        QTest.keyClicks(dialog.field, "b.py")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)
        await until(lambda: rig.composer.text() == "Review b.py. Be kind.", "the text")
        await rig.run_turn("")
        assert rig.events(UserSpoke)[-1].text == "Review b.py. Be kind."
        assert "made wrote" not in rig.banner_text()
        rig.type_message("/made:menu")
        await until(lambda: rig.composer.text() == " /quit", "a text")
        await rig.run_turn("")
        assert rig.events(UserSpoke)[-1].text.strip() == "/quit"


async def test_a_resource_is_attached_as_a_file_is(rig: WindowRig) -> None:
    """Its text goes along with the message; what can't be attached is said."""
    async with ChatServer(lambda _: text_reply("Done.")) as server:
        await begin(rig, server)
        rig.type_message("Sum up @notes", send=False)
        await until(lambda: len(rows(rig)) == 2, "a file and a resource")
        assert [row.title for row in rows(rig)] == ["notes.txt", "Notes of today"]
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Down)
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        await until(rig.attachment_labels, "the chip")
        assert rig.composer.text() == "Sum up "
        assert rig.attachment_labels()[0].startswith("made: Notes of today · 1 line")
        await rig.run_turn("")
        (attachment,) = rig.events(UserSpoke)[-1].attachments
        assert await rig.workspace.store.get(attachment.digest) == b"Buy milk."
        assert "Buy milk." in str(server.bodies[-1]["messages"])
        for typed, why in (("@blob", "It isn't text"), ("@gone", "made didn't answer")):
            rig.composer.set_text("")
            rig.type_message(typed, send=False)
            await until(lambda: len(rows(rig)) == 1, "the resource")
            QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
            await until(partial(_is_said, rig, why), "why it can't be attached")
            assert rig.attachment_labels() == []
