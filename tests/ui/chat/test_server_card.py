"""The card of an MCP server's question without a window around it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from helix_desktop.domain.question import FormField, ServerQuestion, ServerReply
from helix_desktop.ui.chat.actions import AnswerQuestion, RowKey
from helix_desktop.ui.chat.question_card import FormCards
from helix_desktop.ui.chat.rows.row_types import QuestionRow
from helix_desktop.ui.design.buttons import Switch
from helix_desktop.ui.design.choice_fields import ComboBox
from tests.support.window.chat_geometry import row_key

_WIDTH_PX = 400


def test_a_form_asks_for_the_height_that_its_fields_take_once_they_are_shown(qtbot: QtBot) -> None:
    """Labels of several lines get their margins when they are shown: the card was measured before."""
    fields = tuple(FormField(f"{number}", "text", "A long title " * 8) for number in range(6))
    row = QuestionRow(row_key("form"), ServerQuestion("s", "What next?", server="releases", fields=fields))
    cards = FormCards()
    card = cards.card_for(row)
    qtbot.addWidget(card)
    before = card.fit(_WIDTH_PX)
    cards.resized.connect(lambda _: card.fit(_WIDTH_PX))
    card.show()
    layout = card.layout()
    assert layout is not None
    qtbot.waitUntil(lambda: card.height() > before)
    assert card.height() == layout.totalHeightForWidth(_WIDTH_PX)


def test_what_is_wrong_in_a_form_is_said_and_nothing_is_sent_until_it_is_right(qtbot: QtBot) -> None:
    fields = (
        FormField("name", "text", "Name of the <b>release</b>", is_required=True, least=2),
        FormField("mail", "text", "Contact", format="email"),
        FormField("copies", "integer", "Copies", default=2, least=1, most=9),
        FormField("region", "choice", "Region", is_required=True, choices=(("eu", "Europe"), ("us", "us"))),
        FormField("parts", "choices", "Parts", choices=(("api", "api"), ("web", "web"))),
        FormField("draft", "boolean", "As a draft"),
        FormField("password", "text", "Password", is_secret=True),
    )
    cards = FormCards()
    answers = list[AnswerQuestion]()
    cards.answered.connect(lambda _, answer: answers.append(answer))
    question = ServerQuestion("s", "What?", server="raw", fields=fields)
    card = cards.card_for(QuestionRow(row_key("form"), question))
    qtbot.addWidget(card)
    card.show()
    form = card.form
    card.accept.click()
    assert form.errors() == {"field:0": "Required.", "field:3": "Required."}
    for name, typed in (("field:0", "x"), ("field:1", "nobody"), ("field:2", "10")):
        form.line(name).selectAll()
        QTest.keyClicks(form.line(name), typed)
    region = form.controls["field:3"]
    part = form.controls["field:4"].findChild(Switch, "field:4:2")
    assert isinstance(region, ComboBox)
    assert isinstance(part, Switch)
    QTest.keyClick(region, Qt.Key.Key_Down)
    part.click()
    card.accept.click()
    assert form.errors() == {
        "field:0": "At least 2 characters.",
        "field:1": "Enter an email address.",
        "field:2": "At most 9.",
    }
    assert form.controls["field:5"].accessibleName() == "As a draft"
    assert form.rows["field:6"].note_text().startswith("Servers must not ask for passwords")
    for name, typed in (("field:0", "y"), ("field:1", "@example.org")):
        QTest.keyClick(form.line(name), Qt.Key.Key_End)
        QTest.keyClicks(form.line(name), typed)
    QTest.keyClick(form.line("field:2"), Qt.Key.Key_Backspace)
    assert answers == []
    card.accept.click()
    content = (
        ("name", "xy"), ("mail", "nobody@example.org"), ("copies", 1), ("region", "eu"), ("parts", ("web",)),
        ("draft", False),
    )  # fmt: skip
    assert [answer.reply for answer in answers] == [ServerReply(action="accept", content=content)]


def test_the_next_question_of_a_call_has_a_card_of_its_own(qapp: QApplication) -> None:
    """It is opened and sent what its own card says, also if the one before was still there."""
    cards = FormCards()
    key = RowKey(call_id="c1", part="approval")
    urls = "https://example.org/", "https://other.example/"
    for url in urls:
        question = ServerQuestion("c1", f"Open {url}", server="raw", url=url)
        card = cards.card_for(QuestionRow(key, question))
        shown = [part.text().replace("\u200b", "") for part in card.findChildren(QLabel)]
        assert {url, f"Open {url}"} <= set(shown)
        assert cards.card_for(QuestionRow(key, question, "1 of 2")) is card
    cards.drop(key)
