"""The stacked bar of what fills the context window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QAccessible, QBrush, QMouseEvent, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from helix_desktop.ui.design.mirror import mirrored_x
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.inspector.inspector_state import SEGMENT_LOOKS, Segment
from helix_desktop.ui.kit.boxes import Pen
from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_BAR, _OVER = 8.0, 4.0  # height of the bar, and how far ticks stand out of it, in pixels
_GAP = 1.5  # between two segments
_NEAR_TICK = 4.0  # pixels on each side of a tick in which the mouse asks for it


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
        pen, edge = Pen.of_widget(self, self._theme), self.window_edge_px()
        body = QRectF(0, _OVER, self.width(), _BAR)
        shape = QPainterPath()
        shape.addRoundedRect(body, _BAR / 2, _BAR / 2)
        pen.qt.setClipPath(shape)
        pen.fill(body, "seg_free")
        for color, same in groupby(self._spans(), key=lambda span: SEGMENT_LOOKS[span[0].kind].color):
            spans = [*same]
            left, right = spans[0][1], spans[-1][2]
            part = QRectF(left, _OVER, max(1.0, right - left - _GAP), _BAR)
            if spans[0][0].kind == "reserve":
                part = QRectF(left + _GAP, _OVER, right - left, _BAR)
            pen.fill(part, color)
        over = QRectF(edge, _OVER, self.width() - edge, _BAR)
        pen.fill(over, "surface/45")
        pen.qt.fillRect(over, QBrush(pen.color("error"), Qt.BrushStyle.BDiagPattern))
        pen.qt.setClipping(False)
        bottom = self.height() - 1.0
        if self._threshold:
            x = edge * self._threshold
            _draw_lines(pen, "side", 4, QLineF(x, 0.5, x, bottom + 0.5))
            _draw_lines(pen, "text", 2, QLineF(x, 1, x, bottom))
        if self._used > self._window:
            ends = (QLineF(edge - 3, y, edge + 3, y) for y in (1, bottom))
            _draw_lines(pen, "surface", 5, QLineF(edge, 0, edge, bottom))
            _draw_lines(pen, "error", 2, QLineF(edge, 1, edge, bottom), *ends)

    def _spans(self) -> list[tuple[Segment, float, float]]:
        """Return from where to where each part goes, in pixels: free room fills what the others leave."""
        scale, x, right = self.window_edge_px() / self._window, 0.0, float(self.width())
        spans: list[tuple[Segment, float, float]] = []
        for segment in self._segments:
            match segment.kind:
                case "reserve":
                    spans.append((segment, max(x, right - segment.tokens * scale), right))
                case "free":
                    spans.append((segment, x, right))
                case _:
                    spans.append((segment, x, x + segment.tokens * scale * self._scale))
                    x = spans[-1][2]
        return spans


def _draw_lines(pen: Pen, color: str, width: int, *lines: QLineF) -> None:
    pen.qt.setPen(QPen(pen.color(color), width))
    pen.qt.drawLines(lines)
