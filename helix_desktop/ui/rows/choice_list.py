"""A list in which one row is chosen: rows are values; keys, editors and what is read aloud are Qt's."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QModelIndex, QRectF, QSize, QStringListModel, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QFrame, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from helix_desktop.ui.design.choice_fields import Index
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.boxes import PaintState, Pen

R = TypeVar("R")
ROW_ROLE = int(Qt.ItemDataRole.UserRole)
"""The value of a row."""


class ChoiceList(Themed, QListView, Generic[R]):
    """Those built on it say of a row what tells it apart, how it is read, how high it is, and paint it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.rows: Sequence[R] = ()
        self.row_model = _RowModel(self)
        self.setModel(self.row_model)
        self.setItemDelegate(RowDelegate(self))
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def key_of(self, row: R) -> Hashable:
        raise NotImplementedError

    def data_of(self, at: int, role: int) -> object:
        """Return what Qt asks of a row, above all its words for display and screen reader."""
        raise NotImplementedError

    def flags_of(self, row: R) -> Qt.ItemFlag:
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def height_of(self, row: R) -> int:
        """Return a height in pixels at 100 %: one per kind of row, so that thousands cost nothing."""
        raise NotImplementedError

    def paint_row(self, painter: QPainter, box: QRectF, at: int, state: QStyle.StateFlag) -> None:
        """Paint a row in its box."""
        raise NotImplementedError

    def apply_theme(self) -> None:
        self.scheduleDelayedItemsLayout()  # else rows keep the height of the text size before
        self.viewport().update()

    def paint_ground(self, painter: QPainter, box: QRectF, state: QStyle.StateFlag) -> None:
        """Paint behind the row that is chosen, or under the pointer."""
        hover = "hover" if state & QStyle.StateFlag.State_MouseOver else ""
        ground = "selection" if state & QStyle.StateFlag.State_Selected else hover
        Pen(painter, self._theme, PaintState(box)).box(box, ground, "", 9)

    def rename(self, row: R, words: str) -> None:
        """Do with a row what was written in its editor."""

    @property
    def current(self) -> R | None:
        return self.row_at(self.currentIndex())

    def row_at(self, index: Index) -> R | None:
        return self.rows[index.row()] if index.isValid() else None

    def index_of_key(self, key: Hashable) -> QModelIndex:
        at = next((at for at, row in enumerate(self.rows) if self.key_of(row) == key), -1)
        return self.row_model.index(at)

    def set_rows(self, rows: Sequence[R]) -> None:
        """Show these rows: in place where only what they say changed, so that scroll and editor stay."""
        model = self.row_model
        old = self.rows
        key_of = self.key_of
        pairs = enumerate(zip(old, rows, strict=False))
        others = (at for at, (row, new) in pairs if row is not new and key_of(row) != key_of(new))
        same = next(others, min(len(old), len(rows)))
        if same < min(len(old), len(rows)) or not same:
            self.rows = rows
            model.setStringList([""] * len(rows))
            return
        if len(rows) > same:
            self.rows = rows
            model.insertRows(same, len(rows) - same)
        elif len(old) > same:
            model.removeRows(same, len(old) - same)
        self.rows = rows
        if changed := [at for at in range(same) if old[at] is not rows[at] and old[at] != rows[at]]:
            model.dataChanged.emit(model.index(changed[0]), model.index(changed[-1]))


class _RowModel(QStringListModel):
    """The rows of a list; Qt counts them itself: it asks how many there are for each of thousands."""

    def __init__(self, view: ChoiceList[R]) -> None:
        super().__init__(view)
        self._view = view

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        at = index.row()
        return self._view.rows[at] if role == ROW_ROLE else self._view.data_of(at, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        return self._view.flags_of(self._view.rows[index.row()])

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Hand on what was written; the list shows it when its rows say so."""
        self._view.rename(self._view.rows[index.row()], str(value).strip())
        return False


class RowDelegate(QStyledItemDelegate):
    def __init__(self, view: ChoiceList[R]) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, scaled(self._view.height_of(self._view.rows[index.row()])))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(option.rect)
        self._view.paint_row(painter, box, index.row(), option.state)
        painter.restore()
