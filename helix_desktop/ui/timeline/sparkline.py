"""Tokens in the window over the session: it fills, and drops at sweeps and handovers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.fonts import scaled, ui_font
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.timeline.rows import Point, PointKind

_HEIGHT = 84
_TOP, _BOTTOM = 8.0, 6.0  # pixels above and below the plot
_RIGHT = 40.0  # pixels for the threshold's label
DROPS: frozenset[PointKind] = frozenset({"handover", "sweep", "fold", "observations"})
"""What makes the window smaller."""


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most about `most` points: the fullest of each stretch, and all where the window was rewritten."""
    if len(points) <= most:
        return list(points)
    step = -(-len(points) // most)
    kept: list[Point] = []
    for begin in range(0, len(points), step):
        stretch = points[begin : begin + step]
        fullest = max(stretch, key=lambda point: point.used)
        kept += [point for point in stretch if point is fullest or point.kind in DROPS]
    return kept


class TokenSpark(QWidget):
    """Painted from points; a click on it asks for the event nearest to it."""

    point_clicked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._theme = LIGHT
        self._points: list[Point] = []
        self._window, self._threshold = 0, 0.85
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_points(self, points: Sequence[Point], window: int, threshold: float) -> None:
        """Show other points; `window` in tokens, `threshold` a part of 1."""
        self._points, self._window, self._threshold = thinned(points, 1_200), window, threshold
        drops = sum(point.kind in DROPS for point in points)
        last = tokens_text(points[-1].used) if points else "0"
        self.setAccessibleName(
            f"Tokens in the window: now {last} of {tokens_text(window)}, {drops} drops so far"
        )
        self.update()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(400, scaled(_HEIGHT))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say what the point under the mouse is."""
        point = self._near(event.position().x())
        if point is not None:
            kind = "" if point.kind == "turn" else f" after {point.kind}"
            text = f"{point.used:,} tokens{kind} · e{point.seq}"
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Ask for the event of the point under the mouse."""
        point = self._near(event.position().x())
        if point is not None and event.button() == Qt.MouseButton.LeftButton:
            self.point_clicked.emit(point.seq)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw threshold, area, line and drops."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_threshold(painter)
        places = [QPointF(self._x(at), self._y(point.used)) for at, point in enumerate(self._points)]
        if not places:
            return
        line, floor = QPainterPath(places[0]), self.height() - _BOTTOM
        for place in places[1:]:
            line.lineTo(place)
        area = QPainterPath(line)
        area.lineTo(places[-1].x(), floor)
        area.lineTo(places[0].x(), floor)
        ground = QColor(self._theme.accent)
        ground.setAlphaF(0.16 if self._theme.dark else 0.09)
        painter.fillPath(area, ground)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(self._theme.seg_system), 1.6))
        painter.drawPath(line)
        for place, point in zip(places, self._points, strict=True):
            self._paint_mark(painter, place, point.kind)
        painter.setPen(QPen(QColor(self._theme.surface), 2))
        painter.setBrush(QColor(self._theme.accent))
        painter.drawEllipse(places[-1], 4.5, 4.5)

    def _paint_threshold(self, painter: QPainter) -> None:
        y, right = self._y(round(self._window * self._threshold)), self.width() - _RIGHT
        pen = QPen(QColor(self._theme.warn), 1)
        pen.setDashPattern([4, 4])
        painter.setPen(pen)
        painter.drawLine(QPointF(0, y), QPointF(right, y))
        painter.setFont(ui_font(11, 500))
        painter.drawText(
            QRectF(right + 6, y - 9, _RIGHT, 18),
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
            f"{self._threshold:.0%}".replace("%", " %"),
        )
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.drawLine(QPointF(0, self.height() - _BOTTOM), QPointF(right, self.height() - _BOTTOM))

    def _paint_mark(self, painter: QPainter, place: QPointF, kind: PointKind) -> None:
        inks = {
            "handover": self._theme.seg_handover,
            "sweep": self._theme.seg_output,
            "fold": self._theme.seg_fold,
            "observations": self._theme.seg_observations,
            "failure": self._theme.error,
        }
        if kind in inks:
            painter.setPen(QPen(QColor(self._theme.surface), 1.5))
            painter.setBrush(QColor(inks[kind]))
            painter.drawEllipse(place, 4, 4)

    def _x(self, at: int) -> float:
        room = self.width() - _RIGHT - 8
        return 4 + room * at / max(1, len(self._points) - 1)

    def _y(self, used: int) -> float:
        top = max(self._window, max((point.used for point in self._points), default=0), 1)
        return _TOP + (self.height() - _TOP - _BOTTOM) * (1 - used / top)

    def _near(self, x: float) -> Point | None:
        if not self._points:
            return None
        at = bisect_right([self._x(n) for n in range(len(self._points))], x)
        beside = [n for n in (at - 1, at) if 0 <= n < len(self._points)]
        return self._points[min(beside, key=lambda n: abs(self._x(n) - x))]
