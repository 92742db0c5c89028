"""How the program's own rows look: approvals, dividers and notices."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QTextCharFormat, QTextCursor

from helix_desktop.ui.chat.look import BODY, MEDIUM, SEMIBOLD, SMALL, UI
from helix_desktop.ui.chat.markdown import Leaf, Prose, Span
from helix_desktop.ui.chat.paint import (
    BUTTON_HEIGHT,
    ButtonStyle,
    ChipStyle,
    Hot,
    Paint,
    box,
    button,
    button_width,
    chip,
    chip_width,
    icon,
    line_of_text,
)
from helix_desktop.ui.chat.plain import reveal
from helix_desktop.ui.chat.rows import ApprovalRow, DividerKind, DividerRow, NoticeRow
from helix_desktop.ui.chat.sheet import Setting, Sheet, Studio
from helix_desktop.ui.chat.text_piece import TextPiece

_PAD = 16.0
_DECISIONS = (("once", "Once"), ("always", "Always in this workspace"), ("deny", "Deny"))
_MOST_DETAIL_LINES = 60


def action_label(action: str) -> str:
    """The words on an action's button."""
    words = action.replace("_", " ").replace("-", " ")
    return words[:1].upper() + words[1:]


def _paragraph(text: str, studio: Studio, color: str, size: int, bold: bool = False) -> TextPiece:
    leaf = Leaf((Span(text, bold=bold),))
    return studio.writer.prose(Prose((leaf,)), color, size)


class ApprovalSheet(Sheet):
    """Asks the person: what, exactly what, and exactly what "always" would save. Enter decides nothing."""

    def __init__(self, row: ApprovalRow, setting: Setting, studio: Studio) -> None:
        super().__init__(row, setting, studio)
        self._approval = row
        theme = self.look.theme
        self._summary = _paragraph(reveal(row.summary), studio, theme.text, BODY)
        self._detail = studio.writer.plain(self._shown_detail(), mono=True)
        self._rule = studio.writer.plain(reveal(row.rule), mono=True, size=SMALL)
        self._color_diff()
        self.texts = [self._summary, self._detail, self._rule]
        self._well = QRectF()
        self._rule_label = QRectF()

    def _shown_detail(self) -> str:
        lines = reveal(self._approval.detail).rstrip("\n").split("\n")
        if len(lines) > _MOST_DETAIL_LINES and "detail" not in self.setting.opened:
            return "\n".join(lines[:_MOST_DETAIL_LINES])
        return "\n".join(lines)

    def _hidden(self) -> int:
        lines = self._approval.detail.rstrip("\n").count("\n") + 1
        return 0 if "detail" in self.setting.opened else max(0, lines - _MOST_DETAIL_LINES)

    def _color_diff(self) -> None:
        lines = self._approval.detail.split("\n")
        if not any(line.startswith(("@@", "--- ", "+++ ")) for line in lines):
            return
        theme = self.look.theme
        block = self._detail.document.begin()
        while block.isValid():
            sign = block.text()[:1]
            if sign in ("+", "-"):
                form = QTextCharFormat()
                form.setForeground(self.look.color(theme.ok if sign == "+" else theme.error))
                cursor = QTextCursor(block)
                cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
                cursor.setPosition(block.position())
                cursor.setPosition(block.position() + block.length() - 1, QTextCursor.MoveMode.KeepAnchor)
                cursor.mergeCharFormat(form)
            block = block.next()

    def _arrange(self, width: float) -> float:
        look = self.look
        pad = look.px(_PAD)
        inner = width - 2 * pad
        y = look.px(44)
        self._summary.x, self._summary.y = pad, y
        y += self._summary.layout(inner) + look.px(10)
        self.hots = []
        tall = self._detail.layout(inner - look.px(24)) + look.px(18)
        self._detail.x, self._detail.y = pad + look.px(12), y + look.px(9)
        if self._hidden():
            rect = QRectF(pad + 6, y + tall - 8, look.px(200), look.px(26))
            self.hots.append(Hot("open:detail", f"Show {self._hidden():,} more lines", rect, radius=6))
            tall += look.px(24)
        self._well = QRectF(pad, y, inner, tall)
        y = self._well.bottom() + look.px(12)
        self._rule_label = QRectF(pad, y, inner, look.px(18))
        y += look.px(20)
        self._rule.x, self._rule.y = pad, y
        y += self._rule.layout(inner) + look.px(14)
        return self._arrange_buttons(y, width) + look.px(15)

    def _arrange_buttons(self, y: float, width: float) -> float:
        look = self.look
        x, tall = look.px(_PAD), look.px(BUTTON_HEIGHT)
        for name, label in _DECISIONS:
            wide = button_width(look, label)
            if x + wide > width - look.px(_PAD) and x > look.px(_PAD):
                x, y = look.px(_PAD), y + tall + look.px(8)
            self.hots.append(Hot(f"decide:{name}", label, QRectF(x, y, wide, tall), enter=False, radius=8))
            x += wide + look.px(8)
        return y + tall

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        card = QRectF(0, 0, self.width, self.height)
        box(painter, card, look.color(theme.surface), look.color(theme.warn), 12)
        pad, side = look.px(_PAD), look.px(17)
        line = QRectF(pad + side + 9, look.px(12), self.width - 2 * pad - side - 9, look.px(24))
        icon(painter, look, "shield-alert", theme.warn, QRectF(pad, line.center().y() - side / 2, side, side))
        title = f"{self._approval.tool} needs your approval"
        line_of_text(painter, look, line, title, look.font(UI, SEMIBOLD), theme.warn)
        box(painter, self._well, look.color(theme.code_surface), look.color(theme.border), 8)
        words = "“Always in this workspace” saves exactly this rule:"
        line_of_text(painter, look, self._rule_label, words, look.font(SMALL), theme.faint)
        for text in self.texts:
            text.paint(painter, paint.clip, paint.marks_of(text))
        for hot in self.hots:
            if hot.name == "open:detail":
                rect = hot.rect.adjusted(6, 0, 0, 0)
                line_of_text(painter, look, rect, hot.label, look.font(SMALL, MEDIUM), theme.accent_text)
            else:
                style: ButtonStyle = "danger" if hot.name == "decide:deny" else "outline"
                button(painter, look, hot, paint, style)


_DIVIDER_ICONS: dict[DividerKind, str] = {
    "handover": "layers",
    "sweep": "zap",
    "fold": "list-tree",
    "left out": "scissors",
    "observations": "eye",
    "form": "replace",
    "pin": "pin",
    "budget": "gauge",
    "interrupted": "pause",
    "undone": "undo-2",
}


class DividerSheet(Sheet):
    """A dashed line across the column, with a chip in its middle and small actions beside it."""

    def __init__(self, row: DividerRow, setting: Setting, studio: Studio) -> None:
        super().__init__(row, setting, studio)
        self._divider = row
        self._words = f"{row.text} · undone" if row.undone and "undone" not in row.text else row.text
        self._chip = QRectF()
        self._middle = 0.0
        self._span = (0.0, 0.0)

    def _style(self) -> ChipStyle:
        theme, row = self.look.theme, self._divider
        if row.undone or row.kind == "undone":
            return ChipStyle(theme.muted, theme.raised, theme.border, "undo-2")
        glyph = _DIVIDER_ICONS[row.kind]
        if row.quiet:
            return ChipStyle(theme.faint, "", "", glyph)
        if row.kind in ("interrupted", "left out"):
            return ChipStyle(theme.warn, theme.warn_soft, "", glyph)
        return ChipStyle(theme.accent_text, theme.accent_soft, "", glyph)

    def _arrange(self, width: float) -> float:
        look = self.look
        tall = look.px(23)
        wide = min(width - 8, chip_width(look, self._words, self._style()))
        widths = [
            look.width(action_label(name), look.font(SMALL)) + look.px(16) for name in self._divider.actions
        ]
        beside = sum(widths) + (look.px(6) if widths else 0)
        same_line = wide + beside <= width - look.px(48)
        left = (width - wide - (beside if same_line else 0)) / 2
        self._chip = QRectF(left, look.px(5), wide, tall)
        self._middle = self._chip.center().y()
        x = self._chip.right() + look.px(6) if same_line else (width - beside) / 2
        y = self._chip.y() if same_line else self._chip.bottom() + look.px(3)
        self.hots = []
        for name, room in zip(self._divider.actions, widths, strict=True):
            rect = QRectF(x, y - 0.5, room, tall + 1)
            self.hots.append(Hot(f"action:{name}", action_label(name), rect, radius=7))
            x += room
        self._span = (left, x if same_line else self._chip.right())
        return y + tall + look.px(5)

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        look = self.look
        style = self._style()
        color = look.color(style.color).toRgb()
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
        chip(painter, look, self._chip, self._words, style)
        for hot in self.hots:
            button(painter, look, hot, paint, "ghost")


_LEVELS = {"error": "circle-alert", "warning": "triangle-alert", "info": "info"}


class NoticeSheet(Sheet):
    """What happened, why, and buttons for what can be done."""

    def __init__(self, row: NoticeRow, setting: Setting, studio: Studio) -> None:
        super().__init__(row, setting, studio)
        self._notice = row
        theme = self.look.theme
        self.texts = [_paragraph(row.what, studio, theme.text, BODY - 1, bold=True)]
        for words in (row.why, row.fix):
            if words:
                self.texts.append(
                    _paragraph(words, studio, theme.muted if words is row.why else theme.text, UI)
                )

    def _arrange(self, width: float) -> float:
        look = self.look
        left, y = look.px(_PAD + 17 + 10), look.px(12)
        for text in self.texts:
            text.x, text.y = left, y
            y += text.layout(width - left - look.px(_PAD)) + look.px(3)
        self.hots = []
        x, tall = left, look.px(BUTTON_HEIGHT)
        y += look.px(7) if self._notice.actions else 0
        for name in self._notice.actions:
            wide = button_width(look, action_label(name))
            if x + wide > width - look.px(_PAD) and x > left:
                x, y = left, y + tall + look.px(8)
            self.hots.append(Hot(f"action:{name}", action_label(name), QRectF(x, y, wide, tall), radius=8))
            x += wide + look.px(8)
        return y + (tall + look.px(14) if self._notice.actions else look.px(10))

    def _paint(self, painter: QPainter, paint: Paint) -> None:
        look, theme = self.look, self.look.theme
        color, fill = {
            "error": (theme.error, theme.error_soft),
            "warning": (theme.warn, theme.warn_soft),
            "info": (theme.accent_text, theme.accent_soft),
        }[self._notice.level]
        edge = look.color(color).toRgb()
        edge.setAlphaF(0.28)
        box(painter, QRectF(0, 0, self.width, self.height), look.color(fill), edge, 10)
        side = look.px(17)
        middle = self.texts[0].y + self.texts[0].line_rect(0).height() / 2
        mark = QRectF(look.px(_PAD), middle - side / 2, side, side)
        icon(painter, look, _LEVELS[self._notice.level], color, mark)
        for text in self.texts:
            text.paint(painter, paint.clip, paint.marks_of(text))
        for hot in self.hots:
            button(painter, look, hot, paint)
