"""What is painted around the text of an answer: its head and its caret while it grows."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QLinearGradient, QPainter

from helix_desktop.ui.chat.look import BODY, SEMIBOLD, SMALL, UI, Look
from helix_desktop.ui.chat.paint import ChipStyle, chip, chip_width, icon, line_of_text
from helix_desktop.ui.chat.rows import AssistantRow
from helix_desktop.ui.chat.text_piece import TextPiece

HEAD = 26.0  # height of the head, pixels at zoom 1


def clock(at_ms: int) -> str:
    """A time of day in the local zone, from milliseconds since 1970; empty for 0."""
    return datetime.fromtimestamp(at_ms / 1000).strftime("%H:%M") if at_ms else ""


def paint_head(painter: QPainter, look: Look, row: AssistantRow, width: float) -> None:
    """Draw who speaks and when, at the top of a sheet of a width in pixels."""
    theme = look.theme
    side = look.px(HEAD)
    shade = QLinearGradient(0, 0, side, side)
    shade.setColorAt(0, look.color(theme.seg_system))
    shade.setColorAt(1, look.color(theme.seg_assistant))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(shade)
    painter.drawRoundedRect(QRectF(0, 0, side, side), 8, 8)
    sparkles = QRectF(side * 0.23, side * 0.23, look.px(14), look.px(14))
    icon(painter, look, "sparkles", theme.on_accent, sparkles)
    x = side + look.px(10)
    x = _word(painter, look, QRectF(x, 0, width - x, side), row.model or "Assistant", True) + look.px(9)
    if row.demo:
        style = ChipStyle(theme.accent_text, theme.accent_soft)
        wide = chip_width(look, "offline demo", style)
        chip(painter, look, QRectF(x, (side - look.px(19)) / 2, wide, look.px(19)), "offline demo", style)
        x += wide + look.px(9)
    if row.at_ms:
        _word(painter, look, QRectF(x, 0, width - x, side), clock(row.at_ms), False)


def paint_caret(painter: QPainter, look: Look, text: TextPiece) -> None:
    """Draw the caret behind the last word of a text that grows."""
    line = text.line_rect(text.length)
    tall = look.px(BODY + 2)
    caret = QRectF(line.x() + _line_width(text) + 3, line.bottom() - tall - 2, 2.5, tall)
    painter.fillRect(caret, look.color(look.theme.accent))


def paint_waiting(painter: QPainter, look: Look, top: float, tick: int) -> None:
    """Draw three dots below a height in pixels, one of them lit, while there are no words yet."""
    theme = look.theme
    for dot in range(3):
        color = theme.accent if tick // 3 % 3 == dot else theme.border_strong
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.color(color))
        painter.drawEllipse(QRectF(2 + dot * look.px(11), top + look.px(9), look.px(6), look.px(6)))


def _word(painter: QPainter, look: Look, room: QRectF, text: str, strong: bool) -> float:
    """Draw a word of the head at the left of its room; where it ends."""
    font = look.font(UI, SEMIBOLD) if strong else look.font(SMALL)
    wide = min(look.width(text, font) + 1, max(40.0, room.width() - 60))
    rect = QRectF(room.x(), room.y(), wide, room.height())
    line_of_text(painter, look, rect, text, font, look.theme.text if strong else look.theme.faint)
    return room.x() + wide


def _line_width(text: TextPiece) -> float:
    line = text.document.lastBlock().layout()
    count = line.lineCount()
    return line.lineAt(count - 1).naturalTextWidth() if count else 0.0
