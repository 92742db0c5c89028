"""The dialog of a session budget, and what is typed behind /budget."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from helix_desktop.domain.cost import Budget
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, column
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.kit.forms import Draft, Form, Line
from helix_desktop.words.costs import CostState, parse_tokens, parse_usd
from helix_desktop.words.translation import Translator

tr = Translator("Budget")
text = TextContext("Budget")

_NO_LIMIT = frozenset(("off", "none", "0", "$0"))
_WIDTH_PX = 520


def _typed_usd(cost: float) -> str:
    """Return an amount as it is typed, with every digit of one below a cent."""
    cents = f"{cost:.2f}"
    return (cents if float(cents) == cost else str(cost)) if cost else ""


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
        self.budget, self._spent = state.budget, state.spent
        free = tr("This model is free. Only its tokens count.")
        unknown = tr("Prices of this model are unknown. Only its tokens count.")
        self._notes = {"tokens": "", "cost": free if is_free else "" if has_prices else unknown}
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
        value, note = values.get(name), self._notes[name]
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
    tokens, cost, words = limit.tokens, limit.cost, amount.lower().split()
    if _NO_LIMIT.issuperset(words):
        tokens, cost, words = 0, 0.0, []
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
