"""The part of a card that shows a call at work: how long, its newest lines, and a way to stop it alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.look import SMALL, Look
from helix_desktop.ui.chat.paint import Hot, Paint, button, button_width, line_of_text
from helix_desktop.ui.chat.plain import clean_output

LINES = 8
_BAR = 38.0  # pixels
_STOP = "Stop"
_LONGEST = 400  # characters of a line: more than any card shows
_READ = 2 * LINES * _LONGEST
_MINUTE, _HOUR = 60, 3600


@dataclass(frozen=True, slots=True)
class Live:
    """A call at work: since when, in milliseconds since 1970, and the newest lines it has put out."""

    began: int
    lines: tuple[str, ...] = ()

    @classmethod
    def of(cls, began: int, tail: str) -> Live:
        """From the end of what a call has put out so far; of a line drawn over and over, the last state."""
        ends = tail[-_READ:].replace("\r\n", "\n").rstrip("\n").split("\n")[-LINES:]
        states = (next((part for part in reversed(line.split("\r")) if part), "") for line in ends)
        lines = tuple(clean_output(state)[:_LONGEST] for state in states)
        return cls(began, lines if any(lines) else ())


def clock_text(seconds: int) -> str:
    """A running time as a clock shows it: 0:07, 12:40, 1:02:40."""
    seconds = max(0, seconds)
    minutes = f"{seconds // _MINUTE % _MINUTE}:{seconds % _MINUTE:02}"
    return f"{seconds // _HOUR}:{minutes:0>5}" if seconds >= _HOUR else minutes


class LiveStrip:
    """Lines and a bar below a card's first line; sizes in pixels."""

    def __init__(self, live: Live, name: str, look: Look) -> None:
        self._live, self._name, self._look = live, name, look
        self._ground, self._bar = QRectF(), QRectF()
        self.hots: list[Hot] = []

    @property
    def _line(self) -> float:
        return self._look.metrics(self._look.font(SMALL, mono=True)).lineSpacing() + self._look.px(1)

    def arrange(self, top: float, width: float) -> float:
        """Place it below `top`; where it ends."""
        look, count = self._look, len(self._live.lines)
        tall = count * self._line + look.px(16) if count else 0.0
        self._ground = QRectF(1, top, width - 2, tall)
        self._bar = QRectF(0, top + tall, width, look.px(_BAR))
        wide = button_width(look, _STOP, True)
        place = QRectF(width - look.px(12) - wide, self._bar.center().y() - look.px(13.5), wide, look.px(27))
        tip = "End this call alone; the agent goes on with what it has put out until then"
        self.hots = [Hot("stop:card", f"Stop {self._name}", place, radius=8, tip=tip)]
        return self._bar.bottom()

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw the lines, the clock and the button."""
        look, theme = self._look, self._look.theme
        if self._live.lines:
            painter.fillRect(self._ground, look.color(theme.code_surface))
            for edge in (self._ground.top(), self._ground.bottom() - 1):
                painter.fillRect(QRectF(1, edge, self._ground.width(), 1), look.color(theme.border))
        font = look.font(SMALL, mono=True)
        for at, line in enumerate(self._live.lines):
            top = self._ground.top() + look.px(8) + at * self._line
            room = QRectF(look.px(14), top, self._ground.width() - look.px(28), self._line)
            line_of_text(painter, look, room, line, font, theme.text)
        self._paint_bar(painter, paint)

    def _paint_bar(self, painter: QPainter, paint: Paint) -> None:
        look, (hot,) = self._look, self.hots
        button(painter, look, hot._replace(label=_STOP), paint, "outline", "circle-stop")
        words = clock_text(int(time.time()) - self._live.began // 1000)
        if not self._live.lines:
            words += " · no output yet"
        left = look.px(38)
        room = QRectF(left, self._bar.y(), hot.rect.x() - left - look.px(12), self._bar.height())
        line_of_text(painter, look, room, words, look.font(SMALL), look.theme.muted)
