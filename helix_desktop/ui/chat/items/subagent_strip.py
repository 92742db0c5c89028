"""The line of a card that shows its subagent at work, and leads to its session."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.chat.actions import OpenSubagent, StopCall
from helix_desktop.ui.chat.items.painting import (
    HitArea,
    PaintState,
    button_width,
    paint_box,
    paint_button,
    paint_icon,
    paint_line,
)
from helix_desktop.ui.chat.rows.subagent_status import RUNNING_PHASE_TEXTS, SubagentStatus
from helix_desktop.ui.chat.style import MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

_HEIGHT = 38.0  # pixels
_LEFT, _RIGHT = 38.0, 12.0
_GAUGE = 46.0
_MIN_TOOL_WIDTH = 90.0  # below, the newest call is left out
_PHASE_ICONS = {
    "queued": "clock",
    "thinking": "loader-circle",
    "working": "loader-circle",
    "waiting": "shield-alert",
    "full": "clock",
    "done": "circle-check",
    "stopped": "circle-stop",
    "failed": "circle-x",
    "interrupted": "pause",
}


class SubagentStrip:
    """One line below a card's bar; sizes in pixels."""

    def __init__(
        self,
        status: SubagentStatus | None,
        session_id: str,
        name: str,
        style: ChatStyle,
        running_call_id: str = "",
    ) -> None:
        """`status` is None when only the session is known; `running_call_id` is the call to stop, if any."""
        self._status, self._session_id, self._name, self._style = status, session_id, name, style
        self._running_call_id = running_call_id
        self._rect = QRectF()
        self.hit_areas: list[HitArea] = []

    def arrange(self, top: float, width: float) -> float:
        self._rect = QRectF(0, top, width, self._style.px(_HEIGHT))
        label = tr("Open subagent session: {task}", task=self._name)
        action, tip = OpenSubagent(self._session_id), f"{label}\n{tr('Or double-click the card')}"
        right = width - self._style.px(_RIGHT)
        place = self._button_place(right, tr("Open", "verb: button"))
        self.hit_areas = [HitArea("subagent:card", action, label, place, radius=8, tip=tip)]
        if self._running_call_id:
            label = tr("Stop subagent: {task}", task=self._name)
            tip = tr("Stop this subagent only. The turn continues with what it has so far.")
            place = self._button_place(place.x() - self._style.px(8), tr("Stop"))
            stop = StopCall(self._running_call_id)
            self.hit_areas.append(HitArea("stop:card", stop, label, place, radius=8, tip=tip))
        return self._rect.bottom()

    def _button_place(self, right: float, text: str) -> QRectF:
        wide, tall = button_width(self._style, text, True), self._style.px(27)
        return QRectF(right - wide, self._rect.center().y() - tall / 2 - self._style.px(3), wide, tall)

    def paint(self, painter: QPainter, state: PaintState) -> None:
        open_area, *stop_areas = self.hit_areas
        button = open_area._replace(label=tr("Open", "verb: button"))
        paint_button(painter, self._style, button, state, "outline", "arrow-up-right")
        for area in stop_areas:
            paint_button(
                painter, self._style, area._replace(label=tr("Stop")), state, "outline", "circle-stop"
            )
        if self._status is not None:
            middle, left_button = open_area.rect.center().y(), self.hit_areas[-1].rect.x()
            self._paint_status(painter, state, self._status, middle, left_button - self._style.px(12))

    def _paint_status(
        self, painter: QPainter, state: PaintState, status: SubagentStatus, middle: float, right: float
    ) -> None:
        style, theme = self._style, self._style.theme
        color = self._color(status)
        side = style.px(14)
        place = QRectF(style.px(14), middle - side / 2, style.px(15), style.px(15))
        glyph = _PHASE_ICONS[status.phase]
        paint_icon(
            painter, style, glyph, color, place, state.tick * 30.0 if glyph == "loader-circle" else 0.0
        )
        left = self._paint_text(painter, style.px(_LEFT), middle, right, status.phase_text, color, bold=True)
        # One below the other, the gauges of several begin at one place.
        gauge_left = max(left, style.px(_LEFT) + self._phase_column_width())
        gauge_width = style.px(_GAUGE + 7) + style.width(status.window_ratio_text, style.font(SMALL)) + 1
        if status.is_running and status.used and gauge_left + gauge_width <= right:
            left = self._paint_gauge(painter, gauge_left, middle, status)
            left = self._paint_text(painter, left, middle, right, status.window_ratio_text, theme.muted)
        font, room = style.font(SMALL), right - left
        words = status.summary(wall_clock_ms(), lambda line: style.width(line, font) + 1 <= room)
        left = self._paint_text(painter, left, middle, right, words, theme.muted)
        if status.is_running and status.current_tool and right - left > style.px(_MIN_TOOL_WIDTH):
            rest = QRectF(left, middle - style.px(10), right - left, style.px(20))
            paint_line(
                painter,
                style,
                rest,
                escape_invisible(status.current_tool),
                style.font(SMALL, mono=True),
                theme.faint,
            )

    def _paint_text(
        self,
        painter: QPainter,
        left: float,
        middle: float,
        right: float,
        text: str,
        color: str,
        bold: bool = False,
    ) -> float:
        """Write a part of the line; where the next one begins."""
        style = self._style
        if not text or right <= left:
            return left
        font = style.font(SMALL, MEDIUM) if bold else style.font(SMALL)
        wide = min(style.width(text, font) + 1, right - left)
        paint_line(painter, style, QRectF(left, middle - style.px(10), wide, style.px(20)), text, font, color)
        return left + wide + style.px(12)

    def _phase_column_width(self) -> float:
        font = self._style.font(SMALL, MEDIUM)
        return (
            max(self._style.width(translate(words), font) for words in RUNNING_PHASE_TEXTS.values())
            + 1
            + self._style.px(12)
        )

    def _paint_gauge(self, painter: QPainter, left: float, middle: float, status: SubagentStatus) -> float:
        style, theme = self._style, self._style.theme
        bar = QRectF(left, middle - style.px(2.5), style.px(_GAUGE), style.px(5))
        paint_box(painter, bar, style.color(theme.seg_free), None, bar.height() / 2)
        full = QRectF(bar)
        full.setWidth(max(bar.height(), bar.width() * min(1.0, status.window_ratio)))
        paint_box(painter, full, style.color(theme.accent), None, bar.height() / 2)
        return bar.right() + style.px(7)

    def _color(self, status: SubagentStatus) -> str:
        theme = self._style.theme
        return {
            "waiting": theme.warn,
            "done": theme.ok,
            "failed": theme.error,
            "thinking": theme.text,
            "working": theme.text,
        }.get(status.phase, theme.muted)
