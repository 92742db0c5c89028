"""The small bar that shows how full a context window is, and its colors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from helix_desktop.ui.design.pill import Tone
from helix_desktop.ui.design.style.theme import Theme

if TYPE_CHECKING:  # the window's first frame needs the colors, not the engine
    from helix_desktop.context.window.usage_gauge import UsageGauge

Pressure = Literal["calm", "near", "over", "off"]
_WARN_RATIO = 0.8  # of the threshold: from here on gauges warn


def pressure_of(gauge: UsageGauge) -> Pressure:
    """Return how near the next handover is; whether there will be one, the policy says."""
    if gauge.pressure != "none":
        return "over"
    return "calm" if gauge.used < gauge.handover_threshold * _WARN_RATIO else "near"


def share_tone(share: float, threshold: float) -> Tone:
    """Return the tone of a pill beside the gauge, in its colors: calm, near the threshold, above it."""
    if share >= threshold:
        return "error"
    return "warn" if share >= threshold * _WARN_RATIO else "accent"


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


def pressure_color(pressure: Pressure, theme: Theme) -> str:
    """Return the color of a bar that shows how full a context window is."""
    return {"calm": theme.accent, "near": theme.seg_output, "over": theme.error, "off": theme.faint}[pressure]
