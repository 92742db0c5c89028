"""Keeps a click or key that was meant for something else from answering a card that just came."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from helix_desktop.ui.chat.actions import AllowAllOnce, AnswerQuestion, Decide, RowAction
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import AskRow
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport

SETTLE_S = 0.4
"""Seconds that a card has to stand still before it takes an answer."""


class ApprovalClickGuard(QObject):
    """Notes when cards that ask arrive, move, or get more room to be seen in. `now` gives seconds."""

    def __init__(self, chat_viewport: ChatViewport, clock: Callable[[], float]) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport, self._model, self._clock = chat_viewport, chat_viewport.model, clock
        self._shown_since: dict[RowKey, float] = {}
        self._places: dict[RowKey, tuple[int, ...]] = {}
        self._still_since: dict[RowKey, float] = {}  # of cards that have moved
        model = self._model
        chat_viewport.layout_changed.connect(self._note_moves)
        model.rows_reset.connect(self._reset)
        model.row_added.connect(self._note_cards)
        model.row_removed.connect(self._note_cards)

    def accepts(self, key: RowKey, action: RowAction) -> bool:
        """Return False for an answer to a card that came a moment ago."""
        settled = self._clock() - self._shown_since.get(key, float("-inf")) >= SETTLE_S
        return settled or not isinstance(action, Decide | AllowAllOnce | AnswerQuestion)

    def accepts_click(self, key: RowKey, action: RowAction) -> bool:
        """Return False for a click on a card that came, or moved under the pointer, a moment ago."""
        settled = self._clock() - self._still_since.get(key, float("-inf")) >= SETTLE_S
        return self.accepts(key, action) and (settled or not isinstance(action, Decide | AllowAllOnce))

    def _note_moves(self) -> None:
        """Note the cards whose answers are new, lie elsewhere on the screen, or come out at an edge."""
        places: dict[RowKey, tuple[int, ...]] = {}
        for key, widget in self._chat_viewport.widget_pool.visible.items():
            areas = widget.item.hit_areas if widget.item is not None else []
            buttons = [area.rect for area in areas if isinstance(area.action, Decide | AllowAllOnce)]
            if buttons:
                tops = (round(widget.mapToGlobal(rect.topLeft()).y()) for rect in buttons)
                places[key] = self._chat_viewport.column.height, *tops
                if self._places.get(key, places[key]) != places[key]:
                    self._still_since[key] = self._clock()
        self._places = places

    def _reset(self) -> None:
        self._shown_since.clear()
        self._still_since.clear()
        self._note_cards(0)

    def _note_cards(self, index: int) -> None:
        """Note the cards from an index on."""
        rows = self._model.raw_rows()
        for at in range(index, len(rows)):
            if isinstance(rows[at], AskRow):
                self._shown_since[rows[at].key] = self._clock()
