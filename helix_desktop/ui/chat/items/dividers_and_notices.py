"""How the program's own rows look: dividers and notices."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QRectF

from helix_desktop.ui.chat.actions import RowAction, ToggleSection, button_name
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import BUTTON_HEIGHT, ChatPainter, button_width
from helix_desktop.ui.chat.markdown.parser import (
    Code,
    DisplayedFormula,
    MarkdownParser,
    Paragraph,
    Prose,
    Span,
    Table,
)
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_texts import divider_text
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.chat.style import BODY, MEDIUM, SMALL, UI
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import Intent, Redo, Undo
from helix_desktop.words.action_labels import action_label
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_PAD = 16.0
_DETAILS = "open:details"


def paragraph_layout(text: str, tools: ItemTools, color: str, size: int, bold: bool = False) -> TextLayout:
    """Plain words as one paragraph, `size` in pixels."""
    leaf = Paragraph((Span(text, bold=bold),))
    return tools.writer.write_prose(Prose((leaf,)), color, size)


def _markdown_layout(text: str, tools: ItemTools, color: str) -> TextLayout:
    """Return Markdown as one text in the size of a card; code of several lines is one paragraph."""
    blocks = [block for part in MarkdownParser().parse(text) for block in part.blocks]
    leaves = [
        leaf
        for block in blocks
        for leaf in (
            block.paragraphs if isinstance(block, Prose) else (Paragraph((Span(_source(block), code=True),)),)
        )
    ]
    return tools.writer.write_prose(Prose(tuple(leaves)), color, UI)


def _source(block: Code | DisplayedFormula | Table) -> str:
    """Return code or a formula; a table has no place in a card."""
    match block:
        case Code():
            return block.text
        case DisplayedFormula():
            return block.source
        case Table():
            return ""


def _button(action: Intent) -> tuple[str, Intent, str]:
    """Return object name, action and label of a button."""
    name = button_name(action)
    return f"action:{name}", action, action_label(name)


def _details_button(*, is_expanded: bool) -> tuple[str, RowAction, str]:
    """Return object name, action and label of the button that shows what is left out at first."""
    return _DETAILS, ToggleSection("details"), tr("Hide details") if is_expanded else tr("Show details")


_BREAK = " · "


class DividerItem(RowItem):
    def __init__(self, row: DividerRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._divider = row
        theme = self.style.theme
        color = theme.faint if row.is_quiet else theme.warn if row.kind == "interrupted" else theme.muted
        self._label = paragraph_layout(divider_text(row), tools, color, SMALL)
        self._span = (0.0, 0.0)
        self._is_expanded = "details" in context.expanded
        details = row.details if self._is_expanded else ()
        self._set_texts([self._label, *(paragraph_layout(text, tools, theme.muted, UI) for text in details)])

    def _arrange(self, width: float) -> float:
        style, font = self.style, self.style.font(SMALL)
        # Undo changes the words: there is room for either, so that no link moves.
        turned = replace(self._divider, is_undone=not self._divider.is_undone)
        is_reversible = any(isinstance(action, Undo | Redo) for action in self._divider.actions)
        words = self._label.text(), *([divider_text(turned)] if is_reversible else [])
        wide, *other = (min(width - 8, style.width(text, font) + 2) for text in words)
        room, gap = max((wide, *other)), style.width(_BREAK, font)
        buttons = self._buttons()
        widths = [self._button_width(action, label) for _, action, label in buttons]
        is_one_line = room + sum(widths) + gap * len(widths) <= width - style.px(48)
        first = room + gap * len(widths) if is_one_line else gap * max(0, len(widths) - 1)
        left = (width - first - sum(widths)) / 2
        self._label.x = left + room - wide if is_one_line else (width - wide) / 2
        self._label.y = style.px(8)
        tall = self._label.layout(wide)
        x = left + room + gap if is_one_line else left
        line = style.px(20)
        y = self._middle - line / 2 if is_one_line else self._label.y + tall + style.px(3)
        self.hit_areas = []
        for (name, action, label), button_room in zip(buttons, widths, strict=True):
            rect = QRectF(x, y, button_room, line)
            tip = ""
            if isinstance(action, Undo) and len(action.seqs) > 1:
                tip = tr.plural(
                    len(action.seqs), "Undoes %n change", "Undoes %n changes that were made together"
                )
            self.hit_areas.append(HitArea(name, action, label, rect, radius=5, tip=tip))
            x += button_room + gap
        self._span = (self._label.x, x - gap if buttons and is_one_line else self._label.x + wide)
        below = y + line if buttons and not is_one_line else self._label.y + tall
        return self._arrange_details(below + style.px(8), width)

    @property
    def _middle(self) -> float:
        return self._label.y + self._label.line_rect(0).height() / 2

    def _button_width(self, action: RowAction, label: str) -> float:
        """Return how wide a link is, pixels; Undo and Redo are equally wide."""
        is_turn = isinstance(action, Undo | Redo)
        labels = [action_label("undo"), action_label("redo")] if is_turn else [label]
        return max(self.style.width(text, self.style.font(SMALL, MEDIUM)) + 1 for text in labels)

    def _buttons(self) -> list[tuple[str, RowAction, str]]:
        buttons: list[tuple[str, RowAction, str]] = [_button(action) for action in self._divider.actions]
        if self._divider.details:
            buttons.append(_details_button(is_expanded=self._is_expanded))
        return buttons

    def _arrange_details(self, y: float, width: float) -> float:
        style = self.style
        for text in self.texts[1:]:
            text.x, text.y = style.px(14), y + style.px(3)
            y = text.y + text.layout(width - style.px(14)) + style.px(5)
        return y

    def _paint(self, painter: ChatPainter) -> None:
        style, theme = self.style, self.style.theme
        left, right = (round(end) for end in (self._span[0] - style.px(16), self._span[1] + style.px(16)))
        middle = round(self._middle)
        for start, end in ((0, left), (right, round(self.width))):
            if end > start:
                painter.fill(QRectF(start, middle, end - start, 1), theme.border)
        painter.text(self._label)
        for area in self.hit_areas:
            color = theme.text if painter.is_active(area) else theme.accent_text
            painter.line(area.rect, area.label, style.font(SMALL, MEDIUM), color)
            if area.rect.x() > self._label.x + self._label.width or area is not self.hit_areas[0]:
                room = area.rect.translated(-style.width(_BREAK, style.font(SMALL)), 0)
                painter.line(room, _BREAK, style.font(SMALL), theme.faint)
        for text in self.texts[1:]:
            painter.fill(QRectF(0, text.y, 2, text.height), theme.border_strong)
            painter.text(text)


_LEVELS = {"error": "circle-alert", "warning": "triangle-alert", "info": "info", "handover": "layers"}


class NoticeItem(RowItem):
    """What happened, why, and buttons for what can be done; another program's words on request."""

    def __init__(self, row: NoticeRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._notice = row
        self._is_expanded = bool(row.details) and "details" in context.expanded
        theme = self.style.theme
        title = paragraph_layout(row.what, tools, theme.text, BODY - 1, bold=True)
        words = [(row.why, theme.muted), (row.fix, theme.text)]
        words += [(row.details, theme.muted)] if self._is_expanded else []
        texts = [paragraph_layout(text, tools, color, UI) for text, color in words if text]
        if row.level == "handover":
            content = row.details if self._is_expanded else row.fix
            why = paragraph_layout(row.why, tools, theme.muted, UI)
            texts = [why, *([_markdown_layout(content, tools, theme.text)] if content else [])]
        self._set_texts([title, *texts])

    def _arrange(self, width: float) -> float:
        style = self.style
        left, y = style.px(_PAD + 17 + 10), style.px(12)
        has_details = self._is_expanded and self._notice.level != "handover"  # there they are no afterthought
        sentences = self.texts[:-1] if has_details else self.texts
        for text in sentences:
            text.x, text.y = left, y
            y += text.layout(width - left - style.px(_PAD)) + style.px(3)
        self.hit_areas = []
        buttons = self._buttons()
        x, tall = left, style.px(BUTTON_HEIGHT)
        y += style.px(7) if buttons else 0
        for name, action, label in buttons:
            wide = button_width(style, label)
            if x + wide > width - style.px(_PAD) and x > left:
                x, y = left, y + tall + style.px(8)
            self.hit_areas.append(HitArea(name, action, label, QRectF(x, y, wide, tall), radius=8))
            x += wide + style.px(8)
        y += tall if buttons else 0
        if has_details:
            details = self.texts[-1]
            details.x, details.y = left, y + style.px(10)
            y = details.y + details.layout(width - left - style.px(_PAD))
        return y + style.px(14 if buttons else 10)

    def _buttons(self) -> list[tuple[str, RowAction, str]]:
        buttons: list[tuple[str, RowAction, str]] = [_button(action) for action in self._notice.actions]
        if self._notice.details:
            buttons.append(_details_button(is_expanded=self._is_expanded))
        return buttons

    def _paint(self, painter: ChatPainter) -> None:
        style, theme = self.style, self.style.theme
        color, fill = {
            "error": (theme.error, theme.error_soft),
            "warning": (theme.warn, theme.warn_soft),
            "info": (theme.accent_text, theme.accent_soft),
            "handover": (theme.accent_text, theme.surface),
        }[self._notice.level]
        edge = style.color(color).toRgb()
        edge.setAlphaF(0.28)
        if self._notice.level == "handover":
            edge = style.color(theme.border)
        painter.box(QRectF(0, 0, self.width, self.height), fill, edge, 10)
        middle = self.texts[0].y + self.texts[0].line_rect(0).height() / 2
        painter.icon(_LEVELS[self._notice.level], color, style.px(_PAD), middle, 17)
        for text in self.texts:
            painter.text(text)
        for area in self.hit_areas:
            painter.button(area, "ghost" if area.name == _DETAILS else "outline")
