"""The card of an MCP server's question without a window around it."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.domain.question import FormField, ServerQuestion
from helix_desktop.ui.chat.question_card import FormCards
from helix_desktop.ui.chat.rows.row_types import QuestionRow
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
