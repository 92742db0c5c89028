"""Keeps a click or key that was meant for something else from answering a card that just came."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from helix_desktop.ui.chat.actions import AnswerQuestion, Decide, RowAction
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.rows.row_types import AskRow

SETTLE_S = 0.4
"""Seconds that a card has to stand still before it takes an answer."""


class ApprovalClickGuard(QObject):
    """Notes when cards that ask arrive, or move up because a row above them goes. `now` gives seconds."""

    def __init__(self, model: ChatModel, now: Callable[[], float]) -> None:
        super().__init__(model)
        self._model, self._now = model, now
        self._shown_since: dict[RowKey, float] = {}
        model.rows_reset.connect(self._reset)
        model.row_added.connect(self._note_cards)
        model.row_removed.connect(self._note_cards)

    def accepts(self, key: RowKey, action: RowAction) -> bool:
        """Return False for an answer to a card that came a moment ago."""
        settled = self._now() - self._shown_since.get(key, float("-inf")) >= SETTLE_S
        return settled or not isinstance(action, Decide | AnswerQuestion)

    def _reset(self) -> None:
        self._shown_since.clear()
        self._note_cards(0)

    def _note_cards(self, index: int) -> None:
        """Note the cards from an index on."""
        rows = self._model.raw_rows()
        for at in range(index, len(rows)):
            if isinstance(rows[at], AskRow):
                self._shown_since[rows[at].key] = self._now()
