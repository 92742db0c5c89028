"""The context gauge: how full the window is, where the message is written."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.mirror import draw_text, mirror
from helix_desktop.ui.design.shell_data import GaugeState, gauge_text
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.design.usage_bar import paint_usage_bar, share_color
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.rewrite_explanations import explain_hold
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_BAR_PX, _GAP_PX, _PAD_PX, _HEIGHT_PX = 46, 8, 6, 26
_MAX_PX = 16_777_215  # Qt's own limit of a width

GaugeForm = Literal["full", "words", "none"]


class ContextGauge(EnterActivates, Themed, QAbstractButton):
    """A bar and the share; clicking it asks for the panel. Its actions are its menu."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = GaugeState(0, 0, True, "")
        self._form: GaugeForm = "full"
        self._room = _MAX_PX
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_state(self, state: GaugeState) -> None:
        """Show a new state; hidden while no window is known."""
        if state == self._state:
            return  # every event of a session asks for it
        self._state = state
        hold = explain_hold() if state.is_on_hold else ""
        usage = tr("Context: {usage}", usage=gauge_text(state))
        parts = tuple(filter(None, (usage, hold, state.source, state.policy)))
        self.setAccessibleName(" · ".join(parts))
        self.setToolTip("\n".join((*parts, tr("Click to show or hide the context panel."))))
        self.fit(self._room)
        self.updateGeometry()
        self.update()

    def fit(self, room: int) -> None:
        """Show bar and words, words alone, or nothing, as some pixels have room for."""
        self._room = room
        forms: tuple[GaugeForm, ...] = ("full", "words", "none")
        form = next(form for form in forms if form == "none" or self._width_of(form) <= room)
        is_shown = self._state.window > 0 and form != "none"
        if form != self._form or is_shown == self.isHidden():
            self._form = form
            self.setVisible(is_shown)
            self.updateGeometry()

    def text(self) -> str:
        share = format_whole_percent(self._state.share)
        return tr("{share} · paused", share=share) if self._state.is_on_hold else share

    def sizeHint(self) -> QSize:
        """Room for what is shown; of a share with three digits, so that nothing moves as it grows."""
        return QSize(self._width_of(self._form), scaled(_HEIGHT_PX))

    def _width_of(self, form: GaugeForm) -> int:
        metrics = QFontMetricsF(self._font())
        words = max(metrics.horizontalAdvance(text) for text in (self.text(), format_whole_percent(1.0)))
        return round(2 * _PAD_PX + (_BAR_PX + _GAP_PX if form == "full" else 0) + words) + 1

    def paintEvent(self, event: QPaintEvent) -> None:
        state, theme = self._state, self._theme
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover) if self.underMouse() else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 7, 7)
        color = share_color(state.share, theme)
        if self._form == "full":
            bar = QRectF(_PAD_PX, self.height() / 2 - 2, _BAR_PX, 4)
            paint_usage_bar(painter, bar, state.share, color, theme)
        painter.setFont(self._font())
        painter.setPen(QColor(theme.muted if color == theme.accent else color))
        left = _PAD_PX + (_BAR_PX + _GAP_PX if self._form == "full" else 0)
        room = QRectF(left, 0, self.width() - left, self.height())
        draw_text(painter, room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text())

    def _font(self) -> QFont:
        return fonts.sized(self.font(), 12, QFont.Weight.Medium)
