"""The stacked bar of what fills the context window, and the colors of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QAccessible,
    QBrush,
    QColor,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from helix_desktop.ui.design.mirror import mirror, mirrored_x
from helix_desktop.ui.design.style.theme import Theme, Themed
from helix_desktop.ui.inspector.inspector_data import Segment, SegmentKind
from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_BAR, _OVER = 8.0, 4.0  # height of the bar, and how far ticks stand out of it, in pixels
_GAP = 1.5  # between two segments
_NEAR_TICK = 4.0  # pixels on each side of a tick in which the mouse asks for it

SEGMENT_COLORS: dict[SegmentKind | Literal["excluded"], Callable[[Theme], str]] = {
    "system": lambda theme: theme.seg_system,
    "tools": lambda theme: theme.seg_tools,
    "mcp": lambda theme: theme.seg_mcp,
    "fields": lambda theme: theme.muted,
    "environment": lambda theme: theme.seg_environment,
    "instructions": lambda theme: theme.seg_instructions,
    "handover": lambda theme: theme.seg_handover,
    "user": lambda theme: theme.seg_user,
    "assistant": lambda theme: theme.seg_assistant,
    "output": lambda theme: theme.seg_output,
    "recalled": lambda theme: theme.seg_recalled,
    "pinned": lambda theme: theme.seg_pinned,
    "excluded": lambda theme: theme.muted,
    "reserve": lambda theme: theme.scrollbar,
    "free": lambda theme: theme.seg_free,
}


class ContextBar(Themed, QWidget):
    """What fills the window, at the right what is kept for the answer; a tick where it is compacted.

    What does not fit is drawn to the same scale, behind a mark at the window's edge.
    """

    accessible_role = QAccessible.Role.Chart

    def __init__(self) -> None:
        super().__init__()
        self._segments: tuple[Segment, ...] = ()
        self._window, self._used, self._scale = 1, 0, 1.0
        self._threshold = 0.0
        self.setFixedHeight(int(_BAR + 2 * _OVER))
        self.setMouseTracking(True)

    def show_window(self, segments: Sequence[Segment], used: int, window_size: int, threshold: float) -> None:
        """Show other segments; `window_size` in tokens, of which the provider counts `used`.

        `threshold` is the share at which it is compacted, 0 where it never is.
        """
        self._segments = tuple(segment for segment in segments if segment.tokens > 0)
        self._window, self._threshold = max(1, window_size), threshold
        filling = [part for part in segments if part.kind not in ("free", "reserve")]
        # The parts are by our count; they share the place that the provider's total takes.
        self._used, self._scale = used, used / max(1, sum(part.tokens for part in filling))
        parts = [f"{segment.label} {format_tokens(segment.tokens)}" for segment in self._segments]
        over = [self._over_text()] if self._used > self._window else []
        self.setAccessibleName(
            tr("Context: {parts}", parts=" · ".join(filter(None, [*parts, self._threshold_text(), *over])))
        )
        self.update()

    def window_edge_px(self) -> float:
        """Return where the window ends, in pixels from the left: the right end unless it is overfull."""
        return self.width() * self._window / max(self._window, self._used)

    def _threshold_text(self) -> str:
        if not self._threshold:
            return ""
        return tr("Compacts at {share}", share=format_whole_percent(self._threshold))

    def _over_text(self) -> str:
        return tr(
            "{excess} tokens over the context window of {size}",
            excess=format_tokens(self._used - self._window),
            size=format_tokens(self._window),
        )

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        tip = self.tooltip_at(mirrored_x(self, event.position().x()))
        if tip:
            QToolTip.showText(event.globalPosition().toPoint(), tip, self)

    def tooltip_at(self, x: float) -> str:
        if self._used > self._window and abs(x - self.window_edge_px()) <= _NEAR_TICK:
            return self._over_text()
        if self._threshold and abs(x - self.window_edge_px() * self._threshold) <= _NEAR_TICK:
            return self._threshold_text()
        for segment, left, right in self._spans():
            if left <= x < right:
                tokens = tr.plural(segment.tokens, "%n token", "%n tokens")
                is_part = segment.kind not in ("free", "reserve")
                share = segment.tokens * (self._scale if is_part else 1.0) / self._window
                return f"{segment.label} · {tokens} · {format_whole_percent(share)}"
        return ""

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        body = QRectF(0, _OVER, self.width(), _BAR)
        shape = QPainterPath()
        shape.addRoundedRect(body, _BAR / 2, _BAR / 2)
        painter.setClipPath(shape)
        painter.fillRect(body, QColor(self._theme.seg_free))
        for segment, left, right in self._spans():
            if segment.kind == "free":
                continue
            color = QColor(SEGMENT_COLORS[segment.kind](self._theme))
            if segment.kind == "reserve":
                painter.fillRect(QRectF(left + _GAP, _OVER, right - left, _BAR), color)
            else:
                painter.fillRect(QRectF(left, _OVER, max(1.0, right - left - _GAP), _BAR), color)
        over = QRectF(self.window_edge_px(), _OVER, self.width() - self.window_edge_px(), _BAR)
        veil = QColor(self._theme.surface)
        veil.setAlphaF(0.45)
        painter.fillRect(over, veil)
        painter.fillRect(over, QBrush(QColor(self._theme.error), Qt.BrushStyle.BDiagPattern))
        painter.setClipping(False)
        if self._threshold:
            x = self.window_edge_px() * self._threshold
            painter.setPen(QPen(QColor(self._theme.side), 4))
            painter.drawLine(QPointF(x, 0.5), QPointF(x, self.height() - 0.5))
            painter.setPen(QPen(QColor(self._theme.text), 2))
            painter.drawLine(QPointF(x, 1), QPointF(x, self.height() - 1))
        if self._used > self._window:
            self._paint_edge(painter)

    def _paint_edge(self, painter: QPainter) -> None:
        x, bottom = self.window_edge_px(), self.height() - 1.0
        painter.setPen(QPen(QColor(self._theme.surface), 5))
        painter.drawLine(QPointF(x, 0), QPointF(x, bottom))
        painter.setPen(QPen(QColor(self._theme.error), 2))
        for begin, end in (
            ((x, 1), (x, bottom)),
            ((x - 3, 1), (x + 3, 1)),
            ((x - 3, bottom), (x + 3, bottom)),
        ):
            painter.drawLine(QPointF(*begin), QPointF(*end))

    def _spans(self) -> list[tuple[Segment, float, float]]:
        scale, x = self.window_edge_px() / self._window, 0.0
        spans: list[tuple[Segment, float, float]] = []
        for segment in self._segments:
            if segment.kind in ("free", "reserve"):
                continue
            width = segment.tokens * scale * self._scale
            spans.append((segment, x, x + width))
            x += width
        reserved = [segment for segment in self._segments if segment.kind == "reserve"]
        spans += [
            (segment, max(x, self.width() - segment.tokens * scale), self.width()) for segment in reserved
        ]
        spans += [(segment, x, self.width()) for segment in self._segments if segment.kind == "free"]
        return spans
