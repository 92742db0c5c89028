"""The inspector's pictures: the stacked bar of the window and the bars of what each sweep saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.inspector.rows import Segment, SegmentKind
from helix_desktop.ui.theme import LIGHT, Theme

_BAR, _OVER = 12.0, 3.0  # height of the bar, and how far the tick stands out of it, in pixels
_GAP = 1.5  # between two segments
_MOST_BARS = 24

SEGMENT_INKS: dict[SegmentKind, Callable[[Theme], str]] = {
    "system": lambda theme: theme.seg_system,
    "tools": lambda theme: theme.seg_tools,
    "handover": lambda theme: theme.seg_handover,
    "user": lambda theme: theme.seg_user,
    "assistant": lambda theme: theme.seg_assistant,
    "output": lambda theme: theme.seg_output,
    "recalled": lambda theme: theme.seg_recalled,
    "observations": lambda theme: theme.seg_handover,
    "fold": lambda theme: theme.seg_handover,
    "pinned": lambda theme: theme.seg_recalled,
    "reserve": lambda theme: theme.scrollbar,
    "free": lambda theme: theme.seg_free,
}


class WindowBar(QWidget):
    """What fills the window, and at the right what is kept for the answer; a tick at the threshold."""

    def __init__(self) -> None:
        super().__init__()
        self._theme = LIGHT
        self._segments: tuple[Segment, ...] = ()
        self._window, self._threshold = 1, 0.85
        self.setFixedHeight(int(_BAR + 2 * _OVER))
        self.setMouseTracking(True)

    def show_window(self, segments: Sequence[Segment], window: int, threshold: float) -> None:
        """Show other segments; `window` in tokens, `threshold` a part of 1."""
        self._segments = tuple(segment for segment in segments if segment.tokens > 0)
        self._window, self._threshold = max(1, window), threshold
        parts = ", ".join(f"{segment.label} {tokens_text(segment.tokens)}" for segment in self._segments)
        self.setAccessibleName(f"Window: {parts}; handover at {threshold * 100:.0f} %")
        self.update()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Name the segment under the mouse."""
        for segment, left, right in self._spans():
            if left <= event.position().x() < right:
                share = segment.tokens / self._window
                text = f"{segment.label} · {segment.tokens:,} tokens · {share * 100:.0f} %"
                QToolTip.showText(event.globalPosition().toPoint(), text, self)
                return

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw segments and tick."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        body = QRectF(0, _OVER, self.width(), _BAR)
        shape = QPainterPath()
        shape.addRoundedRect(body, _BAR / 2, _BAR / 2)
        painter.setClipPath(shape)
        painter.fillRect(body, QColor(self._theme.seg_free))
        for segment, left, right in self._spans():
            if segment.kind == "free":
                continue
            ink = QColor(SEGMENT_INKS[segment.kind](self._theme))
            if segment.kind == "reserve":
                painter.fillRect(QRectF(left + _GAP, _OVER, right - left, _BAR), ink)
            else:
                painter.fillRect(QRectF(left, _OVER, max(1.0, right - left - _GAP), _BAR), ink)
        painter.setClipping(False)
        x = self.width() * self._threshold
        painter.setPen(QPen(QColor(self._theme.side), 4))
        painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))
        painter.setPen(QPen(QColor(self._theme.text), 2))
        painter.drawLine(QPointF(x, 0.5), QPointF(x, self.height() - 0.5))

    def _spans(self) -> list[tuple[Segment, float, float]]:
        scale, x = self.width() / self._window, 0.0
        spans: list[tuple[Segment, float, float]] = []
        for segment in self._segments:
            if segment.kind in ("free", "reserve"):
                continue
            spans.append((segment, x, x + segment.tokens * scale))
            x += segment.tokens * scale
        kept = [segment for segment in self._segments if segment.kind == "reserve"]
        spans += [(one, max(x, self.width() - one.tokens * scale), self.width()) for one in kept]
        spans += [(segment, x, self.width()) for segment in self._segments if segment.kind == "free"]
        return spans


class SavedBars(QWidget):
    """One bar for each sweep, as high as the tokens it saved; the newest is the darkest."""

    def __init__(self) -> None:
        super().__init__()
        self._theme = LIGHT
        self._sweeps: tuple[int, ...] = ()
        self.setFixedHeight(42)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)

    def show_sweeps(self, sweeps: Sequence[int]) -> None:
        """Show the newest sweeps, in tokens saved, oldest first."""
        self._sweeps = tuple(sweeps[-_MOST_BARS:])
        self.setVisible(bool(self._sweeps))
        self.setAccessibleName(
            "Tokens saved per sweep: " + ", ".join(tokens_text(one) for one in self._sweeps)
        )
        self.update()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(200, 42)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say what the sweep under the mouse saved."""
        at = int(event.position().x() // self._pitch())
        if 0 <= at < len(self._sweeps):
            text = f"This sweep saved {self._sweeps[at]:,} tokens"
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bars."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        highest, pitch = max((*self._sweeps, 1)), self._pitch()
        for at, saved in enumerate(self._sweeps):
            height = 3 + (self.height() - 4) * saved / highest
            ink = QColor(self._theme.seg_assistant)
            ink.setAlphaF(1.0 if at == len(self._sweeps) - 1 else 0.45)
            painter.setBrush(ink)
            bar = QRectF(at * pitch, self.height() - height, pitch - 3, height)
            painter.drawRoundedRect(bar, 2.5, 2.5)

    def _pitch(self) -> float:
        # A few bars keep the width that many would have: one sweep is no wall.
        return self.width() / max(14, len(self._sweeps))
