"""A question as a row of the chat: real widgets fill it, so that they type, read and tab as elsewhere."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QPainter

from helix_desktop.domain.question import QuestionReply
from helix_desktop.ui.chat.actions import AnswerQuestion, FocusField
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import HitArea, PaintState
from helix_desktop.ui.chat.questions.question_card import QuestionCard
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import QuestionRow
from helix_desktop.ui.chat.style import ChatStyle


class QuestionCards(QObject):
    """The cards of the questions in the chat: they outlive the items of their rows, with what is typed."""

    answered = Signal(object, object)
    """The key of the row, and the AnswerQuestion."""
    resized = Signal(object)
    """The key of a row that needs another height."""
    marked = Signal(str)
    """What screen readers are to say."""

    def __init__(self) -> None:
        super().__init__()
        self._cards: dict[RowKey, QuestionCard] = {}

    def card_for(self, row: QuestionRow, style: ChatStyle) -> QuestionCard:
        card = self._cards.get(row.key)
        if card is not None:
            card.show_row(row, style)
            return card
        card = self._cards[row.key] = QuestionCard(row, style)
        key, call_id = row.key, row.question.call_id

        def answer(reply: QuestionReply) -> None:
            self.answered.emit(key, AnswerQuestion(call_id, reply))

        card.answered.connect(answer)
        card.resized.connect(lambda: self.resized.emit(key))
        card.marked.connect(self.marked)
        return card

    def find(self, key: RowKey) -> QuestionCard | None:
        return self._cards.get(key)

    @property
    def keys(self) -> tuple[RowKey, ...]:
        return tuple(self._cards)

    def drop(self, key: RowKey) -> None:
        card = self._cards.pop(key, None)
        if card is not None:
            card.hide()
            card.deleteLater()

    def clear(self) -> None:
        for key in tuple(self._cards):
            self.drop(key)


class QuestionItem(RowItem):
    """The place of a card among the rows."""

    def __init__(
        self, row: QuestionRow, context: ItemContext, tools: ItemTools, cards: QuestionCards
    ) -> None:
        super().__init__(row, context, tools)
        self.widget = self._card = cards.card_for(row, tools.style)

    def accessible_text(self) -> str:
        """Return nothing: the card's widgets tell it."""
        return ""

    def _arrange(self, width: float) -> float:
        height = self._card.fit(round(width))
        self.backward_entry = self._card.stops[0].objectName()  # where its keys work, as on an approval
        self.hit_areas = [
            HitArea(stop.objectName(), FocusField(stop.objectName()), stop.accessibleName(), place)
            for stop, place in self._card.stop_places()
        ]
        return height

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        """Leave the painting to the card."""
