"""The context gauge: a pill that always shows how full the window is, and how far the next handover."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.mirror import draw_text, mirror
from helix_desktop.ui.design.pill import Tone, tone_colors
from helix_desktop.ui.design.shell_data import GaugeDetail, GaugeState, gauge_text
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.design.usage_bar import paint_usage_bar, pressure_color, share_tone
from helix_desktop.words.rewrite_explanations import explain_hold
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_BAR_PX = 38
_LONGEST = GaugeState(128_800, 128_800, True, "", 0.85, "near")
"""A state whose words are about as long as they get; room is kept for it, whatever is shown now."""
_LONG_COUNT = 88_800  # tokens; no count of a usual window has more signs


class ContextGauge(EnterActivates, Themed, QAbstractButton):
    """Bar with the threshold's tick, and the gauge as text; clicking it asks for the inspector.

    Its actions are its menu.
    """

    def __init__(self) -> None:
        """Start without a number."""
        super().__init__()
        self._state = GaugeState(0, 0, True, "", 0.85, "off")
        self._detail: GaugeDetail = "to_compaction"
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._describe()

    def show_state(self, state: GaugeState) -> None:
        """Show a new state."""
        if state == self._state:
            return  # every event of a session asks for it
        self._state = state
        self._describe()
        self.updateGeometry()
        self.update()

    def _describe(self) -> None:
        state = self._state
        hold = explain_hold() if state.is_on_hold else ""
        usage = tr("Context: {usage}", usage=gauge_text(state))
        parts = tuple(filter(None, (usage, hold, state.source, state.policy)))
        self.setAccessibleName(" · ".join(parts))
        self.setToolTip("\n".join((*parts, tr("Click to show or hide the context inspector."))))

    def text(self) -> str:
        """Return the words on the pill at its current detail."""
        return gauge_text(self._state, self._detail)

    def set_detail(self, detail: GaugeDetail) -> None:
        """Say as much as there is room for."""
        if detail != self._detail:
            self._detail = detail
            self.updateGeometry()
            self.update()

    def width_at(self, detail: GaugeDetail) -> int:
        """Width in pixels that the pill takes at a detail; the same while a window of this size fills."""
        window = max(1, self._state.window)
        used = min(window * 888 // 1000, _LONG_COUNT)
        long = GaugeState(used, self._state.window, True, "", 2 * used / window, "near")  # as many are left
        hundred = QFontMetricsF(self._font()).horizontalAdvance("0")  # of a share with three digits
        return max(self._width_of(self._state, detail), self._width_of(long, detail) + int(hundred))

    def reserved_width(self, detail: GaugeDetail) -> int:
        """Width in pixels that is enough for any usual state at a detail; the same whatever is shown."""
        return self._width_of(_LONGEST, detail)

    def sizeHint(self) -> QSize:
        """Room for bar and words."""
        return QSize(self.width_at(self._detail), round(30 * fonts.scale(self.font())))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint pill, bar, tick and words."""
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75)
        tone = self._tone
        word_color = self._theme.text if self._state.pressure in {"near", "over"} else self._theme.muted
        fill = self._theme.hover if self.underMouse() else self._theme.surface
        edge = self._theme.border_strong
        if self._detail == "percent" and tone != "accent":  # no bar says it
            word_color, fill, edge = tone_colors(self._theme, tone)
        edge = self._theme.accent if self.hasFocus() else edge
        painter.setPen(QPen(QColor(edge), 1.5 if self.hasFocus() else 1))
        painter.setBrush(QColor(fill))
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        if self._detail != "percent":
            self._paint_bar(painter, QRectF(12, self.height() / 2 - 3, _BAR_PX, 6))
        painter.setFont(self._font())
        painter.setPen(QColor(word_color))
        if self._state.is_on_hold and self._detail != "percent":
            self._paint_hold(painter)
        left = self._text_left(self._detail)
        room = QRectF(left, 0, self.width() - left - 12, self.height())
        draw_text(painter, room, Qt.AlignmentFlag.AlignCenter, self.text())

    @property
    def _tone(self) -> Tone:
        """The inspector's tone of the same share; without compaction the limit is the window."""
        state = self._state
        return share_tone(state.share, 1.0 if state.pressure == "off" else state.threshold)

    def _paint_bar(self, painter: QPainter, bar: QRectF) -> None:
        state, theme = self._state, self._theme
        color = theme.error if self._tone == "error" else pressure_color(state.pressure, theme)
        paint_usage_bar(painter, bar, state.share, color, theme)
        if state.pressure != "off":
            x = bar.x() + bar.width() * state.threshold / max(1.0, state.share)
            painter.setPen(QPen(QColor(theme.text), 1.4))
            painter.drawLine(round(x), round(bar.top() - 2), round(x), round(bar.bottom() + 2))

    def _paint_hold(self, painter: QPainter) -> None:
        """Paint the sign of a pause in the middle of the bar."""
        middle, theme = QPointF(12 + _BAR_PX / 2, self.height() / 2), self._theme
        pen = painter.pen()
        painter.setPen(QPen(QColor(theme.surface), 2))
        painter.setBrush(QColor(theme.text))
        painter.drawEllipse(middle, 8, 8)
        for x in (middle.x() - 3, middle.x() + 1):
            painter.fillRect(QRectF(x, middle.y() - 3.5, 2, 7), QColor(theme.surface))
        painter.setPen(pen)

    def _width_of(self, state: GaugeState, detail: GaugeDetail) -> int:
        words = QFontMetricsF(self._font()).horizontalAdvance(gauge_text(state, detail))
        return int(self._text_left(detail) + words + 12)

    @staticmethod
    def _text_left(detail: GaugeDetail) -> int:
        """Where the words begin, in pixels: behind the bar, if there is room for one."""
        return 12 if detail == "percent" else 12 + _BAR_PX + 8

    def _font(self) -> QFont:
        return fonts.sized(self.font(), 12, QFont.Weight.Medium)
