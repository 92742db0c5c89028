"""How a question to the person looks: what exactly, which rule an answer would save, and the answers."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QTextCharFormat, QTextCursor

from helix_desktop.domain.digest import ellipsize
from helix_desktop.domain.messages import display_name
from helix_desktop.ui.chat.items.dividers_and_notices import paragraph_layout
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import (
    BUTTON_HEIGHT,
    CHIP_HEIGHT,
    ButtonStyle,
    ChipStyle,
    HitArea,
    PaintState,
    button_width,
    chip_width,
    paint_box,
    paint_button,
    paint_chip,
    paint_icon,
    paint_line,
)
from helix_desktop.ui.chat.rows.row_types import OFFER_GROUP, ApprovalRow
from helix_desktop.ui.chat.style import BODY, MEDIUM, SEMIBOLD, SMALL, UI
from helix_desktop.ui.design.safe_text import escape_invisible

_PAD = 16.0
_ASKER = 32  # characters of a subagent's title
_MARK = 22.0  # of an offer, with the gap behind it
_LINES = (
    (("once", "Allow once"), ("session", "For this session"), ("always", "Always in this workspace")),
    (("deny", "Deny"), ("words", "Deny, and say why…"), ("never", "Never in this workspace")),
)
_MAX_DETAIL_LINES = 60
_ONE_RULE = "“Session”, “Always” and “Never” save this rule:"
_CHOICE = "“Session”, “Always” and “Never” save the rule chosen here:"


class ApprovalItem(RowItem):
    """Asks the person, and says what each answer would save. Enter decides nothing."""

    def __init__(self, row: ApprovalRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._approval = row
        theme, writer = self.style.theme, tools.writer
        self._summary = paragraph_layout(escape_invisible(row.summary), tools, theme.text, BODY)
        self._detail = writer.write_plain(self._visible_detail(), mono=True)
        self._offers = [
            writer.write_plain(escape_invisible(offer), mono=True, size=SMALL) for offer in row.offers
        ]
        self._rule_text = [
            paragraph_layout(f"A rule says: {escape_invisible(row.matched_rule)}.", tools, theme.muted, UI)
        ]
        self._rule_text = self._rule_text if row.matched_rule else []
        self._color_diff()
        self.texts = [self._summary, *self._rule_text, self._detail, *self._offers]
        self._well = QRectF()
        self._label = QRectF()
        self._marks: list[QRectF] = []

    @property
    def _selected_offer(self) -> int:
        """Which of the offers a longer answer would save."""
        group = f"{OFFER_GROUP}:"
        named = next((one for one in self.context.expanded if one.startswith(group)), f"{group}0")
        return min(int(named.removeprefix(group)), len(self._offers) - 1)

    def _visible_detail(self) -> str:
        lines = escape_invisible(self._approval.detail).rstrip("\n").split("\n")
        if len(lines) > _MAX_DETAIL_LINES and "detail" not in self.context.expanded:
            return "\n".join(lines[:_MAX_DETAIL_LINES])
        return "\n".join(lines)

    def _hidden_line_count(self) -> int:
        lines = self._approval.detail.rstrip("\n").count("\n") + 1
        return 0 if "detail" in self.context.expanded else max(0, lines - _MAX_DETAIL_LINES)

    def _color_diff(self) -> None:
        lines = self._approval.detail.split("\n")
        if not any(line.startswith(("@@", "--- ", "+++ ")) for line in lines):
            return
        theme = self.style.theme
        block = self._detail.document.begin()
        while block.isValid():
            sign = block.text()[:1]
            if sign in ("+", "-"):
                form = QTextCharFormat()
                form.setForeground(self.style.color(theme.ok if sign == "+" else theme.error))
                cursor = QTextCursor(block)
                cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
                cursor.setPosition(block.position())
                cursor.setPosition(block.position() + block.length() - 1, QTextCursor.MoveMode.KeepAnchor)
                cursor.mergeCharFormat(form)
            block = block.next()

    def _arrange(self, width: float) -> float:
        look, pad = self.style, self.style.px(_PAD)
        inner = width - 2 * pad
        self.hit_areas = []
        y = look.px(44)
        for text in (self._summary, *self._rule_text):
            text.x, text.y = pad, y
            y += text.layout(inner) + look.px(6)
        y = self._arrange_detail(y + look.px(4), inner)
        self._label = QRectF(pad, y, inner, look.px(18))
        y = self._arrange_offers(y + look.px(22), inner)
        for line in _LINES:
            y = self._arrange_buttons(line, y, width) + look.px(8)
        return y + look.px(7)

    def _arrange_detail(self, y: float, inner: float) -> float:
        look, pad = self.style, self.style.px(_PAD)
        tall = self._detail.layout(inner - look.px(24)) + look.px(18)
        self._detail.x, self._detail.y = pad + look.px(12), y + look.px(9)
        if self._hidden_line_count():
            rect = QRectF(pad + 6, y + tall - 8, look.px(200), look.px(26))
            self.hit_areas.append(
                HitArea("open:detail", f"Show {self._hidden_line_count():,} more lines", rect, radius=6)
            )
            tall += look.px(24)
        self._well = QRectF(pad, y, inner, tall)
        return self._well.bottom() + look.px(12)

    def _arrange_offers(self, y: float, inner: float) -> float:
        look, pad = self.style, self.style.px(_PAD)
        several = len(self._offers) > 1
        self._marks = []
        for number, text in enumerate(self._offers):
            text.x, text.y = pad + (look.px(_MARK) if several else 0), y
            tall = text.layout(inner - (look.px(_MARK) if several else 0))
            if several:
                side = look.px(13)
                self._marks.append(QRectF(pad + 1, y + look.px(2), side, side))
                place = QRectF(pad - 4, y - look.px(3), inner + 8, tall + look.px(6))
                spoken = "chosen" if number == self._selected_offer else "not chosen"
                label = f"Rule: {self._approval.offers[number]}, {spoken}"
                self.hit_areas.append(HitArea(f"{OFFER_GROUP}:{number}", label, place, radius=6))
            y += tall + look.px(7)
        return y + look.px(7)

    def _arrange_buttons(self, line: tuple[tuple[str, str], ...], y: float, width: float) -> float:
        look = self.style
        x, tall = look.px(_PAD), look.px(BUTTON_HEIGHT)
        for name, label in line:
            wide = button_width(look, label)
            if x + wide > width - look.px(_PAD) and x > look.px(_PAD):
                x, y = look.px(_PAD), y + tall + look.px(8)
            self.hit_areas.append(
                HitArea(f"decide:{name}", label, QRectF(x, y, wide, tall), accepts_enter=False, radius=8)
            )
            x += wide + look.px(8)
        return y + tall

    def _paint(self, painter: QPainter, state: PaintState) -> None:
        look, theme = self.style, self.style.theme
        card = QRectF(0, 0, self.width, self.height)
        paint_box(painter, card, look.color(theme.surface), look.color(theme.warn), 12)
        self._paint_head(painter)
        paint_box(painter, self._well, look.color(theme.code_surface), look.color(theme.border), 8)
        words = _CHOICE if self._marks else _ONE_RULE
        paint_line(painter, look, self._label, words, look.font(SMALL), theme.faint)
        for number, mark in enumerate(self._marks):
            self._paint_mark(painter, mark, number == self._selected_offer)
        for text in self.texts:
            text.paint(painter, state.clip, state.marks_of(text))
        for hot in self.hit_areas:
            self._paint_area(painter, hot, state)

    def _paint_head(self, painter: QPainter) -> None:
        look, theme = self.style, self.style.theme
        pad, side = look.px(_PAD), look.px(17)
        line = QRectF(pad + side + 9, look.px(12), self.width - 2 * pad - side - 9, look.px(24))
        paint_icon(
            painter, look, "shield-alert", theme.warn, QRectF(pad, line.center().y() - side / 2, side, side)
        )
        right = line.right()
        for words, style in reversed(self._chips()):
            wide = chip_width(look, words, style)
            place = QRectF(
                right - wide, line.center().y() - look.px(CHIP_HEIGHT) / 2, wide, look.px(CHIP_HEIGHT)
            )
            paint_chip(painter, look, place, words, style)
            right = place.x() - look.px(6)
        line.setRight(right - look.px(4))
        title = f"{display_name(self._approval.tool)} needs your approval"
        paint_line(painter, look, line, title, look.font(UI, SEMIBOLD), theme.warn)

    def _chips(self) -> list[tuple[str, ChipStyle]]:
        theme, row = self.style.theme, self._approval
        chips = []
        if row.requester:
            words = " ".join(escape_invisible(row.requester).split())
            chips.append(
                (
                    f"Subagent: {ellipsize(words, _ASKER)}",
                    ChipStyle(theme.accent_text, theme.accent_soft, "", "bot"),
                )
            )
        if row.position:
            chips.append((row.position, ChipStyle(theme.muted, theme.raised, theme.border)))
        if row.is_sandboxed:
            chips.append(("Confined", ChipStyle(theme.ok, theme.ok_soft, "", "shield-check")))
        elif row.kind == "command":
            chips.append(("Not confined", ChipStyle(theme.warn, theme.warn_soft, "", "shield-alert")))
        return chips

    def _paint_mark(self, painter: QPainter, mark: QRectF, is_selected: bool) -> None:
        theme, look = self.style.theme, self.style
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(look.color(theme.accent if is_selected else theme.border_strong), 1.5))
        painter.drawEllipse(mark)
        if is_selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color(theme.accent))
            inset = mark.width() * 0.27
            painter.drawEllipse(mark.adjusted(inset, inset, -inset, -inset))

    def _paint_area(self, painter: QPainter, area: HitArea, state: PaintState) -> None:
        look, theme = self.style, self.style.theme
        kind, _, name = area.name.partition(":")
        if kind == "open":
            rect = area.rect.adjusted(6, 0, 0, 0)
            paint_line(painter, look, rect, area.label, look.font(SMALL, MEDIUM), theme.accent_text)
        elif kind == "decide":
            style: ButtonStyle = "danger" if name in ("deny", "words", "never") else "outline"
            paint_button(painter, look, area, state, style)
