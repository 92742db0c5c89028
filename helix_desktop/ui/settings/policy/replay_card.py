"""The current session under two policies: which two, the chart, and what each would have cost."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import card, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.settings.policy.comparison import PolicyComparison, figure_rows
from helix_desktop.ui.settings.policy.replay_chart import ReplayChart
from helix_desktop.ui.settings.policy.replay_notes import replay_notes
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")
_COLUMNS = 3


class _LineSample(Themed, QWidget):
    """A piece of a curve as the chart draws it."""

    def __init__(self, dashed: bool) -> None:
        super().__init__()
        self._dashed = dashed
        self.setFixedSize(22, 12)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it."""
        pen = QPen(QColor(self._theme.muted if self._dashed else self._theme.accent), 2)
        if self._dashed:
            pen.setDashPattern([3, 3])
        painter = QPainter(self)
        painter.setPen(pen)
        painter.drawLine(1, 6, 21, 6)


class _FigureTable(QWidget):
    """The figures of both policies beside each other."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(6)
        self._cells: dict[tuple[int, int], QLabel] = {}
        for number in range(_COLUMNS + 1):
            self._grid.setColumnStretch(number, 1)

    def show_comparison(self, comparison: PolicyComparison) -> None:
        """Show other figures; one column where a policy is compared with itself."""
        names: tuple[str, ...] = ("", comparison.name_of(comparison.policy))
        if not comparison.is_one:
            names = (*names, comparison.name_of(comparison.reference), tr("Difference"))
        for number in range(_COLUMNS + 1):
            self._set(0, number, names[number] if number < len(names) else "", "faint")
        for line, figure in enumerate(figure_rows(comparison), 1):
            texts = (figure.title, figure.value, figure.reference, figure.difference)
            for number, text in enumerate(texts):
                role = "muted" if number == 0 else ("strong" if number == 1 else "")
                cell = self._set(line, number, text if number < len(names) else "", role)
                cell.setToolTip(figure.note)
                cell.setAccessibleDescription(figure.note)

    def text(self) -> str:
        """Return all cells, row by row."""
        lines = range(self._grid.rowCount())
        cells = [[self._cells[line, number].text() for number in range(_COLUMNS + 1)] for line in lines]
        return "\n".join(" | ".join(filter(None, line)) for line in cells)

    def _set(self, line: int, number: int, text: str, role: str) -> QLabel:
        if (line, number) not in self._cells:
            cell = self._cells[line, number] = label("", role, wrap=True)
            self._grid.addWidget(cell, line, number)
        self._cells[line, number].setText(text)
        return self._cells[line, number]


class ReplayCard(QWidget):
    """Chart and figures of two policies that the user chooses, or a sentence that says why there are none."""

    compared = Signal(str, str)
    """The keys of the policy and of the one it is compared with."""
    retry_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.chart, self.figures = ReplayChart(), _FigureTable()
        self.policy, self.reference = ComboBox(), ComboBox()
        self.policy.setObjectName("compare_policy")
        self.policy.setAccessibleName(tr("Policy to show"))
        self.reference.setObjectName("compare_reference")
        self.reference.setAccessibleName(tr("Policy to compare with"))
        for combo in (self.policy, self.reference):
            combo.activated.connect(lambda _: self._on_compared())
        self.status = label("", "warn")
        self.status.setObjectName("replay_status")
        self._is_busy = False
        self._message = label("", "note", wrap=True)
        self._message.setObjectName("replay_message")
        self._retry = PushButton(tr("Try again"), name="retry_replay")
        self._retry.clicked.connect(self.retry_requested)
        choices = FlowBox([self._choice(False, self.policy), self._choice(True, self.reference)])
        self._result = QWidget()
        self._notes = label("", "note", wrap=True)
        self._notes.setObjectName("replay_notes")
        self._result.setLayout(column(choices, self.chart, self.figures, self._notes, gap=10))
        title = ResponsiveRow(label(tr("This session, replayed"), "strong", wrap=True), [self.status], 120)
        body = (title, self._message, FlowBox([self._retry]), self._result)
        self.setLayout(column(card(column(*body, margins=(16, 13, 16, 14), gap=9))))
        self.show_comparison(PolicyComparison())

    @property
    def is_busy(self) -> bool:
        """Return True while replays are computed."""
        return self._is_busy

    def _choice(self, dashed: bool, combo: ComboBox) -> QWidget:
        choice = QWidget()
        words = label(tr("compared with") if dashed else tr("Show"), "muted")
        choice.setLayout(row(words, _LineSample(dashed), combo, gap=7))
        words.setBuddy(combo)
        return choice

    def show_comparison(self, comparison: PolicyComparison) -> None:
        """Show other policies or replays."""
        has_result = comparison.state in ("busy", "ready")
        self._is_busy = comparison.state == "busy"
        show_text(self._message, comparison.message)
        self._retry.setVisible(comparison.state == "failed")
        self._result.setVisible(has_result)
        show_text(self.status, _status_text(comparison))
        self._fill(self.policy, comparison, comparison.policy)
        self._fill(self.reference, comparison, comparison.reference)
        self.chart.show_comparison(comparison)
        if has_result:
            self.figures.show_comparison(comparison)
            self._notes.setText("\n".join(replay_notes(comparison)))

    @staticmethod
    def _fill(combo: ComboBox, comparison: PolicyComparison, key: str) -> None:
        items = [(combo.itemData(at), combo.itemText(at)) for at in range(combo.count())]
        choices = [(choice.key, choice.name) for choice in comparison.choices]
        if items != choices:
            combo.clear()
            for choice, name in choices:
                combo.addItem(name, choice)
        combo.setCurrentIndex(combo.findData(key))

    def _on_compared(self) -> None:
        self.compared.emit(str(self.policy.currentData()), str(self.reference.currentData()))


def _status_text(comparison: PolicyComparison) -> str:
    if comparison.state == "busy":
        has_picture = comparison.replay is not None
        return tr("Approximate, computing the exact figures…") if has_picture else tr("Computing…")
    return tr("Approximate") if comparison.state == "ready" and not comparison.is_exact else ""
