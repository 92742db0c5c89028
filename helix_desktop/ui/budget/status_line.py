"""The line below the center: what the session has spent, and how much of its budget that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton

from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.translation import Translator

if TYPE_CHECKING:  # the window's first frame needs the line, not the structs of costs
    from helix_desktop.words.costs import CostState

tr = Translator("Budget")

_ICON, _BAR = 13, 44  # pixels at 100 %; the bar has the same width at all sizes

STATUS_LINE_PX = 30
"""Height of the line at 100 %, and of a job's line, which takes its place."""


class CostLine(EnterActivates, Themed, QAbstractButton):
    """A quiet line; a click asks for the budget. Hidden without a session, and while a job has its place."""

    budget_requested = Signal()

    def __init__(self) -> None:
        """Start hidden."""
        super().__init__()
        self._state: CostState | None = None
        self._has_session = self._is_replaced = False
        self.tell_purposes: Callable[[], str] = str  # what was spent on what; asked when the tip comes
        self.tint(self._theme)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(self._tip())
        self.clicked.connect(self.budget_requested)
        self.hide()

    def _tip(self) -> str:
        tips = (
            self.tell_purposes(),
            tr(
                "Tokens sent and received in this session, with subagents, summaries and questions about "
                "large outputs."
            ),
            tr("The context gauge counts only the next request."),
            tr(
                "Provider cache: input tokens of the conversation's own requests, as providers reported them."
            ),
            tr("Click to set a budget."),
        )
        return "\n".join(filter(None, tips))

    def event(self, event: QEvent) -> bool:
        """Let the tip say what was spent by now."""
        if event.type() is QEvent.Type.ToolTip:
            self.setToolTip(self._tip())
        return super().event(event)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme, and the text size in force."""
        super().tint(theme)
        self.setFixedHeight(scaled(STATUS_LINE_PX))

    def show_cost(self, state: CostState | None) -> None:
        """Show what was spent; None hides the line."""
        self._has_session = state is not None
        self._update_visible()
        if state is None:
            return
        if state != self._state:
            self._state = state
            self.update()
        self.setAccessibleName(f"{self.text()} · {tr('Set session budget')}")

    def set_replaced(self, is_replaced: bool) -> None:
        """Leave the place to something else, or take it again."""
        self._is_replaced = is_replaced
        self._update_visible()

    def _update_visible(self) -> None:
        self.setVisible(self._has_session and not self._is_replaced)

    def text(self) -> str:
        """Return all that is shown, as words; empty before the first cost."""
        state = self._state
        if state is None:
            return ""
        return " · ".join(filter(None, (_usage_text(state), state.budget_text, state.cache_text)))

    def sizeHint(self) -> QSize:
        """Return one line."""
        return QSize(120, scaled(STATUS_LINE_PX))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Icon and words, and with a budget a bar and its share."""
        theme, state = self._theme, self._state
        if state is None:
            return  # hidden until there is a cost
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(theme.hover if self.underMouse() else theme.canvas))
        painter.fillRect(QRectF(0, 0, self.width(), 1), QColor(theme.border))
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        color = theme.warn if state.is_near_limit else theme.faint
        middle = self.height() / 2
        side = scaled(_ICON)
        picture = pixmap("gauge", color, side, self.devicePixelRatioF())
        draw_pixmap(painter, 20, round(middle - side / 2), picture)
        left = self._paint_text(painter, 20 + side + 7, _usage_text(state), color)
        if state.budget_text:
            left = self._paint_bar(painter, left + 14, middle, state)
            left = self._paint_text(painter, left + 7, state.budget_text, color)
        if state.cache_text:
            self._paint_text(painter, left + 14, state.cache_text, theme.faint)
        painter.end()

    def _paint_text(self, painter: QPainter, left: float, text: str, color: str) -> float:
        font = fonts.sized(self.font(), 12)
        painter.setFont(font)
        painter.setPen(QColor(color))
        metrics = QFontMetricsF(font)
        room = max(0.0, self.width() - left - 12)
        elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
        draw_text(painter, QRectF(left, 0, room, self.height()), Qt.AlignmentFlag.AlignVCenter, elided)
        return left + metrics.horizontalAdvance(elided)

    def _paint_bar(self, painter: QPainter, left: float, middle: float, state: CostState) -> float:
        theme = self._theme
        bar = QRectF(left, middle - 2, _BAR, 4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.seg_free))
        painter.drawRoundedRect(bar, 2, 2)
        color = theme.error if state.share >= 1 else theme.seg_output if state.is_near_limit else theme.accent
        painter.setBrush(QColor(color))
        bar.setWidth(max(4.0, _BAR * min(1.0, state.share)))
        painter.drawRoundedRect(bar, 2, 2)
        return left + _BAR


def _usage_text(state: CostState) -> str:
    return tr("Session usage: {usage}", usage=state.text)
