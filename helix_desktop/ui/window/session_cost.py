"""What a session spends: the line below the page, the dialog of its budget, and what /budget takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from helix_desktop.domain.cost import Budget
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.ui.design.buttons import EnterActivates, PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, column
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import Box, Drawing, Frame, Icon, Pen, Row, Text
from helix_desktop.ui.kit.forms import Draft, Form, Line
from helix_desktop.ui.kit.intents import SetBudget, perform
from helix_desktop.ui.window.status_lines import STATUS_LINE_PX, OneLine
from helix_desktop.words.costs import CostState, parse_tokens, parse_usd
from helix_desktop.words.translation import Translator

tr = Translator("Budget")
text = TextContext("Budget")

_ICON = 13  # pixels at 100 %
_BAR = 44  # pixels: the bar has the same width at all sizes
_MARGIN = 20  # pixels
_END = 12  # pixels
_ICON_GAP = 7  # pixels
_GAP = 14  # pixels
_WIDTH_PX = 520  # of the dialog
_NO_LIMIT = frozenset(("off", "none", "0", "$0"))


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
    color = "seg_output" if state.is_near_limit else "accent"
    if state.share >= 1:
        color = "error"
    pen.box(bar, color, "", 2)


def _typed_usd(cost: float) -> str:
    """Return an amount as it is typed, with every digit of one below a cent."""
    if not cost:
        return ""
    cents = f"{cost:.2f}"
    return cents if float(cents) == cost else str(cost)


LIMITS = (
    Line("tokens", text("Tokens sent and received"), parse=parse_tokens, live=True, room=1,
         format=lambda tokens: str(tokens or ""), placeholder=text("No limit")),
    Line("cost", text("US dollars"), parse=parse_usd, live=True, room=1, format=_typed_usd,
         placeholder=text("No limit")),
)  # fmt: skip


class BudgetDialog(FittedDialog):
    """Two limits, each of which may be left open."""

    def __init__(self, parent: QWidget, state: CostState, *, has_prices: bool, is_free: bool = False) -> None:
        super().__init__(parent, tr("Session budget"), _WIDTH_PX)
        self.budget = state.budget
        self._spent = state.spent
        note = "" if has_prices else tr("Prices of this model are unknown. Only its tokens count.")
        if is_free:
            note = tr("This model is free. Only its tokens count.")
        self._notes = {"tokens": "", "cost": note}
        values = Draft({"tokens": state.budget.tokens, "cost": state.budget.cost})
        self.form = Form(LIMITS, values, is_dialog=True, gap=8)
        self.form.edited.connect(self._on_edited)
        self._ok = PushButton(tr("Set budget"), "primary", name="set_budget", on_click=self.accept)
        self._ok.setDefault(True)
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        buttons = FlowBox([cancel, self._ok], right_from=0)
        effect = tr(
            "When the budget is used up, the turn stops before its next model call. Nothing is lost: raise "
            "the budget to continue. All versions of the session, subagents and compaction count."
        )
        words = column(label(tr("Session budget"), "title"), label(effect, "muted", wrap=True), gap=5)
        words.addWidget(label(tr("Used so far: {usage}", usage=state.text), wrap=True))
        limits = tr("These limits come from the workspace. Changes apply to this session only.")
        if state.is_default:
            words.addWidget(label(limits, "muted", wrap=True))
        self.setLayout(column(words, 6, self.form, 8, buttons, margins=DIALOG_MARGINS, gap=8))
        for name in self.form.fields:
            self._on_edited(name)

    def _on_edited(self, name: str) -> None:
        """Say what a limit does that stops the session at once, or that is none."""
        values = self.form.values
        value = values.get(name)
        note = self._notes[name]
        if self.form.line(name).text().strip() and not value:
            note = tr("0: no limit.")
        elif 0 < value <= getattr(self._spent, name):
            note = tr("Used up already: the next turn stops before its first model call.")
        self.form.rows[name].show_note(note)
        self._ok.setEnabled(not self.form.errors())
        if not self.form.errors():
            self.budget = Budget(values.get("tokens"), values.get("cost"))


def parse_budget(amount: str, limit: Budget) -> Budget:
    """Return what was typed, see `set_budget`; what it doesn't name is as in `limit`. Raises InvalidInput."""
    tokens = limit.tokens
    cost = limit.cost
    words = amount.lower().split()
    if _NO_LIMIT.issuperset(words):
        tokens = 0
        cost = 0.0
        words = []
    try:
        for word in words:
            if word.startswith("$"):
                cost = parse_usd(word)
            else:
                tokens = parse_tokens(word)
    except ValueError as error:
        examples = "/budget 200k, /budget $2.50"
        fix = text("Type {commands}. No limit: /budget off, none, 0 or $0.", commands=examples)
        raise InvalidInput(text("The budget wasn't changed."), verbatim(str(error)), fix) from error
    return Budget(tokens, cost)
