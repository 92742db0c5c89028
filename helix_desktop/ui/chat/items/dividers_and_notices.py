"""How the program's own rows look: dividers and notices."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from helix_desktop.ui.chat.actions import (
    ButtonAction,
    Redo,
    RowAction,
    ShowGuide,
    ToggleSection,
    Undo,
    button_name,
)
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import (
    BUTTON_HEIGHT,
    ChipStyle,
    HitArea,
    PaintState,
    button_width,
    chip_width,
    paint_box,
    paint_button,
    paint_chip,
    paint_icon,
)
from helix_desktop.ui.chat.markdown.parser import (
    Code,
    DisplayedFormula,
    MarkdownParser,
    Paragraph,
    Prose,
    Span,
    Table,
)
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, new_document
from helix_desktop.ui.chat.rows.row_texts import divider_text
from helix_desktop.ui.chat.rows.row_types import TOPICS, DividerKind, DividerRow, NoticeRow
from helix_desktop.ui.chat.style import BODY, MEDIUM, SMALL, TINY, UI
from helix_desktop.words.action_labels import action_label
from helix_desktop.words.rewrite_explanations import explain_cached, explain_compacted
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


def _button(action: ButtonAction) -> tuple[str, ButtonAction, str]:
    """Return object name, action and label of a button."""
    name = button_name(action)
    return f"action:{name}", action, action_label(name)


def _details_button(*, is_expanded: bool) -> tuple[str, RowAction, str]:
    """Return object name, action and label of the button that shows what is left out at first."""
    return _DETAILS, ToggleSection("details"), tr("Hide details") if is_expanded else tr("Show details")


_DIVIDER_ICONS: dict[DividerKind, str] = {
    "past": "history",
    "handover": "layers",
    "sweep": "zap",
    "fold": "list-tree",
    "left_out": "scissors",
    "observations": "eye",
    "form": "replace",
    "exclude": "eye-off",
    "pin": "pin",
    "budget": "gauge",
    "interrupted": "pause",
    "attempt": "rotate-ccw",
    "mode": "shield",
    "model": "cpu",
    "policy": "filter",
    "hold": "pause",
    "resume": "play",
    "files": "diff",
    "instructions": "book-open",
    "branch": "git-branch",
    "changes": "file-pen",
    "revert": "undo-2",
    "redo": "redo-2",
}
_EXPLANATIONS: dict[str, Callable[[], str]] = {
    "cached": explain_cached,
    "compacted": explain_compacted,
}
"""What a topic of the guide says in one sentence."""
_EXPLAIN = "explain:chip"


class DividerItem(RowItem):
    """A dashed line across the column, with a chip in its middle and small action buttons next to it."""

    def __init__(self, row: DividerRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._divider = row
        document = new_document(self.style.font(TINY, MEDIUM))
        document.setPlainText(divider_text(row))
        self._label = TextLayout(self.style, document, self._style().color)
        self._chip = QRectF()
        self._middle = 0.0
        self._span = (0.0, 0.0)
        self._is_expanded = "details" in context.expanded
        details = row.details if self._is_expanded else ()
        muted = self.style.theme.muted
        self._set_texts([self._label, *(paragraph_layout(text, tools, muted, UI) for text in details)])

    def _style(self) -> ChipStyle:
        theme, row = self.style.theme, self._divider
        if row.is_undone:
            return ChipStyle(theme.muted, theme.raised, theme.border, "undo-2")
        glyph = _DIVIDER_ICONS[row.kind]
        if row.is_quiet:
            return ChipStyle(theme.faint, "", "", glyph)
        if row.kind in ("interrupted", "left_out"):
            return ChipStyle(theme.warn, theme.warn_soft, "", glyph)
        return ChipStyle(theme.accent_text, theme.accent_soft, "", glyph)

    def _arrange(self, width: float) -> float:
        style = self.style
        # Undo changes the words of chip and button: there is room for either, so that no button moves.
        is_reversible = any(isinstance(action, Undo | Redo) for action in self._divider.actions)
        turned = replace(self._divider, is_undone=not self._divider.is_undone)
        words = self._label.text(), *([divider_text(turned)] if is_reversible else [])
        wide, *other = (min(width - 8, chip_width(style, text, self._style()) + 1) for text in words)
        room = max((wide, *other))
        tall = max(style.px(23), self._label.layout(wide - style.px(9 + 15 + 9)) + style.px(8))
        buttons = self._buttons()
        widths = [self._button_width(action, label) for _, action, label in buttons]
        buttons_width = sum(widths) + (style.px(6) if widths else 0)
        same_line = room + buttons_width <= width - style.px(48)
        left = (width - room - buttons_width) / 2 + room - wide if same_line else (width - wide) / 2
        self._chip = QRectF(left, style.px(5), wide, tall)
        self._middle = self._chip.center().y()
        self._label.x, self._label.y = left + style.px(9 + 15), self._middle - self._label.height / 2
        x = self._chip.right() + style.px(6) if same_line else (width - buttons_width) / 2
        y = self._chip.y() if same_line else self._chip.bottom() + style.px(3)
        self.hit_areas = self._explanation()
        for (name, action, label), button_room in zip(buttons, widths, strict=True):
            rect = QRectF(x, y - 0.5, button_room, tall + 1)
            self.hit_areas.append(HitArea(name, action, label, rect, radius=7))
            x += button_room
        self._span = (left, x if same_line else self._chip.right())
        return self._arrange_details(y + tall + style.px(5), width)

    def _button_width(self, action: RowAction, label: str) -> float:
        """Return how wide a button is, pixels; Undo and Redo are equally wide."""
        is_turn = isinstance(action, Undo | Redo)
        labels = [action_label("undo"), action_label("redo")] if is_turn else [label]
        font = self.style.font(SMALL)
        return max(self.style.width(text, font) for text in labels) + self.style.px(16)

    def _explanation(self) -> list[HitArea]:
        """Return the chip as a button that explains its word; empty where it has none."""
        topic = TOPICS.get(self._divider.kind, "")
        if not topic:
            return []
        tip = f"{_EXPLANATIONS[topic]()}\n{tr('Click to learn more')}"
        return [HitArea(_EXPLAIN, ShowGuide(topic), tr("What is this?"), self._chip, radius=8, tip=tip)]

    def _buttons(self) -> list[tuple[str, RowAction, str]]:
        """Return name, action and label of each button."""
        buttons: list[tuple[str, RowAction, str]] = [_button(action) for action in self._divider.actions]
        if self.context.explains:
            topic = self._divider.first_of
            buttons.insert(0, (f"what_is:{topic}", ShowGuide(topic), tr("What is this?")))
        if self._divider.details:
            buttons.append(_details_button(is_expanded=self._is_expanded))
        return buttons

    def _arrange_details(self, y: float, width: float) -> float:
        style = self.style
        for text in self.texts[1:]:
            text.x, text.y = style.px(14), y + style.px(3)
            y = text.y + text.layout(width - style.px(14)) + style.px(5)
        return y

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        chat_style = self.style
        style = self._style()
        color = chat_style.color(style.color).toRgb()
        color.setAlphaF(0.42)
        pen = QPen(color, 1)
        pen.setDashPattern([3, 4])
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        y = round(self._middle) + 0.5
        left, right = self._span[0] - 10, self._span[1] + 10
        for start, end in ((0.0, left), (right, self.width)):
            if end - start > 8:  # noqa: PLR2004 - shorter is a speck, not a line
                painter.drawLine(round(start), round(y), round(end), round(y))
        paint_chip(painter, chat_style, self._chip, "", style)
        self._label.paint(painter, state.clip, state.marks_of(self._label))
        for area in self.hit_areas:
            if area.name != _EXPLAIN:
                paint_button(painter, chat_style, area, state, "ghost")
        for text in self.texts[1:]:
            painter.fillRect(
                QRectF(0, text.y, 2, text.height), chat_style.color(chat_style.theme.border_strong)
            )
            text.paint(painter, state.clip, state.marks_of(text))


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
        """Return name, action and label of each button."""
        buttons: list[tuple[str, RowAction, str]] = [_button(action) for action in self._notice.actions]
        if self._notice.details:
            buttons.append(_details_button(is_expanded=self._is_expanded))
        return buttons

    def _paint(self, painter: QPainter, state: PaintState) -> None:
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
        paint_box(painter, QRectF(0, 0, self.width, self.height), style.color(fill), edge, 10)
        side = style.px(17)
        middle = self.texts[0].y + self.texts[0].line_rect(0).height() / 2
        mark = QRectF(style.px(_PAD), middle - side / 2, side, side)
        paint_icon(painter, style, _LEVELS[self._notice.level], color, mark)
        for text in self.texts:
            text.paint(painter, state.clip, state.marks_of(text))
        for area in self.hit_areas:
            paint_button(painter, style, area, state, "ghost" if area.name == _DETAILS else "outline")
