"""Below the changes: what Helix undid after commands, because other programs would run it by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.ui.changes.texts import path_text
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.labels import IconLabel, TextLine, label
from helix_desktop.ui.design.layout.boxes import clear_layout, column, row
from helix_desktop.ui.design.layout.scrolling import ListScrollArea
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.kit.intents import perform
from helix_desktop.words.file_changes import auto_run_reason
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_MAX_ROWS = 200
_MAX_PX = 150  # of the rows that are in sight at once
_INDENT_PX = 18  # to where the heading's words begin


class UndoneChangesPanel(Themed, QWidget):
    """A heading that folds, and a row for each file with the reason and Restore; hidden where there is none.

    The changes are those of all sessions of a workspace, as the folder is theirs together.
    """

    """The id of a change."""

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
        self._page = QWidget()
        self._page.setObjectName("page")
        self._column = column(margins=(_INDENT_PX, 0, 0, 4), gap=6)
        self._page.setLayout(self._column)
        self.rows: ListScrollArea = _Rows(self._page, tr("Undone after commands"))
        head = row(self._icon, self.heading, self.note, self.fold, gap=8)
        head.setStretch(2, 1)
        self.setLayout(column(head, self.rows, margins=(18, 4, 12, 4), gap=2))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.fold.clicked.connect(lambda: self._set_folded(not self.rows.isHidden()))
        self._set_folded(False)
        self.hide()

    def show_changes(self, changes: Sequence[AutoRunChange], error: str = "") -> None:
        """Show what is undone now, the oldest first as it is stored, or why that can't be read."""
        if (self._changes, self._error) == (tuple(changes), error):
            return
        self._changes, self._error = tuple(changes), error
        count = len(self._changes)
        self.heading.set_text(
            tr("Undone after commands")
            if error
            else tr.plural(count, "%n file undone after commands", "%n files undone after commands")
        )
        clear_layout(self._column)
        if error:
            self._column.addWidget(label(error, "muted", wrap=True))
        for change in reversed(self._changes[-_MAX_ROWS:]):
            self._column.addWidget(self._row(change))
        if count > _MAX_ROWS:
            more = tr.plural(count - _MAX_ROWS, "and %n older file", "and %n older files")
            self._column.addWidget(label(more, "muted"))
        retint(self._page, self._theme)
        self.setVisible(bool(changes or error))
        self.rows.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.side))
        painter.fillRect(0, 0, self.width(), 1, QColor(self._theme.border))

    def _set_folded(self, is_folded: bool) -> None:
        self.rows.setVisible(not is_folded)
        self.fold.set_icon("chevron-right" if is_folded else "chevron-down")
        self.fold.set_tip(tr("Show files") if is_folded else tr("Hide files"))

    def _row(self, change: AutoRunChange) -> QWidget:
        name = path_text(change.path)
        path = TextLine(name, 12, mono=True)
        path.elide = Qt.TextElideMode.ElideMiddle
        restore = PushButton(tr("Restore"), name=f"restore:{change.path}")
        restore.setAccessibleName(tr("{verb}: {path}", verb=tr("Restore"), path=name))
        restore.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        restore.clicked.connect(lambda: perform(self, PutAutoRun((change.change_id,), restore=True)))
        line = row(column(path, TextLine(auto_run_reason(change), 12, role="muted"), gap=0), restore, gap=10)
        line.setStretch(0, 1)
        part = QWidget()
        part.setLayout(line)
        return part


class _Rows(ListScrollArea):
    """As high as its rows, up to a limit from which they scroll."""

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        page = self.widget()
        margins = self.viewportMargins()
        height = (page.sizeHint().height() if page is not None else 0) + margins.top() + margins.bottom()
        return QSize(hint.width(), min(height, scaled(_MAX_PX)))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), min(self.sizeHint().height(), scaled(_MAX_PX) // 2))
