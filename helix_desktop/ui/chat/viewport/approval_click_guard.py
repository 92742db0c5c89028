"""Keeps a click or key that was meant for something else from answering a card that just came."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPointF
from PySide6.QtGui import QGuiApplication

from helix_desktop.ui.chat.actions import AllowAllOnce, AnswerQuestion, Decide, RowAction
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import AskRow
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport

SETTLE_S = 0.4
"""Seconds that a card has to stand still before it takes an answer."""
REST_S = 2.0
"""Seconds that it takes none from a pointer that still rests where it answered another card."""


class ApprovalClickGuard(QObject):
    """Notes when cards that ask arrive, move, or get more room to be seen in. `now` gives seconds."""

    def __init__(self, chat_viewport: ChatViewport, clock: Callable[[], float]) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport, self._model, self._clock = chat_viewport, chat_viewport.model, clock
        self._shown_since: dict[RowKey, float] = {}
        self._places: dict[RowKey, tuple[int, ...]] = {}
        self._still_since: dict[RowKey, float] = {}  # of cards that have moved
        self._answered: tuple[RowKey, QPointF] | None = None  # by a click, whose pointer rests
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
        """Return False for a click on a card that came, or moved under the pointer, a moment ago.

        A second click meant for the card before is refused for longer, unless the pointer has moved.
        """
        if not isinstance(action, Decide | AllowAllOnce):
            return self.accepts(key, action)
        rests = self._answered is not None and self._answered[0] != key
        still_since = self._still_since.get(key, float("-inf"))
        if rests:
            still_since = max(still_since, self._shown_since.get(key, float("-inf")))
        settled = self._clock() - still_since >= (REST_S if rests else SETTLE_S)
        return self.accepts(key, action) and settled

    def note_click(self, key: RowKey, action: RowAction, at: QPointF) -> None:
        """Note an answer by a click, at a point of the screen."""
        if isinstance(action, Decide | AllowAllOnce):
            self._answered = key, at

    def note_move(self, at: QPointF) -> None:
        """Note where the pointer is: elsewhere, it answers what it points at."""
        if self._answered is not None:
            moved_px = (at - self._answered[1]).manhattanLength()
            if moved_px >= QGuiApplication.styleHints().startDragDistance():
                self._answered = None

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
        rows = self._model.raw_rows()
        for at in range(index, len(rows)):
            if isinstance(rows[at], AskRow):
                self._shown_since[rows[at].key] = self._clock()
