"""A plot of tokens over the events of a session: where things lie in it, and how its parts are drawn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen

from helix_desktop.ui.design.choice_fields import AT_END
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.times import format_moment

_LABEL_PX = 11
_LABEL_HEIGHT = 18.0  # pixels that a label takes, at the usual size of text
_TICK_DISTANCE = 30.0  # pixels between two lines of the axis, at least
_TICK_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MAX_TICKS = 5  # above 0
_MANY_POINTS = 300  # of a curve
_TIME_GAP = 28.0  # pixels between two times, at least


class Plot(msgspec.Struct, frozen=True):
    """The room for `count` points, with `top` tokens at its upper edge and 0 at its lower."""

    rect: QRectF
    count: int
    top: int

    def x_of(self, index: float) -> float:
        return self.rect.left() + self.rect.width() * index / max(1, self.count - 1)

    def y_of(self, tokens: int) -> float:
        """Return how far from the widget's top, in pixels, so many tokens are drawn."""
        return self.rect.bottom() - self.rect.height() * tokens / max(1, self.top)

    def index_at(self, x: float) -> int:
        """Return the point nearest to a place; 0 without points."""
        share = (x - self.rect.left()) / max(1.0, self.rect.width())
        return min(max(0, round(share * (self.count - 1))), max(0, self.count - 1))

    def line_of(self, tokens: Sequence[int]) -> QPainterPath:
        places = [QPointF(self.x_of(at), self.y_of(used)) for at, used in enumerate(tokens)]
        path = QPainterPath(places[0]) if places else QPainterPath()
        for place in places[1:]:
            path.lineTo(place)
        return path

    def area_below(self, line: QPainterPath) -> QPainterPath:
        if line.isEmpty():
            return line
        area = QPainterPath(line)
        area.lineTo(line.currentPosition().x(), self.rect.bottom())
        area.lineTo(self.x_of(0), self.rect.bottom())
        area.closeSubpath()
        return area


def axis_ticks(top: int, max_ticks: int) -> tuple[int, ...]:
    """Return round numbers of tokens up to `top`, 0 among them, at most `max_ticks` above it."""
    raw = max(1.0, top / max(1, max_ticks))
    scale = 10 ** (len(str(int(raw))) - 1)
    step = next(round(scale * factor) for factor in _TICK_STEPS if scale * factor >= raw)
    return tuple(range(0, top + 1, max(1, step)))


def axis_width(top: int) -> float:
    metrics = QFontMetricsF(ui_font(_LABEL_PX, 500))
    ticks = {tick for count in range(1, _MAX_TICKS + 1) for tick in axis_ticks(top, count)}
    return max(metrics.horizontalAdvance(format_tokens(tick)) for tick in ticks) + scaled(8)


def times_height() -> float:
    return scaled(round(_LABEL_HEIGHT)) + 2.0


def paint_axis(painter: QPainter, plot: Plot, theme: Theme) -> None:
    painter.setFont(ui_font(_LABEL_PX, 500))
    max_ticks = int(plot.rect.height() / scaled(round(_TICK_DISTANCE)))
    for tick in axis_ticks(plot.top, max(1, min(_MAX_TICKS, max_ticks))):
        y = plot.y_of(tick)
        painter.setPen(QPen(QColor(theme.border_strong if tick == 0 else theme.border), 1))
        painter.drawLine(QPointF(plot.rect.left(), y), QPointF(plot.rect.right(), y))
        painter.setPen(QColor(theme.faint))
        place = QRectF(0, y - _LABEL_HEIGHT / 2, plot.rect.left() - 6, _LABEL_HEIGHT)
        painter.drawText(place, AT_END, format_tokens(tick))


def paint_times(painter: QPainter, plot: Plot, theme: Theme, times: Sequence[int]) -> None:
    """Write below the plot when its points were, as many as have room; `times` in milliseconds since 1970."""
    recorded = [at_ms for at_ms in times if at_ms]
    if not recorded:
        return
    font = ui_font(_LABEL_PX, 500)
    metrics = QFontMetricsF(font)
    painter.setFont(font)
    painter.setPen(QColor(theme.faint))
    ends = (format_moment(recorded[0]), format_moment(recorded[-1]))
    widest = max(map(metrics.horizontalAdvance, ends)) + _TIME_GAP
    labels = max(1, min(5, int(plot.rect.width() / max(1.0, widest))))
    # Where the label before ends, and what it says.
    end = plot.rect.left() - _TIME_GAP
    before = ""
    for number in range(labels):
        index = round(number * (len(times) - 1) / max(1, labels - 1))
        text = format_moment(times[index]) if times[index] else before
        if text == before:
            continue
        width = metrics.horizontalAdvance(text)
        left = min(max(plot.rect.left(), plot.x_of(index) - width / 2), plot.rect.right() - width)
        if left >= end + _TIME_GAP / 2:
            place = QRectF(left, plot.rect.bottom() + 8, width + 2, times_height())
            painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, text)
            end = left + width
            before = text


def paint_curve(painter: QPainter, line: QPainterPath, color: str, dashed: bool = False) -> None:
    """Draw one curve; a long one in thin lines, which take 0.4 ms instead of 15."""
    is_long = line.elementCount() > _MANY_POINTS
    pen = QPen(QColor(color), 1.0 if is_long else 1.6)
    pen.setCosmetic(is_long)
    if dashed:
        pen.setDashPattern([3, 3])
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen)
    painter.drawPath(line)


def paint_dot(painter: QPainter, place: QPointF, color: str, theme: Theme, radius: float = 4.0) -> None:
    painter.setPen(QPen(QColor(theme.surface), 1.5))
    painter.setBrush(QColor(color))
    painter.drawEllipse(place, radius, radius)


def nearest_seq(seqs: Sequence[int], seq: int) -> int:
    """Return the index of the first point at or after an event; the last one behind all. Needs a point."""
    return min(bisect_left(seqs, seq), len(seqs) - 1)
