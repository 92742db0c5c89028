"""How much a summary names of what it covers, and what it does not, a line for each kind of fact."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.layout.boxes import clear_layout, column
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.summary_coverage import NOTHING_MISSING, MissingText

_PX = 12  # of its texts at 100 %


class SummaryCoverageView(Themed, QWidget):
    """Shows the counts of a coverage check, and below them what is missing; hidden without either."""

    def __init__(self, coverage: str = "", missing: MissingText = NOTHING_MISSING) -> None:
        """Show these."""
        super().__init__()
        self._parts = column(gap=4)
        self.setLayout(self._parts)
        self.show_coverage(coverage, missing)

    def show_coverage(self, coverage: str, missing: MissingText) -> None:
        """Show others."""
        clear_layout(self._parts)
        for text in filter(None, (coverage, missing.heading)):
            self._parts.addWidget(SelectableText(text, _PX, "muted"))
        if missing.lines:
            self._parts.addWidget(_lines(missing))
        retint(self, self._theme)
        self.setAccessibleName("\n".join(filter(None, (coverage, missing.text))))
        is_shown = bool(coverage or missing.lines)
        if self.parentWidget() is not None or not is_shown:  # shown before, it is a window of its own
            self.setVisible(is_shown)


def _lines(missing: MissingText) -> QWidget:
    widget, grid = QWidget(), QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(3)
    grid.setColumnStretch(1, 1)
    for place, (kind, facts) in enumerate(missing.lines):
        name = SelectableText(kind, _PX, "muted", weight=600)
        name.setWordWrap(False)
        grid.addWidget(name, place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(SelectableText(facts, _PX, "muted"), place, 1)
    widget.setLayout(grid)
    return widget
