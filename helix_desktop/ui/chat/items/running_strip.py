"""The part of a card that shows a call at work: how long, its newest lines, and a way to stop it alone."""

from __future__ import annotations

import time

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.actions import StopCall
from helix_desktop.ui.chat.items.painting import HitArea, PaintState, button_width, paint_button, paint_line
from helix_desktop.ui.chat.rows.running_output import RunningOutput
from helix_desktop.ui.chat.style import SMALL, ChatStyle
from helix_desktop.ui.design.mirror import turn_back
from helix_desktop.words.times import format_elapsed
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_BAR_HEIGHT = 38.0  # pixels


class RunningStrip:
    """Lines and a bar below a card's first line; sizes in pixels."""

    def __init__(self, output: RunningOutput, call_id: str, name: str, style: ChatStyle) -> None:
        self._output, self._call_id, self._name, self._style = output, call_id, name, style
        self._background_rect, self._bar_rect = QRectF(), QRectF()
        self.hit_areas: list[HitArea] = []

    @property
    def _line_height(self) -> float:
        return self._style.metrics(self._style.font(SMALL, mono=True)).lineSpacing() + self._style.px(1)

    def arrange(self, top: float, width: float) -> float:
        """Place it below `top`; where it ends."""
        style, count = self._style, len(self._output.lines)
        tall = count * self._line_height + style.px(16) if count else 0.0
        self._background_rect = QRectF(1, top, width - 2, tall)
        self._bar_rect = QRectF(0, top + tall, width, style.px(_BAR_HEIGHT))
        wide = button_width(style, tr("Stop"), True)
        place = QRectF(
            width - style.px(12) - wide, self._bar_rect.center().y() - style.px(13.5), wide, style.px(27)
        )
        label = tr("Stop {call}", call=self._name)
        tip = tr("Stop this command only. The turn continues with its output so far.")
        self.hit_areas = [HitArea("stop:card", StopCall(self._call_id), label, place, radius=8, tip=tip)]
        return self._bar_rect.bottom()

    def paint(self, painter: QPainter, state: PaintState) -> None:
        """Draw the lines, the clock and the button."""
        style, theme = self._style, self._style.theme
        if self._output.lines:
            painter.fillRect(self._background_rect, style.color(theme.code_surface))
            for edge in (self._background_rect.top(), self._background_rect.bottom() - 1):
                painter.fillRect(QRectF(1, edge, self._background_rect.width(), 1), style.color(theme.border))
        font = style.font(SMALL, mono=True)
        painter.save()
        turn_back(painter, self._background_rect)
        for at, line in enumerate(self._output.lines):
            top = self._background_rect.top() + style.px(8) + at * self._line_height
            room = QRectF(style.px(14), top, self._background_rect.width() - style.px(28), self._line_height)
            paint_line(painter, style, room, line, font, theme.text)
        painter.restore()
        self._paint_bar(painter, state)

    def _paint_bar(self, painter: QPainter, state: PaintState) -> None:
        style, (area,) = self._style, self.hit_areas
        paint_button(painter, style, area._replace(label=tr("Stop")), state, "outline", "circle-stop")
        words = format_elapsed(int(time.time() - self._output.started_at_ms / 1000))
        if not self._output.lines:
            words = f"{words} · {tr('no output yet')}"
        left = style.px(38)
        room = QRectF(left, self._bar_rect.y(), area.rect.x() - left - style.px(12), self._bar_rect.height())
        paint_line(painter, style, room, words, style.font(SMALL), style.theme.muted)
