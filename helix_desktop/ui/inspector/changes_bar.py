"""The choice of the turn that the inspector compares the next request with, and what changed since."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import SelectableText, TextLine, show_text
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

OFF, LAST_TURN = 0, -1
"""What stands for a turn's number in the choice."""

_FIXED_CHOICES = 2  # OFF and LAST_TURN
_MIN_TURNS = 2  # with fewer there is nothing to choose from
_MARGINS = (15, 0, 12, 4)


class ChangesBar(QWidget):
    """The choice, newest turn first, and below it the changes in a line; hidden while there is no choice."""

    turn_changed = Signal(int)  # the turn's number, OFF or LAST_TURN

    def __init__(self) -> None:
        super().__init__()
        self._turns = 0
        self.turn = ComboBox(min_px=96)
        self.turn.setObjectName("changes_since")
        self.turn.setAccessibleName(tr("Compare with"))
        self.turn.setToolTip(tr("Compares the next request with the turn's first one, by Helix's count."))
        self.turn.addItem(tr("Nothing", "no comparison"), OFF)
        self.turn.addItem(tr("Last turn"), LAST_TURN)
        self.summary = SelectableText("", 12, "muted")
        self.summary.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(*_MARGINS)
        column.setSpacing(4)
        column.addWidget(ResponsiveRow(TextLine(tr("Compare with"), 12, role="faint"), [self.turn]))
        column.addWidget(self.summary)
        self.turn.currentIndexChanged.connect(lambda _: self.turn_changed.emit(self.turn.currentData()))
        self.hide()

    def show_changes(self, turns: int, summary: str) -> None:
        """Offer the turns 1 to `turns`, and show the changes since the one in the choice."""
        self.setVisible(turns >= _MIN_TURNS)
        if turns < _MIN_TURNS:
            return  # as while the user looks at an earlier step: the choice stays
        if turns < self._turns:  # of another session
            while self.turn.count() > _FIXED_CHOICES:
                self.turn.removeItem(self.turn.count() - 1)
            self._turns = 0
        for turn in range(self._turns + 1, turns + 1):
            self.turn.insertItem(_FIXED_CHOICES, tr("Turn {turn}", turn=turn), turn)
        self._turns = turns
        show_text(self.summary, summary)

    def choose(self, turn: int) -> None:
        """Choose a turn, OFF or LAST_TURN, without a signal."""
        self.turn.blockSignals(True)
        self.turn.setCurrentIndex(max(0, self.turn.findData(turn)))
        self.turn.blockSignals(False)
