"""The chart of the context over time, and the scrubber through the past."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QSlider, QToolTip, QWidget

from helix_desktop.context.log.steps import Step
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design import plot as plots
from helix_desktop.ui.design.focus import KEYBOARD_REASONS
from helix_desktop.ui.design.plot import Plot
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.timeline.usage_points import (
    DROP_KINDS,
    POINT_COLORS,
    PointKind,
    UsagePoint,
    sent_points,
)
from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.steps import step_name, step_text
from helix_desktop.words.times import format_moment
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_HEIGHT = 132  # pixels
_TALL = 188  # pixels where the window was overfull, to keep the rest distinct
_TOP_MARGIN = 8.0  # pixels above the plot
_RIGHT = 52  # pixels for the labels at 100 %
_LABEL = 13.0  # pixels between two labels
_AT_END = 5.0  # pixels from the last point that count as now

SCRUBBER_HEIGHT = 18  # pixels
_RADIUS = 6.0


class Scrubber(Themed, QSlider):
    """A slider over the steps, with now as its last value; the chart below it handles the mouse.

    Left and Right go by steps, with Shift, or PgUp and PgDn, by turns; Home to the first step, End and Esc
    to now; Enter to the step's place in the chat.
    """

    step_chosen = Signal(int)
    """The event of the step to look at; 0: now."""
    place_requested = Signal(int)
    """The event of the step that is to be shown in the chat; by Enter."""

    def __init__(self, parent: QWidget, x_of: Callable[[int], float]) -> None:
        """`x_of` returns where the event of a step stands in the parent, 0 for now."""
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._x_of = x_of
        self.steps: Sequence[Step] = ()
        self._has_ring = False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Look at an earlier request"))
        self.setRange(0, 0)
        self._describe()

    @property
    def step(self) -> Step | None:
        return self.steps[self.value()] if self.value() < len(self.steps) else None

    def set_steps(self, steps: Sequence[Step]) -> None:
        at = self.step.seq if self.step is not None else 0
        self.steps = steps
        self.setRange(0, len(steps))
        self.look_at(at)
        self.setVisible(bool(steps))

    def look_at(self, seq: int) -> None:
        """Stand at the step of an event, or at now (0), without telling anybody."""
        place = bisect_left(self.steps, seq, key=lambda step: step.seq) if seq else len(self.steps)
        self.setValue(place)
        self._describe()
        self.update()

    def choose(self, seq: int) -> None:
        """Go to the step of an event, or to now (0), as the user does."""
        before = self.value()
        self.look_at(seq)
        if self.value() != before:
            self.step_chosen.emit(self.step.seq if self.step is not None else 0)

    def step_of(self, seq: int) -> Step | None:
        place = bisect_left(self.steps, seq, key=lambda step: step.seq)
        found = self.steps[place] if place < len(self.steps) else None
        return found if found is not None and found.seq == seq else None

    def step_before(self, seq: int) -> int:
        """Return the newest step at or before an event, by its own event; the first one before all."""
        place = bisect_left(self.steps, seq + 1, key=lambda step: step.seq) - 1
        return self.steps[max(0, place)].seq if self.steps else 0

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.steps:
            event.ignore()
            return
        by_turn = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        places = {
            Qt.Key.Key_Left: self._turn_place(-1) if by_turn else self.value() - 1,
            Qt.Key.Key_Right: self._turn_place(1) if by_turn else self.value() + 1,
            Qt.Key.Key_PageDown: self._turn_place(-1),
            Qt.Key.Key_PageUp: self._turn_place(1),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(self.steps),
        }
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Escape and self.step is not None:
            self.choose(0)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.place_requested.emit((self.step or self.steps[-1]).seq)
            return
        elif key not in places:
            event.ignore()
            return
        else:
            place = min(max(0, places[key]), len(self.steps))
            self.choose(self.steps[place].seq if place < len(self.steps) else 0)
        accessibility.announce(self, self.accessibleDescription())

    def _turn_place(self, direction: int) -> int:
        """Return the first step of this turn or the one before it (-1), or of the next one (1)."""
        here = self.value()
        turn = self.steps[here].turn if here < len(self.steps) else self.steps[-1].turn + 1
        if direction > 0:
            return self._first_of(turn + 1)
        first = self._first_of(turn)
        return first if first < here else self._first_of(self.steps[max(0, here - 1)].turn)

    def _first_of(self, turn: int) -> int:
        """Return the first step of a turn, or of the next one that has any; the end without one."""
        return bisect_left(self.steps, turn, key=lambda step: step.turn)

    def _describe(self) -> None:
        text = step_text(self.step) if self.step is not None else tr("Now")
        self.setAccessibleDescription(text)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._has_ring = event.reason() in KEYBOARD_REASONS
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._has_ring = False
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = self._x_of(self.step.seq if self.step is not None else 0) - self.x()
        place = QPointF(x, self.height() / 2)
        theme = self._theme
        if self._has_ring:
            painter.setPen(QPen(QColor(theme.accent), 2))
            ring = QRectF(place.x() - _RADIUS - 2.5, place.y() - _RADIUS - 2.5, 17, 17)
            painter.drawEllipse(ring)
        painter.setPen(QPen(QColor(theme.accent), 2))
        painter.setBrush(QColor(theme.surface if self.step is None else theme.accent))
        painter.drawEllipse(place, _RADIUS - 1, _RADIUS - 1)


def downsample(points: Sequence[UsagePoint], max_points: int) -> list[UsagePoint]:
    """Return about `max_points` points at most: the fullest of each stretch, and all with a dot."""
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
            if point is fullest or point is points[-1] or point.kind in POINT_COLORS or at in changed
        ]
    return sampled


def point_text(point: UsagePoint, window_size: int) -> str:
    """Return tokens in context, their share of the window (its own, else `window_size`), after what."""
    follows: dict[PointKind, str] = {
        "sweep": tr("after outputs were cached"),
        **dict.fromkeys(("fold", "observations", "handover"), tr("after older messages were compacted")),
        "form": tr("after you sent an output in another form"),
        "exclude": tr("after you left something out"),
        "undo": tr("after an undo"),
        "redo": tr("after a redo"),
        "failure": tr("after a failed attempt"),
    }
    size = point.window or window_size
    about = "≈ " if point.is_estimated else ""
    share = format_whole_percent(point.used / size, is_estimated=point.is_estimated) if size else ""
    parts = (
        about + tr.plural(point.used, "%n token in context", "%n tokens in context"),
        tr("{share} of {size}", share=share, size=format_tokens(size)) if size else "",
        follows.get(point.kind, ""),
        format_moment(point.at_ms),
        f"e{point.seq}",
    )
    return " · ".join(filter(None, parts))


class UsageChart(Themed, QWidget):
    """Painted from points; a click asks for the event nearest to it, a drag looks at the steps under it."""

    accessible_role = QAccessible.Role.Chart

    point_clicked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._points: list[UsagePoint] = []
        self._seqs: list[int] = []
        self._window = 0
        self._threshold = 0.85
        self._top = 1
        self._picture: QPixmap | None = None  # of all but what moves: a step must not draw the curve again
        self._hovered: UsagePoint | None = None
        self._pressed: QPointF | None = None
        self._is_dragging = False
        self.scrubber = Scrubber(self, self.x_of_event)
        self.scrubber.valueChanged.connect(lambda _: self.update())
        self.scrubber.place_requested.connect(self.point_clicked)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)

    def set_points(self, points: Sequence[UsagePoint], window_size: int, threshold: float) -> None:
        """Show what was sent, or is next, of other points; `window_size` in tokens.

        `threshold` is a part of 1 (0: none).
        """
        points = sent_points(points)
        self._points = downsample(points, 1_200)
        self._window = window_size
        self._threshold = threshold
        self._seqs = [point.seq for point in self._points]
        self._hovered = None
        self._top = max([window_size, 1, *(max(point.used, point.window) for point in self._points)])
        drops = sum(point.kind in DROP_KINDS for point in points)
        name = tr.plural(
            drops,
            "Tokens in context: now {used} of {size}, at most {peak}, reduced once",
            "Tokens in context: now {used} of {size}, at most {peak}, reduced %n times",
            used=format_tokens(points[-1].used if points else 0),
            size=format_tokens(window_size),
            peak=format_tokens(max((point.used for point in points), default=0)),
        )
        self.setAccessibleName(name)
        self._picture = None
        self.updateGeometry()
        self.update()

    @property
    def is_overfull(self) -> bool:
        return any(point.used > (point.window or self._window) for point in self._points)

    @property
    def plot(self) -> Plot:
        left = plots.axis_width(self._top)
        floor = self.height() - plots.times_height() - 10
        wide = self.width() - scaled(_RIGHT) - left
        return Plot(
            QRectF(left, _TOP_MARGIN, max(1.0, wide), max(1.0, floor - _TOP_MARGIN)),
            len(self._points),
            self._top,
        )

    def x_of_event(self, seq: int) -> float:
        """Return where an event stands, in pixels from the left; 0: now."""
        plot = self.plot
        if not self._points:
            return plot.rect.right()
        return plot.x_of(plots.nearest_seq(self._seqs, seq) if seq else len(self._points) - 1)

    def sizeHint(self) -> QSize:
        return QSize(400, scaled(_TALL if self.is_overfull else _HEIGHT))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._picture = None
        top = round(self.plot.rect.bottom() - SCRUBBER_HEIGHT / 2)
        self.scrubber.setGeometry(0, top, self.width(), SCRUBBER_HEIGHT)

    def apply_theme(self) -> None:
        super().apply_theme()
        self._picture = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the handle at once where it lies; elsewhere wait whether it becomes a drag or a click."""
        if event.button() != Qt.MouseButton.LeftButton or not self._points:
            return
        self._pressed = event.position()
        if self.scrubber.geometry().contains(event.position().toPoint()):
            self._drag_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position()
        if self._pressed is not None and not self._is_dragging:
            is_dragged = (place - self._pressed).manhattanLength() >= QApplication.startDragDistance()
            self._is_dragging = is_dragged
        if self._is_dragging:
            self._drag_to(place.x())
        on_handle = self.scrubber.geometry().contains(place.toPoint())
        self.setCursor(Qt.CursorShape.SizeHorCursor if on_handle else Qt.CursorShape.PointingHandCursor)
        point = self._nearest_point(place.x())
        if point is not self._hovered:
            self._hovered = point
            self.update()
        if point is not None:
            step = self.scrubber.step_of(point.seq)
            words = point_text(point, self._window)
            text = f"{step_name(step)} · {words}" if step is not None else words
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        point = self._nearest_point(event.position().x())
        dragged = self._is_dragging
        self._pressed = None
        self._is_dragging = False
        if point is not None and not dragged and event.button() == Qt.MouseButton.LeftButton:
            self.point_clicked.emit(point.seq)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = None
        self.update()

    def _drag_to(self, x: float) -> None:
        self._is_dragging = True
        self.scrubber.setFocus(Qt.FocusReason.MouseFocusReason)
        plot = self.plot
        if x >= plot.x_of(len(self._points) - 1) - _AT_END:
            self.scrubber.choose(0)
        else:
            self.scrubber.choose(self.scrubber.step_before(self._points[plot.index_at(x)].seq))

    def paintEvent(self, event: QPaintEvent) -> None:
        ratio = self.devicePixelRatioF()
        if self._picture is None or self._picture.devicePixelRatioF() != ratio:
            self._picture = QPixmap(self.size() * ratio)
            self._picture.setDevicePixelRatio(ratio)
            self._picture.fill(Qt.GlobalColor.transparent)
            picture_painter = QPainter(self._picture)
            self._paint_chart(picture_painter)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.drawPixmap(0, 0, self._picture)
        if not self._points:
            return
        plot = self.plot
        step = self.scrubber.step
        self._paint_hovered(painter, plot)
        if step is not None:
            self._paint_past(painter, plot, step)
        else:
            last = QPointF(plot.x_of(len(self._points) - 1), plot.y_of(self._points[-1].used))
            plots.paint_dot(painter, last, self._theme.accent, self._theme, 4.5)

    def _paint_chart(self, painter: QPainter) -> None:
        """Draw axis, times, the window's edge and the threshold, area, line and drops; end the painter."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plot = self.plot
        plots.paint_axis(painter, plot, self._theme)
        plots.paint_times(painter, plot, self._theme, [point.at_ms for point in self._points])
        self._paint_bounds(painter, plot)
        line = plot.line_of([point.used for point in self._points])
        area = plot.area_below(line)
        background = QColor(self._theme.accent)
        background.setAlphaF(0.16 if self._theme.dark else 0.09)
        painter.fillPath(area, background)
        if self.is_overfull:
            self._paint_overfull(painter, plot, area)
        plots.paint_curve(painter, line, self._theme.seg_fixed)
        for at, point in enumerate(self._points):
            if token := POINT_COLORS.get(point.kind):
                color = str(getattr(self._theme, token))
                plots.paint_dot(painter, QPointF(plot.x_of(at), plot.y_of(point.used)), color, self._theme)
        painter.end()

    def _paint_bounds(self, painter: QPainter, plot: Plot) -> None:
        theme = self._theme
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.error if self.is_overfull else theme.muted), 1))
        painter.drawPath(self._level(plot, 1.0))
        if self._threshold:
            pen = QPen(QColor(theme.warn), 1)
            pen.setDashPattern([4, 4])
            painter.setPen(pen)
            painter.drawPath(self._level(plot, self._threshold))
        self._paint_labels(painter, plot)

    def _paint_overfull(self, painter: QPainter, plot: Plot, area: QPainterPath) -> None:
        above = self._level(plot, 1.0)
        above.lineTo(self.width(), 0)
        above.lineTo(0, 0)
        above.closeSubpath()
        over = QColor(self._theme.error)
        over.setAlphaF(0.35 if self._theme.dark else 0.22)
        painter.fillPath(area.intersected(above), over)

    def _paint_hovered(self, painter: QPainter, plot: Plot) -> None:
        if self._hovered is None or self._hovered not in self._points:
            return
        x = plot.x_of(self._points.index(self._hovered))
        painter.setPen(QPen(QColor(self._theme.muted), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(x, plot.rect.top()), QPointF(x, plot.rect.bottom()))
        plots.paint_dot(painter, QPointF(x, plot.y_of(self._hovered.used)), self._theme.muted, self._theme)

    def _paint_past(self, painter: QPainter, plot: Plot, step: Step) -> None:
        x = self.x_of_event(step.seq)
        later = QColor(self._theme.surface)
        later.setAlphaF(0.72)
        painter.fillRect(QRectF(x, 0, plot.rect.right() - x + 6, plot.rect.bottom()), later)
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        painter.drawLine(QPointF(x, plot.rect.top() - 4), QPointF(x, plot.rect.bottom()))
        point = self._points[plots.nearest_seq(self._seqs, step.seq)]
        plots.paint_dot(painter, QPointF(x, plot.y_of(point.used)), self._theme.accent, self._theme, 4.5)

    def _level(self, plot: Plot, share: float) -> QPainterPath:
        """Return the line at a share of the window; a step where the window was another."""
        path = QPainterPath()
        sizes = [point.window or self._window for point in self._points] or [self._window]
        path.moveTo(plot.rect.left(), plot.y_of(round(sizes[0] * share)))
        for at, (before, size) in enumerate(pairwise(sizes), 1):
            if size != before:
                path.lineTo(plot.x_of(at), plot.y_of(round(before * share)))
                path.lineTo(plot.x_of(at), plot.y_of(round(size * share)))
        path.lineTo(plot.rect.right(), plot.y_of(round(sizes[-1] * share)))
        return path

    def _paint_labels(self, painter: QPainter, plot: Plot) -> None:
        last = (self._points[-1].window if self._points else 0) or self._window
        threshold = format_whole_percent(self._threshold)
        labels = [(plot.y_of(last), format_tokens(last), self._theme.muted)]
        if self._threshold:
            labels.insert(0, (plot.y_of(round(last * self._threshold)), threshold, self._theme.warn))
        if self._top > last and self.is_overfull:
            labels.reverse()  # the edge is what an overfull window is measured by
            labels.insert(1, (plot.y_of(self._top), format_tokens(self._top), self._theme.error))
        painter.setFont(ui_font(11, 500))
        used_ys: list[float] = []
        for y, text, color in labels:
            if all(abs(y - other) >= scaled(round(_LABEL)) for other in used_ys):
                used_ys.append(y)
                painter.setPen(QColor(color))
                room = scaled(_RIGHT - 6)
                half = scaled(9)
                place = QRectF(self.width() - room, y - half, room, 2 * half)
                painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _nearest_point(self, x: float) -> UsagePoint | None:
        return self._points[self.plot.index_at(x)] if self._points else None
