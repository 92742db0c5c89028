"""Carries changes of the model to the viewport; arriving text at most every 33 ms."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer

from helix_desktop.ui.chat.items.assistant_message import AssistantMessageItem
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.chat.viewport.item_cache import HEIGHT_ESTIMATES

FLUSH_MS = 33
_PAUSE_FACTOR = 4  # a flush that costs n ms is followed by a pause of at least 4 n ms


class ModelUpdates(QObject):
    """Listens to the model of a viewport for as long as the viewport lives."""

    def __init__(self, chat_viewport: ChatViewport) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport = chat_viewport
        self._pending_keys: set[RowKey] = set()
        self._pause_ms = FLUSH_MS
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.flush)
        model = chat_viewport.model
        model.row_added.connect(self._on_row_added)
        model.row_removed.connect(self._on_row_removed)
        model.rows_changed.connect(self._on_rows_changed)
        model.row_streamed.connect(self._on_row_streamed)

    def flush(self) -> None:
        """Render the text that has arrived."""
        start = time.perf_counter()
        waiting, self._pending_keys = self._pending_keys, set()
        for key in waiting:
            index = self._chat_viewport.model.index_of(key)
            if index is not None and self._update_in_place(index, key):
                self._repaint(key)
        if waiting:
            self._chat_viewport.refresh()
        spent_ms = (time.perf_counter() - start) * 1000
        self._pause_ms = max(FLUSH_MS, round(spent_ms * _PAUSE_FACTOR))

    def _on_row_added(self, index: int) -> None:
        viewport = self._chat_viewport
        viewport.scroll_layout.insert(index, HEIGHT_ESTIMATES[type(viewport.model.raw_row(index))])
        if not viewport.is_following:
            viewport.unseen_count += 1
        viewport.refresh()

    def _on_row_removed(self, index: int) -> None:
        self._chat_viewport.scroll_layout.remove(index)
        self._chat_viewport.unseen_count = max(0, self._chat_viewport.unseen_count - 1)
        self._chat_viewport.refresh()

    def _on_rows_changed(self, indexes: list[int]) -> None:
        for index in indexes:
            key = self._chat_viewport.model.raw_row(index).key
            if not self._update_in_place(index, key):
                self._chat_viewport.item_cache.drop(key)
            self._repaint(key)
        self._chat_viewport.refresh()

    def _on_row_streamed(self, index: int, _delta: str) -> None:
        self._pending_keys.add(self._chat_viewport.model.raw_row(index).key)
        if not self._timer.isActive():
            self._timer.start(self._pause_ms)

    def _update_in_place(self, index: int, key: RowKey) -> bool:
        """Let the item of an answer grow in place; False when it has to be created again."""
        row = self._chat_viewport.model.row(index)
        item = self._chat_viewport.item_cache.find(key)
        if not (isinstance(row, AssistantRow) and isinstance(item, AssistantMessageItem)):
            return False
        try:
            return item.try_update(row)
        except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
            self._chat_viewport.column.show_plain(index, error)
            return True

    def _repaint(self, key: RowKey) -> None:
        widget = self._chat_viewport.widget_pool.visible.get(key)
        if widget is not None:
            widget.update()
