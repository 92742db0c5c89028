"""Asks what a session may spend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QVBoxLayout, QWidget

from helix_desktop.domain.cost import Budget
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.tab_order import TabsInReadingOrder
from helix_desktop.ui.kit.forms import FieldRow, align_labels
from helix_desktop.words.costs import CostState, parse_tokens, parse_usd
from helix_desktop.words.translation import Translator

tr = Translator("Budget")

_WIDTH_PX = 520
T = TypeVar("T", int, float)


class BudgetDialog(TabsInReadingOrder, QDialog):
    """Two limits, each of which may be left open."""

    def __init__(self, parent: QWidget, state: CostState, *, has_prices: bool, is_free: bool = False) -> None:
        """`has_prices` says whether the prices of the model are known, `is_free` that it costs nothing."""
        super().__init__(parent)
        self.setWindowTitle(tr("Session budget"))
        self.setModal(True)
        self.setFixedWidth(_WIDTH_PX)
        self.budget, self._spent = state.budget, state.spent
        tokens, cost = state.budget.tokens, state.budget.cost
        self.tokens = self._make_input(str(tokens) if tokens else "")
        self.cost = self._make_input(_typed_usd(cost) if cost else "")
        if is_free:
            price_note = tr("This model is free. Only its tokens count.")
        else:
            price_note = "" if has_prices else tr("Prices of this model are unknown. Only its tokens count.")
        self._notes = ("", price_note)
        self._fields = align_labels(
            FieldRow(tr("Tokens sent and received"), self.tokens, room=1),
            FieldRow(tr("US dollars"), self.cost, note=self._notes[1], room=1),
        )
        self._ok = PushButton(tr("Set budget"), "primary", name="set_budget")
        self._ok.setDefault(True)
        self._ok.clicked.connect(self.accept)
        cancel = PushButton(tr("Cancel"), name="cancel")
        cancel.clicked.connect(self.reject)
        buttons = FlowBox([cancel, self._ok], right_from=0)
        words = _explanation(state)
        self.setLayout(column(words, 6, *self._fields, 8, buttons, margins=DIALOG_MARGINS, gap=8))
        self._parse()

    def _make_input(self, text: str) -> QLineEdit:
        line = QLineEdit(text)
        line.setPlaceholderText(tr("No limit"))
        line.textChanged.connect(lambda _: self._parse())
        return line

    def _parse(self) -> None:
        """Take what is typed, or say what is wrong with it."""
        tokens = self._parse_field(0, parse_tokens, self.tokens.text(), self._spent.tokens)
        cost = self._parse_field(1, parse_usd, self.cost.text(), self._spent.cost)
        self._ok.setEnabled(tokens is not None and cost is not None)
        if tokens is not None and cost is not None:
            self.budget = Budget(tokens, cost)

    def event(self, event: QEvent) -> bool:
        """Be as high as the wrapped words need, which change with what is typed."""
        result = super().event(event)
        if event.type() in {QEvent.Type.Show, QEvent.Type.LayoutRequest}:
            self.setFixedHeight(self.heightForWidth(self.width()))
        return result

    def _parse_field(self, index: int, parse: Callable[[str], T], text: str, spent: float) -> T | None:
        """Return the typed limit, and say what one does that stops the session at once, or that is none."""
        try:
            value = parse(text)
        except ValueError as error:
            self._fields[index].show_error(str(error))
            return None
        note = self._notes[index]
        if text.strip() and not value:
            note = tr("0: no limit.")
        elif 0 < value <= spent:
            note = tr("Used up already: the next turn stops before its first model call.")
        self._fields[index].show_error("")
        self._fields[index].show_note(note)
        return value


def _typed_usd(cost: float) -> str:
    """Return an amount as it is typed, with every digit of one below a cent."""
    cents = f"{cost:.2f}"
    return cents if float(cents) == cost else str(cost)


def _explanation(state: CostState) -> QVBoxLayout:
    effect = tr(
        "When the budget is used up, the turn stops before its next model call. Nothing is lost: raise the "
        "budget to continue. All versions of the session, subagents and compaction count."
    )
    words = column(label(tr("Session budget"), "title"), label(effect, "muted", wrap=True), gap=5)
    words.addWidget(label(tr("Used so far: {usage}", usage=state.text), wrap=True))
    if state.cache_text:
        words.addWidget(label(state.cache_text, "muted", wrap=True))
    if state.is_default:
        note = tr("These limits come from the workspace. Changes apply to this session only.")
        words.addWidget(label(note, "muted", wrap=True))
    return words
