"""The line below the page that says what is spent, if a model costs anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton

from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import Box, Drawing, Frame, Icon, Pen, Row, Text
from helix_desktop.ui.kit.intents import SetBudget, perform
from helix_desktop.ui.window.status_lines import STATUS_LINE_PX, OneLine
from helix_desktop.words.costs import CostState
from helix_desktop.words.translation import Translator

tr = Translator("Budget")

_ICON, _BAR = 13, 44  # pixels at 100 %; the bar has the same width at all sizes
_MARGIN, _END, _ICON_GAP, _GAP = 20, 12, 7, 14  # pixels


class CostLine(EnterActivates, OneLine, QAbstractButton):
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
            self.text() if self.shown_text() != self.text() else "",
            self.tell_purposes(),
            tr(
                "Tokens sent and received in this session, with subagents, compaction and questions about "
                "large outputs."
            ),
            tr("The context gauge counts only the next request."),
            tr("Click to set a budget."),
        )
        return "\n".join(filter(None, tips))

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip:
            self.setToolTip(self._tip())
        return super().event(event)

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
        return " · ".join(filter(None, _texts(self._state))) if self._state is not None else ""

    def shown_text(self) -> str:
        """Return what is painted, as words: less than `text` where the line is narrow, or nothing."""
        if self._state is None or not self._has_words:
            return ""
        return " · ".join(filter(None, self._shown_texts(self._state)))

    def _shown_texts(self, state: CostState) -> tuple[str, str]:
        """Return the fullest texts that fit; what is left of the budget goes last."""
        usage, budget = _texts(state)
        forms = (
            (usage, budget),
            (state.text, budget),
            (state.short_text, budget),
            (state.short_text, state.short_budget_text),
        )
        room = self.width() - _MARGIN - _END
        return next((form for form in forms if _line(state, *form).width() <= room), forms[-1])

    def sizeHint(self) -> QSize:
        return QSize(120, scaled(STATUS_LINE_PX))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._state is None:
            return  # hidden until there is a cost
        pen = Pen.of_widget(self, self._theme)
        pen.fill(QRectF(self.rect()), "hover" if self.underMouse() else "canvas")
        pen.fill(QRectF(0, 0, self.width(), 1), "border")
        if self.hasFocus():
            pen.qt.setPen(QPen(pen.color("accent"), 2))
            pen.qt.drawRect(self.rect().adjusted(1, 1, -1, -1))
        line = _line(self._state, *self._shown_texts(self._state))
        pen.write(line, _MARGIN, QRectF(self.rect()).adjusted(0, 0, -_END, 0))
        pen.qt.end()


def _texts(state: CostState) -> tuple[str, str]:
    return tr("Session usage: {usage}", usage=state.text), state.budget_text


def _line(state: CostState, usage: str, budget: str) -> Row:
    color = "warn" if state.is_near_limit else "faint"
    groups: list[Box] = [Row([Icon("gauge", color, _ICON), Text(usage, 12, color, shrink=True)], _ICON_GAP)]
    if budget:
        bar = Frame(Drawing((_BAR, 1), partial(_paint_bar, state)), wide=_BAR)
        groups.append(Row([bar, Text(budget, 12, color, shrink=True)], _ICON_GAP))
    for group in groups:
        group.shrink = True
    return Row(groups, _GAP)


def _paint_bar(state: CostState, pen: Pen, rect: QRectF) -> None:
    bar = QRectF(rect.x(), rect.center().y() - 2, _BAR, 4)
    pen.box(bar, "seg_free", "", 2)
    bar.setWidth(max(4.0, _BAR * min(1.0, state.share)))
    pen.box(bar, "error" if state.share >= 1 else "seg_output" if state.is_near_limit else "accent", "", 2)
