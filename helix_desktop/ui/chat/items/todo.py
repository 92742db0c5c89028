"""The agent's list of what is to be done, as a card: ticks, what it works on, and how much is done."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.domain.todo import TodoItem, current_item
from helix_desktop.ui.chat.actions import ToggleSection
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import HitArea, PaintState, paint_box, paint_icon, paint_line
from helix_desktop.ui.chat.markdown.parser import Paragraph, Prose, Span
from helix_desktop.ui.chat.rows.row_texts import todo_progress_text
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.style import MEDIUM, SEMIBOLD, SMALL, UI
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_LINE = 40.0  # pixels, the card's first line
_LEFT, _RIGHT = 38.0, 14.0
_GAUGE, _ARROW = 84.0, 36.0
ITEM_ICONS = {"done": "circle-check", "in_progress": "circle-dot", "pending": "circle"}


def item_color(item: TodoItem, theme: Theme) -> str:
    """Return the color of an item's sign."""
    return {"done": theme.ok, "in_progress": theme.accent, "pending": theme.faint}[item.status]


def item_text(item: TodoItem) -> str:
    """Return an item for screen readers, which do not see its icon."""
    content = escape_invisible(item.content)
    match item.status:
        case "done":
            return tr("Done: {item}", item=content)
        case "in_progress":
            return tr("In progress: {item}", item=content)
        case "pending":
            return tr("To do: {item}", item=content)


def done_ratio(items: Sequence[TodoItem]) -> float:
    """Return how much of a list is done, from 0 to 1."""
    return sum(item.status == "done" for item in items) / len(items) if items else 0.0


class TodoCard(RowItem):
    """The card of one call that wrote the list: the newest one open, those before it one line each."""

    def __init__(self, row: ToolRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._tool = row
        self._is_open = ("card" in context.expanded) != row.starts_open
        theme = self.style.theme
        self._about = escape_invisible(current_item(row.todo)) if not self._is_open else ""
        if self._is_open:
            colors = {"done": theme.muted, "in_progress": theme.text, "pending": theme.text}
            self._set_texts(
                [
                    tools.writer.write_prose(
                        Prose((Paragraph((Span(escape_invisible(item.content)),)),)), colors[item.status], UI
                    )
                    for item in row.todo
                ]
            )

    def accessible_text(self) -> str:
        """Return the items of an open list."""
        return "\n".join(map(item_text, self._tool.todo)) if self._is_open else ""

    def _arrange(self, width: float) -> float:
        style = self.style
        progress = todo_progress_text(self._tool.todo)
        label = tr("Show to-do list, {progress}", progress=progress)
        if self._is_open:
            label = tr("Hide to-do list, {progress}", progress=progress)
        self.hit_areas = [
            HitArea(
                "open:card", ToggleSection("card"), label, QRectF(0, 0, width, style.px(_LINE)), radius=10
            )
        ]
        y = style.px(_LINE)
        for text in self.texts:
            text.x, text.y = style.px(_LEFT), y
            y += text.layout(width - style.px(_LEFT + _RIGHT)) + style.px(7)
        return y + style.px(6) if self.texts else y

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        style, theme = self.style, self.style.theme
        card = QRectF(0, 0, self.width, self.height)
        hovered = state.hovered == self.hit_areas[0].name and not self._is_open
        paint_box(
            painter,
            card,
            style.color(theme.row_hover if hovered else theme.surface),
            style.color(theme.border),
            10,
        )
        self._paint_head(painter)
        for item, text in zip(self._tool.todo, self.texts, strict=False):
            side = style.px(15)
            place = QRectF(style.px(14), text.y + style.px(2.5), side, side)
            paint_icon(painter, style, ITEM_ICONS[item.status], item_color(item, theme), place)
            text.paint(painter, state.clip, state.marks_of(text))

    def _paint_head(self, painter: QPainter) -> None:
        style, theme, items = self.style, self.style.theme, self._tool.todo
        side, line = style.px(15), style.px(_LINE)
        paint_icon(painter, style, "list", theme.muted, QRectF(14, (line - side) / 2, side, side))
        title, name, words = style.font(UI, SEMIBOLD), tr("To do"), todo_progress_text(items)
        left = style.px(_LEFT)
        wide = style.width(name, title) + 1
        paint_line(painter, style, QRectF(left, 0, wide, line), name, title, theme.text)
        arrow = "chevron-down" if self._is_open else "chevron-right"
        corner = QRectF(self.width - style.px(29), (line - side) / 2, side, side)
        paint_icon(painter, style, arrow, theme.faint, corner)
        small = style.font(SMALL, MEDIUM)
        room = style.width(words, small) + 1
        right = self.width - style.px(_ARROW)
        paint_line(painter, style, QRectF(right - room, 0, room, line), words, small, theme.muted)
        right -= room + style.px(10)
        right = self._paint_gauge(painter, right, line / 2)
        left += wide + style.px(9)
        if self._about and right - left > style.px(24):
            rest = QRectF(left, 0, right - left - style.px(12), line)
            paint_line(painter, style, rest, self._about, style.font(SMALL), theme.muted)

    def _paint_gauge(self, painter: QPainter, right: float, middle: float) -> float:
        style, theme = self.style, self.style.theme
        bar = QRectF(right - style.px(_GAUGE), middle - style.px(2.5), style.px(_GAUGE), style.px(5))
        paint_box(painter, bar, style.color(theme.seg_free), None, bar.height() / 2)
        share = done_ratio(self._tool.todo)
        if share:
            full = QRectF(bar.x(), bar.y(), max(bar.height(), bar.width() * share), bar.height())
            paint_box(painter, full, style.color(theme.ok), None, bar.height() / 2)
        return bar.x()
