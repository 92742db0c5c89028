"""The mode of the session in the top bar: a pill with a word, and the menu that changes it."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QMenu, QPushButton

from helix_desktop.context.tool import Mode
from helix_desktop.ui import fonts
from helix_desktop.ui.icons import pixmap
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import EnterPresses

MODE_WORDS: dict[Mode, str] = {"ask": "Ask", "plan": "Plan", "auto": "Auto"}
_TIPS: dict[Mode, str] = {
    "ask": "Mode ask: you are asked before anything is changed or run (Ctrl+.)",
    "plan": "Mode plan: the agent only reads and plans (Ctrl+.)",
    "auto": "Mode auto: edits and commands in the sandbox run unasked (Ctrl+.)",
}
_ICONS: dict[Mode, str] = {"ask": "shield", "plan": "list-tree", "auto": "zap"}
_INKS: dict[Mode, tuple[str, str]] = {
    "ask": ("muted", "raised"),
    "plan": ("accent_text", "accent_soft"),
    "auto": ("warn", "warn_soft"),
}
_HEIGHT_PX, _ICON_PX, _PAD_PX, _CHEVRON_PX = 30, 14, 9, 14

ModeForm = Literal["word", "icon"]


class ModeButton(EnterPresses, QPushButton):
    """Shows a session's mode; its menu changes it."""

    def __init__(self, menu: QMenu) -> None:
        super().__init__()
        self._theme = LIGHT
        self._mode: Mode = "ask"
        self._form: ModeForm = "word"
        self.setMenu(menu)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.show_mode("ask")

    def show_mode(self, mode: Mode) -> None:
        """Show a mode."""
        self._mode = mode
        self.setToolTip(_TIPS[mode])
        self.setAccessibleName(f"Mode: {MODE_WORDS[mode]}")
        self.setAccessibleDescription(_TIPS[mode])
        self.set_form(self._form)
        self.update()

    def set_form(self, form: ModeForm) -> None:
        """Show the word beside the icon, or the icon alone."""
        self._form = form
        self.setFixedSize(QSize(self.width_at(form), _HEIGHT_PX))

    def width_at(self, form: ModeForm) -> int:
        """Width in pixels in a form, the same in every mode."""
        metrics = QFontMetricsF(self._font())
        if form == "icon":
            return _HEIGHT_PX
        widest = max(metrics.horizontalAdvance(word) for word in MODE_WORDS.values())
        return 2 * _PAD_PX + _ICON_PX + round(widest) + 6 + _CHEVRON_PX

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint ground, icon, word and chevron; a ring where it has the keyboard."""
        theme = self._theme
        ink, ground = (getattr(theme, name) for name in _INKS[self._mode])
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = theme.accent if self.hasFocus() else theme.border_strong if self.underMouse() else theme.border
        painter.setPen(QPen(QColor(edge), 2 if self.hasFocus() else 1))
        painter.setBrush(QColor(ground))
        whole = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.drawRoundedRect(whole, 9, 9)
        top = (self.height() - _ICON_PX) // 2
        left = _PAD_PX if self._form == "word" else (self.width() - _ICON_PX) // 2
        painter.drawPixmap(left, top, pixmap(_ICONS[self._mode], ink, _ICON_PX, self.devicePixelRatioF()))
        if self._form == "word":
            self._paint_word(painter, ink, whole)

    def _paint_word(self, painter: QPainter, ink: str, whole: QRectF) -> None:
        painter.setFont(self._font())
        painter.setPen(QColor(ink))
        place = whole.adjusted(_PAD_PX + _ICON_PX + 5, 0, -_CHEVRON_PX, 0)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, MODE_WORDS[self._mode])
        painter.setPen(QPen(QColor(ink), 1.5, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
        x, y = self.width() - _PAD_PX - 5.0, self.height() / 2 - 1.5
        painter.drawPolyline([QPointF(x - 3, y), QPointF(x, y + 3), QPointF(x + 3, y)])

    def _font(self) -> QFont:
        return fonts.sized(self.font(), fonts.BASE_PX, QFont.Weight.Medium)
