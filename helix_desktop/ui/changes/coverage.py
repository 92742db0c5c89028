"""What can't be undone: the line below the changes; and the list of what was undone after commands."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.domain.file_history.changes import FileCoverage
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.changes.change_groups import Obstacle
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import ThemedBackground
from helix_desktop.ui.design.labels import IconLabel, TextLine, label
from helix_desktop.ui.design.layout import (
    ListScrollArea,
    clear_layout,
    column,
    pane,
    row,
)
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.intents import perform
from helix_desktop.words.file_changes import auto_run_reason, uncovered_details, uncovered_line
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_MAX_UNDONE = 200
_MAX_PX = 150  # of the rows that are in sight at once
_INDENT_PX = 18  # to where the heading's words begin


def _coverage_text(coverage: FileCoverage, obstacle: Obstacle) -> str:
    if obstacle:
        return ""
    if coverage.is_complete or coverage.error:
        return uncovered_line(coverage)
    share = copied_share(coverage)
    if coverage.is_paused:
        return tr("Copying files paused: {share}", share=format_whole_percent(share))
    if share:
        return tr("Copying files: {share}", share=format_whole_percent(share))
    return tr("Copying files…")


def copied_share(coverage: FileCoverage) -> float:
    """Return how much of the first copy is done, from 0 to 1."""
    return coverage.files / (coverage.files + coverage.pending) if coverage.files else 0.0


class UncoveredLine(ThemedBackground):
    """One line below the changes: what can't be undone, or how far the first copy is; else hidden."""

    ground = "side"
    has_line = True

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._icon = IconLabel("shield-alert", px=14, color_token="muted")
        self.text = TextLine("", 12, role="muted")
        self.text.setObjectName("coverage")
        self.setLayout(row(self._icon, self.text, margins=(18, 5, 12, 5), gap=8, stretch=1))
        self.hide()

    def show_coverage(self, coverage: FileCoverage, obstacle: Obstacle) -> None:
        """Name what is not covered; say nothing where files cannot be captured at all."""
        words = _coverage_text(coverage, obstacle)
        self._icon.show_icon("shield-alert", "error" if coverage.error else "muted")
        self.text.set_text(words)
        details = (*uncovered_details(coverage), tr("Settings → Data includes files that git ignores."))
        self.text.set_note("\n".join(details) if coverage.places else "")
        self.setVisible(bool(words))


class UndoneChangesPanel(ThemedBackground):
    """A heading that folds, and a row for each file with the reason and Restore; hidden where there is none.

    The changes are those of all sessions of a workspace, as the folder is theirs together.
    """

    ground = "side"
    has_line = True

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._changes: tuple[AutoRunChange, ...] = ()
        self._error = ""
        self._icon = IconLabel("shield-alert", px=14, color_token="warn")
        self.heading = TextLine("", 12, 600)
        self.heading.is_fixed_width = True
        self.note = TextLine(
            tr("Other programs would run or follow these files by themselves. From all sessions."),
            12,
            role="muted",
        )
        self.fold = IconButton("chevron-down", "", px=15, edge=26)
        self._column = column(margins=(_INDENT_PX, 0, 0, 4), gap=6)
        self.rows = _Rows(self._column, tr("Undone after commands"))
        head = row(self._icon, self.heading, self.note, self.fold, gap=8, stretch=2)
        self.setLayout(column(head, self.rows, margins=(18, 4, 12, 4), gap=2))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.fold.clicked.connect(lambda: self._set_folded(not self.rows.isHidden()))
        self._set_folded(False)
        self.hide()

    def show_changes(self, changes: Sequence[AutoRunChange], error: str = "") -> None:
        """Show what is undone now, the oldest first as it is stored, or why that can't be read."""
        if (self._changes, self._error) == (tuple(changes), error):
            return
        self._changes = tuple(changes)
        self._error = error
        count = len(self._changes)
        self.heading.set_text(
            tr("Undone after commands")
            if error
            else tr.plural(count, "%n file undone after commands", "%n files undone after commands")
        )
        clear_layout(self._column)
        if error:
            self._column.addWidget(label(error, "muted", wrap=True))
        for change in reversed(self._changes[-_MAX_UNDONE:]):
            self._column.addWidget(self._row(change))
        if count > _MAX_UNDONE:
            more = tr.plural(count - _MAX_UNDONE, "and %n older file", "and %n older files")
            self._column.addWidget(label(more, "muted"))
        self.setVisible(bool(changes or error))
        self.rows.updateGeometry()

    def _set_folded(self, is_folded: bool) -> None:
        self.rows.setVisible(not is_folded)
        self.fold.set_icon("chevron-right" if is_folded else "chevron-down")
        self.fold.set_tip(tr("Show files") if is_folded else tr("Hide files"))

    def _row(self, change: AutoRunChange) -> QWidget:
        name = escape_hidden_name(change.path)
        path = TextLine(name, 12, mono=True)
        restore = PushButton(tr("Restore"), name=f"restore:{change.path}")
        restore.setAccessibleName(tr("{verb}: {path}", verb=tr("Restore"), path=name))
        restore.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        restore.clicked.connect(lambda: perform(self, PutAutoRun((change.change_id,), restore=True)))
        words = column(path, TextLine(auto_run_reason(change), 12, role="muted"), gap=0)
        return pane(row(words, restore, gap=10, stretch=0))


class _Rows(ListScrollArea):
    """As high as its rows, up to a limit from which they scroll."""

    def sizeHint(self) -> QSize:
        margins = self.viewportMargins()
        height = self.page.sizeHint().height() + margins.top() + margins.bottom()
        return QSize(super().sizeHint().width(), min(height, scaled(_MAX_PX)))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), min(self.sizeHint().height(), scaled(_MAX_PX) // 2))
