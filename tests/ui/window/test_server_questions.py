"""What MCP servers ask in the window: a form and a page to open, by mouse and by keyboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.question import ServerQuestion
from helix_desktop.ui.chat.actions import RowKey, StopCall
from helix_desktop.ui.chat.question_card import QuestionCards, ServerQuestionCard
from helix_desktop.ui.chat.rows.row_types import QuestionRow, ToolRow
from helix_desktop.ui.chat.style import ChatStyle
from helix_desktop.ui.design.buttons import Switch
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.style.theme import LIGHT
from tests.support.mcp.mcp_rig import raw_server
from tests.support.model_servers.chat_server import Call, StreamedReply
from tests.support.window.browser import use_browser
from tests.support.window.window_rig import WindowRig, until
from tests.ui.window.test_mcp_notices import window_with_calls

pytestmark = pytest.mark.qt_loop

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


async def shown_card(rig: WindowRig) -> ServerQuestionCard:
    """Send a message, allow the call that it leads to, and return the card of the server's question."""
    rig.type_message("Go")
    await rig.answer_approval("once")
    await until(lambda: rig.rows(QuestionRow), "the question")
    (row,) = rig.rows(QuestionRow)
    find = rig.chat.view.chat_viewport.item_cache.question_cards.find
    await until(lambda: find(row.key), "the card")
    card = find(row.key)
    assert isinstance(card, ServerQuestionCard)
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


def words_of(card: ServerQuestionCard) -> list[str]:
    return [part.text() for part in card.findChildren(QLabel) if part.isVisible()]


def server_got(rig: WindowRig) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads(rig.events(ToolAnswered)[-1].text.partition("\n\n")[0])
    return reply


async def test_a_form_is_filled_in_and_what_is_wrong_is_said(qapp: QApplication, tmp_path: Path) -> None:
    """Nothing is sent while a field is wrong; the row runs on; a message in the composer is no answer."""
    async with window_with_calls(qapp, tmp_path, raw_server(quiet_s=5), asking(FORM)) as rig:
        card = await shown_card(rig)
        form = card.form.widget
        status = rig.window.top_bar.status
        await until(lambda: status().startswith("Waiting for you"), "the top bar says so")
        assert words_of(card)[:2] == ["raw asks", "What should be released?"]
        assert rig.chat.question_card is None
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


async def test_a_form_is_declined_and_canceled(qapp: QApplication, tmp_path: Path) -> None:
    """Each of both is what the server gets; a form that was stopped with its call goes."""
    calls = asking(FORM), asking(FORM), asking(FORM)
    async with window_with_calls(qapp, tmp_path, raw_server(), *calls) as rig:
        for name, key, action in (("decline", None, "decline"), ("cancel", Qt.Key.Key_Return, "cancel")):
            card = await shown_card(rig)
            await press_until_answered(rig, getattr(card, name), key)
            await rig.wait_for_turn_end()
            assert server_got(rig) == {"action": action}
        await shown_card(rig)
        rig.perform(StopCall("c1"))
        await until(lambda: not rig.rows(QuestionRow), "the card goes with the call")


def test_the_next_question_of_a_call_has_a_card_of_its_own(qapp: QApplication) -> None:
    """It is opened and sent what its own card says, also if the one before was still there."""
    cards, key = QuestionCards(), RowKey(call_id="c1", part="approval")
    urls = "https://example.org/", "https://other.example/"
    for url in urls:
        question = ServerQuestion("c1", f"Open {url}", server="raw", url=url)
        card = cards.card_for(QuestionRow(key, question), ChatStyle(LIGHT))
        shown = [part.text().replace("\u200b", "") for part in card.findChildren(QLabel)]
        assert {url, f"Open {url}"} <= set(shown)
        assert cards.card_for(QuestionRow(key, question, "1 of 2"), ChatStyle(LIGHT)) is card
    cards.clear()


async def test_a_page_is_opened_by_a_click_alone(qapp: QApplication, tmp_path: Path) -> None:
    """The whole address is on the card before; the server gets the consent."""
    with use_browser() as browser:
        async with window_with_calls(qapp, tmp_path, raw_server("recent"), asking(PAGE)) as rig:
            card = await shown_card(rig)
            assert PAGE["url"] in words_of(card)
            assert browser.addresses == []
            await press_until_answered(rig, card.accept)
            await rig.wait_for_turn_end()
            assert browser.addresses == [PAGE["url"]]
            assert server_got(rig) == {"action": "accept"}
