"""What is painted around the text of an answer: its head and its caret while it grows."""

from __future__ import annotations

import time

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QLinearGradient, QPainter

from helix_desktop.ui.chat.items.painting import ChipStyle, chip_width, paint_chip, paint_icon, paint_line
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_types import AssistantRow
from helix_desktop.ui.chat.style import BODY, SEMIBOLD, SMALL, UI, ChatStyle
from helix_desktop.words.direction import dotted
from helix_desktop.words.times import format_elapsed, format_moment
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

HEADER_HEIGHT = 26.0  # height of the head, pixels at zoom 1
WAITING_HEIGHT = 24.0  # height of what stands for the words that have not come, pixels at zoom 1
_SILENT_S = 10  # of an answer, between two texts; until then it comes in pieces


def paint_header(painter: QPainter, chat_style: ChatStyle, row: AssistantRow, width: float) -> None:
    """Draw the speaker and the time at the top of an item; the width is in pixels."""
    theme = chat_style.theme
    side = chat_style.px(HEADER_HEIGHT)
    shade = QLinearGradient(0, 0, side, side)
    shade.setColorAt(0, chat_style.color(theme.seg_system))
    shade.setColorAt(1, chat_style.color(theme.seg_assistant))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(shade)
    painter.drawRoundedRect(QRectF(0, 0, side, side), 8, 8)
    sparkles = QRectF(side * 0.23, side * 0.23, chat_style.px(14), chat_style.px(14))
    paint_icon(painter, chat_style, "sparkles", theme.on_accent, sparkles)
    x = side + chat_style.px(10)
    x = _paint_word(
        painter, chat_style, QRectF(x, 0, width - x, side), row.model or tr("Assistant"), True
    ) + chat_style.px(9)
    if row.side_note:
        style = ChipStyle(theme.muted, theme.raised, theme.border, "message-square")
        wide, tall = min(chip_width(chat_style, row.side_note, style), width - x), chat_style.px(19)
        paint_chip(painter, chat_style, QRectF(x, (side - tall) / 2, wide, tall), row.side_note, style)
        x += wide + chat_style.px(9)
    if row.at_ms:
        words = dotted((format_moment(row.at_ms), row.context_note))
        _paint_word(painter, chat_style, QRectF(x, 0, width - x, side), words, False)


def paint_caret(painter: QPainter, style: ChatStyle, text: TextLayout) -> None:
    """Draw the caret behind the last word of a text that grows."""
    painter.fillRect(text.caret_rect(style.px(BODY + 2)), style.color(style.theme.accent))


def paint_waiting(painter: QPainter, style: ChatStyle, room: QRectF, tick: int, text: str) -> None:
    """Draw three dots, one of them lit, while no words come; and how long that is."""
    theme = style.theme
    for dot in range(3):
        color = theme.accent if tick // 3 % 3 == dot else theme.border_strong
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(style.color(color))
        painter.drawEllipse(QRectF(2 + dot * style.px(11), room.y() + style.px(9), style.px(6), style.px(6)))
    line = room.adjusted(style.px(44), 0, 0, 0)
    paint_line(painter, style, line, text, style.font(SMALL), theme.muted)


def waiting_text(since_ms: int) -> str:
    """Return for how long the model is silent, since a time in milliseconds since 1970; empty for 0."""
    if not since_ms:
        return ""
    return tr("Waiting for the model… {time}", time=format_elapsed(int(time.time() - since_ms / 1000)))


def silence_text(silent_s: float) -> str:
    """Return for how many seconds no more of an answer came; empty while that is nothing unusual."""
    return tr("Last text {time} ago", time=format_elapsed(int(silent_s))) if silent_s >= _SILENT_S else ""


def _paint_word(painter: QPainter, style: ChatStyle, bounds: QRectF, text: str, strong: bool) -> float:
    """Draw a word of the head at the left of its room; where it ends."""
    font = style.font(UI, SEMIBOLD) if strong else style.font(SMALL)
    wide = min(style.width(text, font) + 1, max(40.0, bounds.width() - 60))
    rect = QRectF(bounds.x(), bounds.y(), wide, bounds.height())
    paint_line(painter, style, rect, text, font, style.theme.text if strong else style.theme.faint)
    return bounds.x() + wide
