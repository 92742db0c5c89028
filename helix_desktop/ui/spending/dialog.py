"""Asks what a session may spend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from helix_desktop.context.spending import Budget
from helix_desktop.ui.field import Field
from helix_desktop.ui.spending.rows import SpendingState, read_dollars, read_tokens
from helix_desktop.ui.widgets import PushButton, column, label, row

_WIDTH_PX = 520
_ANY = "as much as it takes"
_WHAT = "Budget of this session"
_WHY = (
    "When it is spent, the turn ends before its next model call; nothing is lost, and you can go on with a "
    "larger one. Calls of subagents and summaries count."
)
_USUAL = "The budget in the fields is the workspace's; what you set here holds for this session alone."
_NO_PRICE = "This model's prices are not known, so only tokens are counted for it."
T = TypeVar("T")


class BudgetDialog(QDialog):
    """Two limits, each of which may be left open."""

    def __init__(self, parent: QWidget, state: SpendingState, priced: bool) -> None:
        """`priced` says whether the prices of the model are known."""
        super().__init__(parent)
        self.setWindowTitle(_WHAT)
        self.setModal(True)
        self.setFixedWidth(_WIDTH_PX)
        self.budget = state.budget
        tokens, cost = state.budget.tokens, state.budget.cost
        self.tokens = self._line(f"{tokens:,}" if tokens else "")
        self.cost = self._line(f"{cost:.2f}" if cost else "")
        self._fields = (
            Field("Tokens, in and out", self.tokens),
            Field("US dollars", self.cost, note="" if priced else _NO_PRICE),
        )
        self._ok = PushButton("Set", "primary")
        self._ok.setDefault(True)
        self._ok.clicked.connect(self.accept)
        cancel = PushButton("Cancel")
        cancel.clicked.connect(self.reject)
        words = column(label(_WHAT, "title"), label(_WHY, "muted", wrap=True), gap=5)
        words.addWidget(label(f"Spent so far: {state.words}.", wrap=True))
        if state.usual:
            words.addWidget(label(_USUAL, "muted", wrap=True))
        buttons = row(None, cancel, self._ok)
        self.setLayout(column(words, 6, *self._fields, 8, buttons, margins=(20, 18, 20, 16), gap=8))
        self._read()

    def _line(self, text: str) -> QLineEdit:
        line = QLineEdit(text)
        line.setPlaceholderText(_ANY)
        line.textChanged.connect(lambda _: self._read())
        return line

    def _read(self) -> None:
        """Take what is typed, or say what is wrong with it."""
        tokens = self._of(0, read_tokens, self.tokens.text())
        cost = self._of(1, read_dollars, self.cost.text())
        self._fit()
        self._ok.setEnabled(tokens is not None and cost is not None)
        if tokens is not None and cost is not None:
            self.budget = Budget(tokens, cost)

    def showEvent(self, event: QShowEvent) -> None:
        """Be as high as the wrapped words need."""
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        if self.isVisible():
            self.setFixedHeight(self.heightForWidth(self.width()))

    def _of(self, field: int, read: Callable[[str], T], text: str) -> T | None:
        try:
            value = read(text)
        except ValueError as error:
            self._fields[field].show_fault(str(error))
            return None
        self._fields[field].show_fault("")
        return value
