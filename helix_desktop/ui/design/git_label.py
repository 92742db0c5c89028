"""The branch and state of a git checkout on one line."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.words.git import NO_GIT, GitText
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator

tr = Translator("Git")

_ICON_PX = 13
_GAP_PX = 5
_FONT_PX = 12
_SHORTEST_PX = 60  # of a branch, before the state goes
_MIDDLE = Qt.TextElideMode.ElideMiddle


def fit_git_text(text: GitText, metrics: QFontMetricsF, room: float) -> str:
    """Return what fits: all; without the worktree; with the branch's name cut in its middle; that alone."""
    for parts in ((text.head, text.state, text.worktree), (text.head, text.state)):
        line = dotted(parts)
        if metrics.horizontalAdvance(line) <= room:
            return line
    tail = f" · {text.state}" if text.state else ""
    left = room - metrics.horizontalAdvance(tail)
    if left < scaled(_SHORTEST_PX):
        return metrics.elidedText(text.head, _MIDDLE, room)
    return metrics.elidedText(text.head, _MIDDLE, left) + tail


class GitLabel(EnterActivates, Themed, QAbstractButton):
    """A button with branch and state, hidden outside a checkout; the tooltip says all of it in words."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("git_state")
        self._text = NO_GIT
        self._font = ui_font(_FONT_PX)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.show_text(NO_GIT)

    @property
    def has_text(self) -> bool:
        return bool(self._text.on_one_line)

    def show_text(self, text: GitText) -> None:
        self._text = text
        self.setAccessibleName(tr("Git: {state}", state=text.on_one_line) if text.on_one_line else "")
        action = tr("Click to see what changed since the last commit")
        self.setToolTip(plain_tooltip("\n".join((*text.details, action))))
        self.setAccessibleDescription(", ".join(text.details))
        self.setVisible(self.has_text)
        self.updateGeometry()
        self.update()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._font = ui_font(_FONT_PX)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self._font)
        width = metrics.horizontalAdvance(self._text.on_one_line) + scaled(_ICON_PX) + _GAP_PX + 2
        return QSize(int(width), max(scaled(_ICON_PX), int(metrics.height())) + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.sizeHint().width(), 48), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        color = self._theme.text if self.underMouse() else self._theme.muted
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)
        side = scaled(_ICON_PX)
        picture = pixmap("git-branch", color, side, self.devicePixelRatioF())
        painter.drawPixmap(QPointF(0, (self.height() - side) // 2), picture)
        left = side + _GAP_PX
        room = QRectF(left, 0, self.width() - left, self.height())
        painter.setFont(self._font)
        painter.setPen(QColor(color))
        line = fit_git_text(self._text, QFontMetricsF(self._font), room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, line)
