"""The coloured square that stands for a workspace, in rail and switcher."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QLinearGradient, QPainter

from helix_desktop.ui import fonts
from helix_desktop.ui.sidebar.rows import WorkspaceRow
from helix_desktop.ui.theme import Theme

BADGE_TOKENS = {"running": "seg_assistant", "waiting": "seg_output", "missing": "error"}
"""Token that colours the dot of each badge."""


def paint_square(
    painter: QPainter, square: QRectF, workspace: WorkspaceRow, theme: Theme, reference: QFont
) -> None:
    """Paint square and initials; a workspace whose folder is missing turns grey."""
    ground = QColor(workspace.shown_color())
    missing = workspace.badge == "missing"
    sweep = QLinearGradient(square.topLeft(), square.bottomRight())
    sweep.setColorAt(0, ground)
    sweep.setColorAt(1, ground.darker(114))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.seg_free) if missing else sweep)
    painter.drawRoundedRect(square, square.width() * 0.29, square.width() * 0.29)
    painter.setFont(fonts.sized(reference, square.width() * 0.34, QFont.Weight.DemiBold))
    painter.setPen(QColor(theme.muted if missing else theme.on_accent))
    painter.drawText(square, Qt.AlignmentFlag.AlignCenter, workspace.shown_initials())
