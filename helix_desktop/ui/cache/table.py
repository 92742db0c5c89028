"""The table of cached contents: columns that fit the room, one row chosen, keys of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from PySide6.QtCore import QItemSelectionModel, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from helix_desktop.domain.messages import display_name
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.cache.cell_delegate import EDGE, PAD, CacheDelegate
from helix_desktop.ui.cache.column_layout import ColumnLayout
from helix_desktop.ui.cache.columns import COLUMNS
from helix_desktop.ui.cache.row_pages import MAX_CACHED_ROWS
from helix_desktop.ui.cache.rows import CacheRow
from helix_desktop.ui.cache.table_model import CacheTableModel, Index
from helix_desktop.ui.design.drops import run_drag
from helix_desktop.ui.design.focus import KEYBOARD_REASONS, paint_row_focus
from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.ui.design.mirror import mirror
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, set_style_sheet
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

MAX_DRAGGED = 100  # rows
ROW_HEIGHT = 34  # pixels at 100 %


class CacheTable(Themed, QTableView):
    """Shows a CacheTableModel."""

    entry_selected = Signal(str)  # digest of the current row; empty when there is none
    opened = Signal()  # Enter or double click
    quick_look_requested = Signal()
    sort_requested = Signal(str)  # key of the column whose head was clicked
    menu_requested = Signal(QPoint)  # of the current row, in global coordinates

    def __init__(self, model: CacheTableModel, clock: ClockMs = wall_clock_ms) -> None:
        super().__init__()
        self._model = model
        self.columns = ColumnLayout(self)
        self._delegate = CacheDelegate(model, self, clock)
        self._hovered = -1
        self.setModel(model)
        model.headerDataChanged.connect(lambda *_: self.columns.fit())  # the arrow of the order needs room
        self.setItemDelegate(self._delegate)
        MinuteClock(self).ticked.connect(self.viewport().update)
        self.setAccessibleName(tr("Cache entries"))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        # Painted whole by paintEvent: only so does Qt move what it has painted when it scrolls.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setDragEnabled(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        rows, head = self.verticalHeader(), self.horizontalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head.setSectionsClickable(True)
        head.setHighlightSections(False)
        # Painting, a header asks its selection whether whole columns are selected, which asks for every row.
        head.setSelectionModel(QItemSelectionModel(model, head))
        head.setMinimumSectionSize(40)
        head.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        head.customContextMenuRequested.connect(lambda at: self.columns.menu().popup(head.mapToGlobal(at)))
        head.sectionClicked.connect(lambda at: self.sort_requested.emit(COLUMNS[at].key))
        self.doubleClicked.connect(lambda _: self.opened.emit())

    def current_digest(self) -> str:
        """Return the digest of the current row; empty when there is none."""
        at = self.currentIndex()
        return self._model.digest_at(at.row()) if at.isValid() else ""

    def current_row(self) -> CacheRow | None:
        """Return what is known of the current row."""
        at = self.currentIndex()
        return self._model.entry(at.row()) if at.isValid() else None

    def selected_rows(self) -> list[CacheRow]:
        """Return the selected rows, from top to bottom, without those that were never fetched.

        Of very many only the first are looked at: nothing waits for a million rows.
        """
        numbers = itertools.islice(self._selected_numbers(), MAX_CACHED_ROWS)
        return [
            row
            for number in numbers
            if self._model.pages.is_loaded(number) and (row := self._model.entry(number)) is not None
        ]

    def selected_digests(self) -> list[str]:
        """Return the digests of the selected rows, from top to bottom."""
        parts = (self._model.pages.digests(rows) for rows in self._selected_ranges())
        return list(itertools.chain.from_iterable(parts))

    def selected_count(self) -> int:
        """Return how many rows are selected."""
        return sum(len(rows) for rows in self._selected_ranges())

    def _selected_numbers(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self._selected_ranges())

    def _selected_ranges(self) -> list[range]:
        """Return the numbers of the selected rows: Qt would make an index object of each."""
        selection = self.selectionModel().selection()
        parts = (selection.at(number) for number in range(selection.size()))
        return sorted({range(part.top(), part.bottom() + 1) for part in parts}, key=lambda rows: rows.start)

    def focus_table(self) -> None:
        """Take the keyboard, at the first row unless one is chosen; not where no row is shown."""
        if not self.isVisible():
            return  # else Qt gives it the keyboard once it appears, away from who types
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not self.currentIndex().isValid() and self._model.rowCount():
            self.select_row(0)

    def select_row(self, row: int) -> None:
        """Make a row the current one and bring it into sight."""
        index = self._model.index(row, 0)
        self.select_only(index)
        self.scrollTo(index)

    def step(self, rows: int) -> None:
        """Make the row so many further down the current one, as far as there is one."""
        self.select_row(max(0, min(self.currentIndex().row() + rows, self._model.rowCount() - 1)))

    def select_only(self, index: Index) -> None:
        """Make a row the current one and the only selected one, whatever keys are held down."""
        flag = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flag.ClearAndSelect | flag.Rows)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme and the text size in force."""
        super().tint(theme)
        self._delegate.tint(theme)
        self.verticalHeader().setDefaultSectionSize(scaled(ROW_HEIGHT))
        self.horizontalHeader().setFixedHeight(scaled(ROW_HEIGHT))
        begin = "right" if self.isRightToLeft() else "left"
        set_style_sheet(
            self,
            f"QTableView {{ background: {theme.canvas}; border: 0; }} QHeaderView::section {{ background:"
            f" {theme.canvas}; color: {theme.faint}; border: 0; border-bottom: 1px solid {theme.border};"
            f" padding: 0 {PAD}px; font-size: {scaled(12)}px; font-weight: 500; }}"
            f" QHeaderView::section:first {{ padding-{begin}: {EDGE}px; }}",
        )
        self.columns.fit()
        self.viewport().update()

    def currentChanged(self, current: Index, previous: Index) -> None:
        """Emit which content is selected now."""
        super().currentChanged(current, previous)
        if current.row() != previous.row() or not previous.isValid():
            self.entry_selected.emit(self.current_digest())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw backgrounds and lines of the rows to be painted, then their cells."""
        painter, dirty = QPainter(self.viewport()), event.rect()
        painter.fillRect(dirty, QColor(self._theme.canvas))
        line, current = QColor(self._theme.border), self.currentIndex().row()
        selection = self.selectionModel()
        height, width = self.verticalHeader().defaultSectionSize(), self.viewport().width()
        row = self.rowAt(dirty.top())
        while 0 <= row < self._model.rowCount():
            top = self.rowViewportPosition(row)
            if top > dirty.bottom():
                break
            if row == current or selection.isRowSelected(row):
                painter.fillRect(0, top, width, height, QColor(self._theme.selection))
            elif row == self._hovered:
                painter.fillRect(0, top, width, height, QColor(self._theme.row_hover))
            painter.fillRect(0, top + height - 1, width, 1, line)
            row += 1
        painter.end()
        super().paintEvent(event)
        if self.hasFocus() and current >= 0:  # over Qt's own background of a chosen row
            focus = QPainter(self.viewport())
            rect = QRectF(0, self.rowViewportPosition(current), width, height - 1)
            mirror(focus, rect)
            is_keyboard = self.window().testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
            paint_row_focus(focus, rect, self._theme.accent, is_keyboard=is_keyboard)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns, and keep the current row in sight when the preview below takes room away."""
        previous_height, current = event.oldSize().height(), self.currentIndex()
        was_visible = current.isValid() and 0 <= self.visualRect(current).top() < previous_height
        super().resizeEvent(event)
        self.columns.fit()
        if was_visible and self.viewport().height() < previous_height:
            self.scrollTo(current)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select the first row, unless one is selected, when the keyboard brought the focus."""
        super().focusInEvent(event)
        if (
            event.reason() in KEYBOARD_REASONS
            and not self.currentIndex().isValid()
            and self._model.rowCount()
        ):
            self.select_row(0)
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open on Enter; go to the ends of the table on Home and End."""
        keys = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: self._model.rowCount() - 1}
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.opened.emit()
        elif event.key() in keys and self._model.rowCount():
            self.select_row(keys[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def startDrag(self, actions: Qt.DropAction) -> None:
        """Drag the selected rows, unless they are more than a message can hold."""
        count = self.selected_count()
        if not 0 < count <= MAX_DRAGGED:
            return
        row = self._model.entry(self.currentIndex().row()) if count == 1 else None
        name = (
            f"{display_name(row.tool)} {row.target}".strip()
            if row is not None
            else tr.plural(count, "%n entry", "%n entries")
        )
        run_drag(self, self._model.mimeData(self.selectedIndexes()), name, self._theme)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Light up the row under the mouse."""
        self._hover(event.position().toPoint())
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: object) -> None:
        """Stop lighting up a row."""
        self._hover(QPoint(-1, -1))

    def _hover(self, position: QPoint) -> None:
        row = self.rowAt(position.y()) if position.y() >= 0 else -1
        if row != self._hovered:
            self._hovered = row
            self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the row under the mouse, or of the current one when a key asks."""
        mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        at = self.indexAt(event.pos()) if mouse else self.currentIndex()
        if at.isValid():
            if not self.selectionModel().isRowSelected(at.row()):
                self.select_only(at)
            below = self.visualRect(at).bottomLeft()
            self.menu_requested.emit(self.viewport().mapToGlobal(event.pos() if mouse else below))
