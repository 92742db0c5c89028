"""The colored square that stands for a workspace, in rail and switcher."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QLinearGradient, QPainter

from helix_desktop.ui.design.mirror import draw_text
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.shell.sidebar.workspace_rows import WorkspaceRow

BADGE_COLOR_TOKENS = {
    "running": "seg_assistant",
    "waiting": "seg_output",
    "interrupted": "warn",
    "missing": "error",
}
"""Token that colors the dot of each badge."""


def paint_workspace_badge(painter: QPainter, rect: QRectF, workspace: WorkspaceRow, theme: Theme) -> None:
    """Paint square and initials; a workspace whose folder is missing turns gray."""
    background = QColor(workspace.display_color())
    missing = workspace.badge == "missing"
    sweep = QLinearGradient(rect.topLeft(), rect.bottomRight())
    sweep.setColorAt(0, background)
    sweep.setColorAt(1, background.darker(114))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.seg_free) if missing else sweep)
    painter.drawRoundedRect(rect, rect.width() * 0.29, rect.width() * 0.29)
    font = fonts.base(round(rect.width() * 0.34))
    font.setWeight(QFont.Weight.DemiBold)
    painter.setFont(font)
    painter.setPen(QColor(theme.muted if missing else theme.on_accent))
    draw_text(painter, rect, Qt.AlignmentFlag.AlignCenter, workspace.display_initials())
