"""The line below the center: what the session has spent, where that has a price or a budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton

from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.intents import SetBudget, perform
from helix_desktop.words.translation import Translator

if TYPE_CHECKING:  # the window's first frame needs the line, not the structs of costs
    from helix_desktop.words.costs import CostState

tr = Translator("Budget")

_ICON, _BAR = 13, 44  # pixels at 100 %; the bar has the same width at all sizes
_MARGIN, _END, _ICON_GAP, _GAP = 20, 12, 7, 14  # pixels

STATUS_LINE_PX = 30
"""Height of the line at 100 %, and of a job's line."""


class CostLine(EnterActivates, Themed, QAbstractButton):
    """A quiet line; a click asks for the budget. Hidden without a price and a budget."""

    def __init__(self) -> None:
        super().__init__()
        self._state: CostState | None = None
        self.tell_purposes: Callable[[], str] = str  # what was spent on what; asked when the tip comes
        self.apply_theme()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(self._tip())
        self.clicked.connect(lambda: perform(self, SetBudget()))
        self.hide()

    def _tip(self) -> str:
        tips = (
            self.text() if self._shown_texts() != self._texts() else "",
            self.tell_purposes(),
            tr(
                "Tokens sent and received in this session, with subagents, compaction and questions about "
                "large outputs."
            ),
            tr("The context gauge counts only the next request."),
            tr("Provider's discount: input tokens of the conversation's own requests, as reported."),
            tr("Click to set a budget."),
        )
        return "\n".join(filter(None, tips))

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip:
            self.setToolTip(self._tip())
        return super().event(event)

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(STATUS_LINE_PX))

    def show_cost(self, state: CostState | None) -> None:
        """Show what was spent; None hides the line."""
        if state is not None and state != self._state:
            self._state = state
            self.update()
        self.setVisible(state is not None and self._has_words)
        self.setAccessibleName(f"{self.text()} · {tr('Set session budget')}")

    @property
    def _has_words(self) -> bool:
        return self._state is not None and bool(self._state.spent.cost or self._state.budget_text)

    def text(self) -> str:
        """Return all that is shown, as words; empty before the first cost."""
        return " · ".join(filter(None, self._texts()))

    def shown_text(self) -> str:
        """Return what is painted, as words: less than `text` where the line is narrow, or nothing."""
        if not self._has_words:
            return ""
        return " · ".join(filter(None, self._shown_texts()))

    def _texts(self) -> tuple[str, str, str]:
        """Return usage, budget and provider cache, each in full."""
        state = self._state
        return (
            (tr("Session usage: {usage}", usage=state.text), state.budget_text, state.cache_text)
            if state is not None
            else ("", "", "")
        )

    def _shown_texts(self) -> tuple[str, str, str]:
        """Return the fullest texts that fit; the cache goes first, what is left of the budget last."""
        state, (usage, budget, cache) = self._state, self._texts()
        if state is None:
            return usage, budget, cache
        short = state.short_text
        forms = (
            (usage, budget, cache),
            (usage, budget, ""),
            (state.text, budget, ""),
            (short, budget, ""),
            (short, state.short_budget_text, ""),
        )
        return next((form for form in forms if self._width_of(form) <= self.width()), forms[-1])

    def _width_of(self, texts: tuple[str, str, str]) -> float:
        usage, budget, cache = (self._metrics().horizontalAdvance(text) for text in texts)
        width = _MARGIN + scaled(_ICON) + _ICON_GAP + usage + _END
        if budget:
            width += _GAP + _BAR + _ICON_GAP + budget
        return width + (_GAP + cache if cache else 0)

    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(fonts.sized(self.font(), 12))

    def sizeHint(self) -> QSize:
        return QSize(120, scaled(STATUS_LINE_PX))

    def paintEvent(self, event: QPaintEvent) -> None:
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
        draw_pixmap(painter, _MARGIN, round(middle - side / 2), picture)
        usage, budget, cache = self._shown_texts()
        left = self._paint_text(painter, _MARGIN + side + _ICON_GAP, usage, color)
        if budget:
            left = self._paint_bar(painter, left + _GAP, middle, state)
            left = self._paint_text(painter, left + _ICON_GAP, budget, color)
        if cache:
            self._paint_text(painter, left + _GAP, cache, theme.faint)
        painter.end()

    def _paint_text(self, painter: QPainter, left: float, text: str, color: str) -> float:
        painter.setFont(fonts.sized(self.font(), 12))
        painter.setPen(QColor(color))
        metrics = self._metrics()
        room = max(0.0, self.width() - left - _END)
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
