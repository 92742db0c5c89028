"""The context of each request of a replayed session, unmanaged and managed, and where it was compacted."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from helix_desktop.replay.measure import RecordingFigures
from helix_desktop.ui.design.mirror import keep_left_to_right
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.timeline.chart.plot import Plot, axis_width, paint_axis, paint_curve
from helix_desktop.words.numbers import format_integer, format_tokens
from helix_desktop.words.translation import Translator

tr = Translator("What survives")

_HEIGHT = 220  # pixels at the usual text size
_TOP, _BOTTOM, _GAP = 24.0, 20.0, 10.0  # pixels around the plot, and beside its labels
_MAX_POINTS = 900  # of one curve: more than the pixels that it has
_NEAR = 8.0  # pixels around a compaction in which the mouse is on it


class SurvivalChart(Themed, QWidget):
    accessible_role = QAccessible.Role.Chart
    compaction_clicked = Signal(int)
    """One of the compactions, by its place."""

    def __init__(self) -> None:
        super().__init__()
        self._managed: Sequence[int] = ()
        self._unmanaged: Sequence[int] = ()
        self._requests: Sequence[int] = ()  # behind each compaction
        self._window = self._current = 0
        self.setObjectName("survival_chart")
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_figures(self, figures: RecordingFigures, agent: str, request: int) -> None:
        """Show other figures; `agent` has compacted, and `request` is the one that is looked at."""
        self._managed, self._unmanaged = figures.managed_sizes, figures.unmanaged_sizes
        self._requests = [compaction.request for compaction in figures.compactions]
        self._window, self._current = figures.window, request
        curves = tr(
            "Context of {count} requests. Unmanaged: up to {unmanaged} tokens, {unmanaged_end} at the end. "
            "With Helix: up to {managed}, {managed_end} at the end.",
            count=format_integer(len(self._managed)),
            unmanaged=format_tokens(max(self._unmanaged)),
            unmanaged_end=format_tokens(self._unmanaged[-1]),
            managed=format_tokens(max(self._managed)),
            managed_end=format_tokens(self._managed[-1]),
        )
        requests = ", ".join(map(format_integer, self._requests))
        compacted = tr("{agent} compacted before request {requests}.", agent=agent, requests=requests)
        self.setAccessibleName(f"{curves} {compacted}" if requests else curves)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, scaled(_HEIGHT))

    def text_at(self, place: QPointF) -> str:
        """Return what both contexts have at the request that the mouse is on."""
        if not self._managed:
            return ""
        at = self._plot().index_at(place.x())
        return tr(
            "Request {request}\nUnmanaged: {unmanaged}\nWith Helix: {managed}",
            request=format_integer(at + 1),
            unmanaged=format_tokens(self._unmanaged[at]),
            managed=format_tokens(self._managed[at]),
        )

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if text := self.text_at(event.position()):
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        plot, x = self._plot(), event.position().x()
        ways = [(abs(plot.x_of(request - 1) - x), place) for place, request in enumerate(self._requests)]
        if ways and min(ways)[0] <= _NEAR:
            self.compaction_clicked.emit(min(ways)[1])

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._managed:
            return
        painter, plot, theme = QPainter(self), self._plot(), self._theme
        keep_left_to_right(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_axis(painter, plot, theme)
        painter.setFont(ui_font(11, 500))
        self._paint_window(painter, plot)
        step = -(-len(self._managed) // _MAX_POINTS)
        places = [*range(0, len(self._managed) - 1, step), len(self._managed) - 1]
        thin = Plot(plot.rect, len(places), plot.top)
        unmanaged, managed = (
            thin.line_of([sizes[at] for at in places]) for sizes in (self._unmanaged, self._managed)
        )
        faint = QColor(theme.accent)
        faint.setAlphaF(0.16 if theme.dark else 0.09)
        painter.fillPath(thin.area_below(managed), faint)
        self._paint_compactions(painter, plot)
        paint_curve(painter, unmanaged, theme.muted, dashed=True)
        paint_curve(painter, managed, theme.accent)
        self._paint_ends(painter, plot)

    def _paint_window(self, painter: QPainter, plot: Plot) -> None:
        """Draw the edge of the context window, if a curve comes near, with its name at the left."""
        if self._window > plot.top:
            return
        y, name = plot.y_of(self._window), tr("Context window")
        pen = QPen(QColor(self._theme.error), 1)
        pen.setDashPattern([4, 4])
        painter.setPen(pen)
        painter.drawLine(QPointF(plot.rect.left(), y), QPointF(plot.rect.right(), y))
        painter.drawText(QPointF(plot.rect.left() + 4, y - 4), name)

    def _paint_compactions(self, painter: QPainter, plot: Plot) -> None:
        """Draw a line where the other agent compacted, with its number above it where there is room."""
        metrics, free_x = QFontMetricsF(painter.font()), 0.0
        for number, request in enumerate(self._requests, 1):
            is_current = request == self._current
            x, color = plot.x_of(request - 1), QColor(self._theme.warn)
            painter.setPen(QPen(color, 2.0 if is_current else 1.0))
            painter.drawLine(QPointF(x, _TOP - 4), QPointF(x, plot.rect.bottom()))
            text = tr("Compaction {number}", number=format_integer(number))
            width = metrics.horizontalAdvance(text)
            left = max(plot.rect.left(), min(x - width / 2, plot.rect.right() - width))
            if left > free_x:
                painter.setFont(ui_font(11, 600 if is_current else 500))
                painter.drawText(QPointF(left, _TOP - 9), text)
                free_x = left + width + _GAP

    def _paint_ends(self, painter: QPainter, plot: Plot) -> None:
        """Name both curves where they end, and the first and the last request."""
        painter.setFont(ui_font(11, 500))
        height, x = QFontMetricsF(painter.font()).height(), plot.rect.right() + _GAP
        low = min(plot.y_of(self._managed[-1]), plot.rect.bottom() - height)
        high = min(plot.y_of(self._unmanaged[-1]), low - 2.2 * height)
        for y, (name, sizes), color in (
            (max(high, _TOP), self._names()[0], self._theme.muted),
            (low, self._names()[1], self._theme.accent_text),
        ):
            painter.setPen(QColor(color))
            painter.drawText(QPointF(x, y), name)
            painter.drawText(QPointF(x, y + height), format_tokens(sizes[-1]))
        painter.setPen(QColor(self._theme.faint))
        below = QRectF(plot.rect.left(), plot.rect.bottom() + 4, plot.rect.width(), height)
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, tr("Request 1"))
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, format_integer(len(self._managed)))

    def _names(self) -> tuple[tuple[str, Sequence[int]], tuple[str, Sequence[int]]]:
        return (tr("Unmanaged"), self._unmanaged), (tr("With Helix"), self._managed)

    def _plot(self) -> Plot:
        top = max(1_000, round(max(*self._unmanaged, *self._managed) * 1.05))
        left, metrics = axis_width(top), QFontMetricsF(ui_font(11, 500))
        right = _GAP + 4 + max(metrics.horizontalAdvance(name) for name, _ in self._names())
        top_px, bottom_px = scaled(round(_TOP)), scaled(round(_BOTTOM))
        size = max(1.0, self.width() - left - right), max(1.0, self.height() - top_px - bottom_px)
        return Plot(QRectF(left, top_px, *size), len(self._managed), top)
