"""The small bar that shows how full a context window is, and its colors."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from helix_desktop.ui.design.style.theme import Theme

_WARN_SHARE = 0.7  # of the context window: from here on gauges have a color


def share_color(share: float, theme: Theme) -> str:
    """Return the color of a share of the context window: another from 70 % on, and where it is full."""
    if share >= 1.0:
        return theme.error
    return theme.warn if share >= _WARN_SHARE else theme.accent


def paint_usage_bar(painter: QPainter, bar: QRectF, share: float, color: str, theme: Theme) -> None:
    """Paint a bar that is filled to a share; above 1 to scale, with a gap where the window ends."""
    round_px = bar.height() / 2
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.seg_free))
    painter.drawRoundedRect(bar, round_px, round_px)
    if share <= 0:
        return
    painter.setBrush(QColor(color))
    full = max(2 * round_px, bar.width() * min(1.0, share))
    painter.drawRoundedRect(QRectF(bar.x(), bar.y(), full, bar.height()), round_px, round_px)
    if share > 1:
        painter.fillRect(
            QRectF(bar.x() + bar.width() / share - 1, bar.y(), 2, bar.height()), QColor(theme.surface)
        )
