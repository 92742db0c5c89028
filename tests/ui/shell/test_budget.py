"""The dialog and the words that set a session's budget, and the line of its spending."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.cost import Budget, Spending
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.kit.forms import FieldRow
from helix_desktop.ui.window.session_cost import BudgetDialog, CostLine, parse_budget
from helix_desktop.words.costs import CostState
from tests.support.tables import for_each
from tests.support.window.buttons import find_button


def _type(dialog: BudgetDialog, name: str, text: str) -> None:
    line = dialog.form.line(name)
    line.selectAll()
    QTest.keyClick(line, Qt.Key.Key_Backspace)
    QTest.keyClicks(line, text)


def test_what_a_typed_limit_means(qapp: QApplication) -> None:
    """0 is no limit, a used-up one stops the session, and each fault is named; cents below one stay."""
    parent = QWidget()
    spent = Spending(5_000, 0.5)
    dialog = BudgetDialog(parent, CostState(spent, Budget(cost=0.004)), has_prices=True)
    assert (dialog.form.line("cost").text(), dialog.budget) == ("0.004", Budget(0, 0.004))
    no_limit = "0: no limit."
    used_up = "Used up already: the next turn stops before its first model call."
    whole = "Enter a whole number, for example 200,000 or 200k."
    for name, typed, expected in (
        ("tokens", "0", no_limit),
        ("tokens", "5k", used_up),
        ("tokens", "8.2m", ""),
        ("tokens", "1.5", whole),
        ("tokens", "-3", "Enter 0 or more."),
        ("tokens", "1e400", "Enter a number."),
        ("tokens", "1e13", "Enter a smaller number."),
        ("tokens", "", ""),
        ("cost", "0.00", no_limit),
        ("cost", "0,5", used_up),
        ("cost", "nan", "Enter a number."),
    ):
        _type(dialog, name, typed)
        is_wrong = expected.startswith("Enter ")
        assert find_button(dialog, "set_budget").isEnabled() is not is_wrong, typed
        notes = [field.note_text() for field in dialog.findChildren(FieldRow)]
        assert notes == ([expected, used_up] if name == "tokens" else ["", expected]), typed


@pytest.mark.parametrize(
    ("has_prices", "is_free", "note"),
    [
        (True, False, ""),
        (False, False, "Prices of this model are unknown. Only its tokens count."),
        (False, True, "This model is free. Only its tokens count."),
    ],
)
def test_a_limit_in_dollars_says_why_it_has_no_effect(
    qapp: QApplication, has_prices: bool, is_free: bool, note: str
) -> None:
    parent = QWidget()
    state = CostState(Spending(5_000), Budget())
    dialog = BudgetDialog(parent, state, has_prices=has_prices, is_free=is_free)
    notes = [label.text() for label in dialog.findChildren(QLabel) if "model" in label.text()]
    assert [text for text in notes if "Only its tokens" in text] == [note] * bool(note)


@for_each(
    ("typed", "expected"),
    [
        *((word, Budget()) for word in ("off", "OFF", "none", "0", "$0", "0 $0")),
        ("0 $2.50", Budget(cost=2.5)),
        ("1k $0", Budget(tokens=1_000)),
    ],
)
def test_words_for_no_limit_lift_the_budget(typed: str, expected: Budget) -> None:
    """Each of them alone lifts both limits; beside a limit, a zero lifts the other one."""
    assert parse_budget(typed, Budget(6_000, 1.0)) == expected


def test_a_word_that_is_no_limit_names_those_that_are() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_budget("never", Budget(6_000, 1.0))
    assert "wasn't changed" in str(refused.value.what)
    assert "No limit: /budget off, none, 0 or $0." in str(refused.value.fix)


def test_the_line_says_less_where_it_is_narrow(qtbot: QtBot) -> None:
    """Nothing is cut: words of the usage go first, then the size of the budget."""
    line = CostLine()
    qtbot.addWidget(line)
    state = CostState(Spending(8_820, estimated=True, unpriced=8_820, cached=5_000), Budget(6_000))
    line.show_cost(state)
    full_text = line.text()
    shown = []
    assert "147 % of budget (6k tokens)" in full_text
    metrics = QFontMetricsF(fonts.sized(line.font(), 12))
    for width in range(1_000, 240, -10):
        line.resize(width, line.height())
        assert metrics.horizontalAdvance(line.shown_text()) < width
        shown.append(line.shown_text())
    budget = "147 % of budget (6k tokens)"
    assert list(dict.fromkeys(shown)) == [
        full_text,
        f"{state.text} · {budget}",
        f"≈ 8.8k tokens · {budget}",
        "≈ 8.8k tokens · 147 % of budget",
    ]
    assert line.text() == full_text
    QApplication.sendEvent(line, QHelpEvent(QEvent.Type.ToolTip, QPoint(), QPoint()))
    assert line.toolTip().startswith(full_text)
