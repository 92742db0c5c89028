"""Tokens in the window over the session: it fills, and drops at sweeps and handovers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.timeline.card_data import PointKind, UsagePoint
from helix_desktop.ui.timeline.card_texts import point_kind_text
from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_HEIGHT, _TALL = 84, 140  # pixels; taller where the window was overfull, to keep the rest distinct
_TOP, _BOTTOM = 8.0, 6.0  # pixels above and below the plot
_RIGHT = 46.0  # pixels for the labels
_LABEL = 16.0  # pixels between two labels
DROP_KINDS: frozenset[PointKind] = frozenset({"handover", "sweep", "fold", "observations"})
"""What makes the window smaller."""


def downsample(points: Sequence[UsagePoint], max_points: int) -> list[UsagePoint]:
    """At most about `most` points: the fullest of each stretch, and all where the window was rewritten."""
    if len(points) <= max_points:
        return list(points)
    step = -(-len(points) // max_points)
    sampled: list[UsagePoint] = []
    for begin in range(0, len(points), step):
        stretch = points[begin : begin + step]
        fullest = max(stretch, key=lambda point: point.used)
        changed = {
            at for at, (previous, other) in enumerate(pairwise(stretch), 1) if previous.window != other.window
        }
        sampled += [
            point
            for at, point in enumerate(stretch)
            if point is fullest or point is points[-1] or point.kind in DROP_KINDS or at in changed
        ]
    return sampled


def point_text(point: UsagePoint, window: int) -> str:
    """Return what a point says: tokens, their share of the window (its own, else `window`), after what."""
    size = point.window or window
    share = format_whole_percent(point.used / size) if size else ""
    parts = (
        tr.plural(point.used, "%n token", "%n tokens"),
        tr("{share} of {size}", share=share, size=format_tokens(size)) if size else "",
        point_kind_text(point.kind),
        f"e{point.seq}",
    )
    return " · ".join(filter(None, parts))


class TokenSparkline(Themed, QWidget):
    """Painted from points; a click on it asks for the event nearest to it."""

    accessible_role = QAccessible.Role.Chart

    point_clicked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._points: list[UsagePoint] = []
        self._window, self._threshold, self._top = 0, 0.85, 1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_points(self, points: Sequence[UsagePoint], window: int, threshold: float) -> None:
        """Show other points; `window` in tokens, `threshold` a part of 1."""
        self._points, self._window, self._threshold = downsample(points, 1_200), window, threshold
        self._top = max([window, 1, *(max(point.used, point.window) for point in self._points)])
        drops = sum(point.kind in DROP_KINDS for point in points)
        name = tr.plural(
            drops,
            "Tokens in context: now {used} of {size}, at most {peak}, reduced once",
            "Tokens in context: now {used} of {size}, at most {peak}, reduced %n times",
            used=format_tokens(points[-1].used if points else 0),
            size=format_tokens(window),
            peak=format_tokens(max((point.used for point in points), default=0)),
        )
        self.setAccessibleName(name)
        self.updateGeometry()
        self.update()

    @property
    def is_overfull(self) -> bool:
        """Return True if the window held more at some point than there was room for."""
        return any(point.used > (point.window or self._window) for point in self._points)

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(400, scaled(_TALL if self.is_overfull else _HEIGHT))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say what the point under the mouse is."""
        point = self._nearest_point(event.position().x())
        if point is not None:
            where = event.globalPosition().toPoint()
            QToolTip.showText(where, point_text(point, self._window), self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Ask for the event of the point under the mouse."""
        point = self._nearest_point(event.position().x())
        if point is not None and event.button() == Qt.MouseButton.LeftButton:
            self.point_clicked.emit(point.seq)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the window's edge and the threshold, area, line and drops."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_bounds(painter)
        places = [QPointF(self._x(at), self.y_of(point.used)) for at, point in enumerate(self._points)]
        if not places:
            return
        line, floor = QPainterPath(places[0]), self.height() - _BOTTOM
        for place in places[1:]:
            line.lineTo(place)
        area = QPainterPath(line)
        area.lineTo(places[-1].x(), floor)
        area.lineTo(places[0].x(), floor)
        background = QColor(self._theme.accent)
        background.setAlphaF(0.16 if self._theme.dark else 0.09)
        painter.fillPath(area, background)
        if self.is_overfull:
            self._paint_overfull(painter, area)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(self._theme.seg_system), 1.6))
        painter.drawPath(line)
        for place, point in zip(places, self._points, strict=True):
            self._paint_mark(painter, place, point.kind)
        painter.setPen(QPen(QColor(self._theme.surface), 2))
        painter.setBrush(QColor(self._theme.accent))
        painter.drawEllipse(places[-1], 4.5, 4.5)

    def _paint_bounds(self, painter: QPainter) -> None:
        """Draw the edge of the window and the threshold at their true height, and label them."""
        right, floor, theme = self.width() - _RIGHT, self.height() - _BOTTOM, self._theme
        painter.setPen(QPen(QColor(theme.error if self.is_overfull else theme.border_strong), 1))
        painter.drawPath(self._level(1.0))
        pen = QPen(QColor(theme.warn), 1)
        pen.setDashPattern([4, 4])
        painter.setPen(pen)
        painter.drawPath(self._level(self._threshold))
        painter.setPen(QPen(QColor(theme.border), 1))
        painter.drawLine(QPointF(0, floor), QPointF(right, floor))
        self._paint_labels(painter)

    def _paint_overfull(self, painter: QPainter, area: QPainterPath) -> None:
        """Tint what lies above the window's edge."""
        above = self._level(1.0)
        above.lineTo(self.width(), 0)
        above.lineTo(0, 0)
        above.closeSubpath()
        over = QColor(self._theme.error)
        over.setAlphaF(0.35 if self._theme.dark else 0.22)
        painter.fillPath(area.intersected(above), over)

    def _level(self, share: float) -> QPainterPath:
        """Return the line at a share of the window; a step where the window was another."""
        path, right = QPainterPath(), self.width() - _RIGHT
        sizes = [point.window or self._window for point in self._points] or [self._window]
        path.moveTo(0, self.y_of(round(sizes[0] * share)))
        for at, (before, size) in enumerate(pairwise(sizes), 1):
            if size != before:
                path.lineTo(self._x(at), self.y_of(round(before * share)))
                path.lineTo(self._x(at), self.y_of(round(size * share)))
        path.lineTo(right, self.y_of(round(sizes[-1] * share)))
        return path

    def _paint_labels(self, painter: QPainter) -> None:
        """Write the threshold, the window's size and the most that was used, as far as there is room."""
        last = (self._points[-1].window if self._points else 0) or self._window
        threshold = format_whole_percent(self._threshold)
        labels = [(self.y_of(round(last * self._threshold)), threshold, self._theme.warn)]
        labels.append((self.y_of(last), format_tokens(last), self._theme.muted))
        if self._top > last and self.is_overfull:
            labels[:0] = [(self.y_of(self._top), format_tokens(self._top), self._theme.error)]
            labels[1:] = labels[:0:-1]  # the edge is what an overfull window is measured by
        painter.setFont(ui_font(11, 500))
        used_ys: list[float] = []
        for y, text, color in labels:
            if all(abs(y - other) >= scaled(round(_LABEL)) for other in used_ys):
                used_ys.append(y)
                painter.setPen(QColor(color))
                place = QRectF(self.width() - _RIGHT + 6, y - 9, _RIGHT - 6, 18)
                painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_mark(self, painter: QPainter, position: QPointF, kind: PointKind) -> None:
        colors = {
            "handover": self._theme.seg_handover,
            "sweep": self._theme.seg_output,
            "fold": self._theme.seg_fold,
            "observations": self._theme.seg_observations,
            "failure": self._theme.error,
        }
        if kind in colors:
            painter.setPen(QPen(QColor(self._theme.surface), 1.5))
            painter.setBrush(QColor(colors[kind]))
            painter.drawEllipse(position, 4, 4)

    def _x(self, index: int) -> float:
        room = self.width() - _RIGHT - 8
        return 4 + room * index / max(1, len(self._points) - 1)

    def y_of(self, used: int) -> float:
        """Return how far from the top, in pixels, so many tokens are drawn."""
        return _TOP + (self.height() - _TOP - _BOTTOM) * (1 - used / self._top)

    def _nearest_point(self, x: float) -> UsagePoint | None:
        if not self._points:
            return None
        at = bisect_right([self._x(n) for n in range(len(self._points))], x)
        neighbours = [n for n in (at - 1, at) if 0 <= n < len(self._points)]
        return self._points[min(neighbours, key=lambda n: abs(self._x(n) - x))]
