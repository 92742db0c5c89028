"""What a summary does not name of what it covers, a line for each kind of fact."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.layout.boxes import clear_layout, column
from helix_desktop.ui.design.layout.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.direction import dotted
from helix_desktop.words.summary_coverage import NOTHING_MISSING, MissingText

_PX = 12  # of its texts at 100 %


class SummaryCoverageView(Themed, QWidget):
    """Shows what is missing in a summary; hidden without any.

    `is_folded`: it stands behind its heading until that is opened.
    """

    def __init__(self, missing: MissingText = NOTHING_MISSING, *, is_folded: bool = False) -> None:
        super().__init__()
        self._is_folded = is_folded
        self._is_open = False
        self._parts = column(gap=4)
        self.setLayout(self._parts)
        self.show_missing(missing)

    def show_missing(self, missing: MissingText) -> None:
        """Show another; what is open stays open."""
        clear_layout(self._parts)
        if missing.lines:
            self._parts.addWidget(self._disclosure(missing) if self._is_folded else _with_heading(missing))
        retint(self, self._theme)
        self.setAccessibleName(missing.text)
        if self.parentWidget() is not None or not missing.lines:  # shown before, it is a window of its own
            self.setVisible(bool(missing.lines))

    def _disclosure(self, missing: MissingText) -> QWidget:
        kinds = dotted(kind for kind, _ in missing.lines)
        disclosure = Disclosure(DisclosureHead(missing.heading, kinds, "muted"), lambda: _lines(missing))
        disclosure.head.setChecked(self._is_open)
        disclosure.head.toggled.connect(self._note_open)
        return disclosure

    def _note_open(self, is_open: bool) -> None:
        self._is_open = is_open


def _with_heading(missing: MissingText) -> QWidget:
    widget = QWidget()
    widget.setLayout(column(SelectableText(missing.heading_line, _PX, "muted"), _lines(missing), gap=4))
    return widget


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
