"""The line of a card that shows its subagent at work, and leads to its session."""

from __future__ import annotations

import time

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.errand import DOING, Errand
from helix_desktop.ui.chat.look import MEDIUM, SMALL, Look
from helix_desktop.ui.chat.paint import Hot, Paint, box, button, button_width, icon, line_of_text
from helix_desktop.ui.chat.plain import reveal

_TALL = 38.0  # pixels
_LEFT, _RIGHT = 38.0, 12.0
_GAUGE = 46.0
_TOOL_ROOM = 90.0  # below, the newest call is left out
_OPEN = "Open"
_PHASE_ICONS = {
    "queued": "clock",
    "thinking": "loader-circle",
    "working": "loader-circle",
    "waiting": "shield-alert",
    "done": "circle-check",
    "stopped": "circle-stop",
    "failed": "circle-x",
    "interrupted": "pause",
}


class ErrandStrip:
    """One line below a card's bar; sizes in pixels."""

    def __init__(self, errand: Errand | None, name: str, look: Look) -> None:
        """`errand` is None when no more is known than where the session is."""
        self._errand, self._name, self._look = errand, name, look
        self._rect = QRectF()
        self.hots: list[Hot] = []

    def arrange(self, top: float, width: float) -> float:
        """Place it below `top`; where it ends."""
        look = self._look
        self._rect = QRectF(0, top, width, look.px(_TALL))
        wide = button_width(look, _OPEN, True)
        tall = look.px(27)
        rect = QRectF(
            width - look.px(_RIGHT) - wide, self._rect.center().y() - tall / 2 - look.px(3), wide, tall
        )
        label = f"Open the subagent's session: {self._name}"
        self.hots = [
            Hot("subagent:card", label, rect, radius=8, tip=f"{label}\nA double click does the same")
        ]
        return self._rect.bottom()

    def paint(self, painter: QPainter, paint: Paint) -> None:
        """Draw phase, gauge, figures, newest call, and the button."""
        (hot,) = self.hots
        button(painter, self._look, hot._replace(label=_OPEN), paint, "outline", "arrow-up-right")
        if self._errand is not None:
            middle = hot.rect.center().y()
            self._paint_errand(painter, paint, self._errand, middle, hot.rect.x() - self._look.px(12))

    def _paint_errand(
        self, painter: QPainter, paint: Paint, errand: Errand, middle: float, right: float
    ) -> None:
        look, theme = self._look, self._look.theme
        color = self._color(errand)
        side = look.px(14)
        place = QRectF(look.px(14), middle - side / 2, look.px(15), look.px(15))
        glyph = _PHASE_ICONS[errand.phase]
        icon(painter, look, glyph, color, place, paint.tick * 30.0 if glyph == "loader-circle" else 0.0)
        left = self._write(painter, look.px(_LEFT), middle, right, errand.phase_words, color, bold=True)
        if errand.live and errand.use and right - left > look.px(2 * _GAUGE):
            # One below the other, the gauges of several begin at one place.
            left = max(left, look.px(_LEFT) + self._phase_room())
            left = self._paint_gauge(painter, left, middle, errand)
            left = self._write(painter, left, middle, right, errand.share_words, theme.muted)
        now = int(time.time() * 1000)
        left = self._write(painter, left, middle, right, errand.figures(now), theme.muted)
        if errand.live and errand.tool and right - left > look.px(_TOOL_ROOM):
            rest = QRectF(left, middle - look.px(10), right - left, look.px(20))
            line_of_text(painter, look, rest, reveal(errand.tool), look.font(SMALL, mono=True), theme.faint)

    def _write(
        self,
        painter: QPainter,
        left: float,
        middle: float,
        right: float,
        words: str,
        color: str,
        bold: bool = False,
    ) -> float:
        """Write a part of the line; where the next one begins."""
        look = self._look
        if not words or right <= left:
            return left
        font = look.font(SMALL, MEDIUM) if bold else look.font(SMALL)
        wide = min(look.width(words, font) + 1, right - left)
        line_of_text(painter, look, QRectF(left, middle - look.px(10), wide, look.px(20)), words, font, color)
        return left + wide + look.px(12)

    def _phase_room(self) -> float:
        """Width of the longest phase, and the gap behind it."""
        font = self._look.font(SMALL, MEDIUM)
        return max(self._look.width(words, font) for words in DOING.values()) + 1 + self._look.px(12)

    def _paint_gauge(self, painter: QPainter, left: float, middle: float, errand: Errand) -> float:
        look, theme = self._look, self._look.theme
        bar = QRectF(left, middle - look.px(2.5), look.px(_GAUGE), look.px(5))
        box(painter, bar, look.color(theme.seg_free), None, bar.height() / 2)
        full = QRectF(bar)
        full.setWidth(max(bar.height(), bar.width() * min(1.0, errand.share)))
        box(painter, full, look.color(theme.accent), None, bar.height() / 2)
        return bar.right() + look.px(7)

    def _color(self, errand: Errand) -> str:
        theme = self._look.theme
        return {
            "waiting": theme.warn,
            "done": theme.ok,
            "failed": theme.error,
            "thinking": theme.text,
            "working": theme.text,
        }.get(errand.phase, theme.muted)
