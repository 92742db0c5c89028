"""A row that can't be shown as it is."""

from __future__ import annotations

from helix_desktop.ui.chat.items.assistant_message import AssistantMessageItem
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import AssistantRow, Row


class PlainRowItem(AssistantMessageItem):
    """The words of a row below a line that says why they look like that.

    What the row offers to click is gone with its looks; the rest of the window offers the same.
    """

    def __init__(self, row: Row, context: ItemContext, tools: ItemTools) -> None:
        text = text_of_row(row)
        super().__init__(AssistantRow(row.key, text), context, tools, LazyMarkdown(text, is_plain=True))
        self.row = row

    def try_update(self, row: AssistantRow) -> bool:
        """Words that change are shown by another item."""
        return False
