"""The rows of a conversation in their viewport: whose answers wait, and where the user spoke."""

from __future__ import annotations

from PySide6.QtWidgets import QScrollBar

from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.rows.row_types import UserRow
from helix_desktop.ui.chat.style import BOTTOM_GAP, ChatStyle
from helix_desktop.ui.chat.viewport.item_cache import ItemCache
from helix_desktop.ui.rows.row_widget import RowArea
from helix_desktop.ui.rows.viewport import ListViewport


class ChatViewport(ListViewport):
    """Follows the model."""

    def __init__(self, model: ChatModel, item_cache: ItemCache, viewport: RowArea, bar: QScrollBar) -> None:
        super().__init__(item_cache, viewport, bar, BOTTOM_GAP, follows_end=True)
        self.model, self.item_cache = model, item_cache

    @property
    def style(self) -> ChatStyle:
        return self.item_cache.style

    def px(self, size: float) -> float:
        return self.style.px(size)

    def item(self, index: int) -> RowItem:
        item = super().item(index)
        assert isinstance(item, RowItem)
        return item

    def show_own_message(self, direction: int) -> None:
        """Bring the user's next (1) or previous (-1) message to the top; behind the last one, the end."""
        top, placed = self.style.px(8), self.scroll_layout.placed
        if direction < 0:
            above = [row.row_index for row in placed if row.y < top - 1]
            indexes = range(above[-1] if above else placed[0].row_index - 1, -1, -1) if placed else range(0)
        else:
            first = next((row.row_index for row in placed if row.y > top + 1), len(self.model))
            indexes = range(first, len(self.model))
        rows = self.model.raw_rows()
        found = next((index for index in indexes if isinstance(rows[index], UserRow)), None)
        if found is not None:
            self.show_row(found)
        elif direction > 0:
            self.go_to_end()

    def show_ask(self, index: int) -> None:
        """Show a card that waits from its top or, where it is too tall, with its buttons."""
        self.show_row(index)
        self.show_answers(index)

    def show_answers(self, index: int) -> None:
        """Bring the end of a row's buttons into sight, and as much above them as there is room for."""
        areas = self.item(index).hit_areas
        if areas:
            self.ensure_visible(index, max(areas, key=lambda area: area.rect.bottom()))
