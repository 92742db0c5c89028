"""The table's model: a fixed row count over an array of digests, rows fetched in pages when they are seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)

from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.cache.columns import COLUMNS, ColumnKey
from helix_desktop.ui.cache.row_pages import RowPages
from helix_desktop.ui.cache.rows import DIGEST_BYTES, CacheRow, CacheSort, CacheSource
from helix_desktop.ui.cache.state_labels import STATE_TIPS
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.drops import entries_data
from helix_desktop.words.rewrite_explanations import explain_changed
from helix_desktop.words.translation import Translator, translate

tr = Translator("Cache")

Index = QModelIndex | QPersistentModelIndex
_ROW_FLAGS = (
    Qt.ItemFlag.ItemIsSelectable
    | Qt.ItemFlag.ItemIsEnabled
    | Qt.ItemFlag.ItemIsDragEnabled
    | Qt.ItemFlag.ItemNeverHasChildren
)
ROW_ROLE = Qt.ItemDataRole.UserRole.value


class CacheTableModel(QAbstractTableModel):
    """The cells of `pages`, the rows of which arrive when they are looked at."""

    def __init__(
        self, start: StartCoroutine, parent: QObject | None = None, clock: ClockMs = wall_clock_ms
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self.pages = RowPages(start, self)
        self.pages.changed.connect(self._emit_changed)
        self._sort, self._is_searching = CacheSort(), False

    def set_source(self, source: CacheSource | None) -> None:
        self.beginResetModel()
        self.pages.set_source(source)
        self.endResetModel()

    def set_ids(self, ids: bytes) -> int:
        """Show these digests (32 bytes each); what was known of them is fetched again when seen.

        Returns how many rows were put before the old ones, or -1 if the table was rebuilt.
        """
        previous, growth = self.pages.ids, (len(ids) - len(self.pages.ids)) // DIGEST_BYTES
        if previous and growth > 0 and ids.startswith(previous):
            self._insert(ids, self.rowCount(), growth)
            return 0
        if previous and growth >= 0 and ids.endswith(previous):
            self._insert(ids, 0, growth)
            return growth
        self.beginResetModel()
        self.pages.set_ids(ids)
        self.endResetModel()
        return -1

    def _insert(self, ids: bytes, first: int, count: int) -> None:
        """Take digests that hold the shown ones in their order, with `count` others from row `first` on."""
        if count:
            self.beginInsertRows(QModelIndex(), first, first + count - 1)
        self.pages.set_ids(ids)
        if count:
            self.endInsertRows()
        self._emit_changed(0, self.rowCount() - 1)

    def set_order(self, sort: CacheSort, is_searching: bool = False) -> None:
        self._sort, self._is_searching = sort, is_searching
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self.pages)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            is_match = self._is_searching and column.key == "line"
            title = tr("Matching line") if is_match else translate(column.title)
            arrow = " ↓" if self._sort.is_descending else " ↑"
            return title + (arrow if column.sort_column == self._sort.column else "")
        if role == Qt.ItemDataRole.ToolTipRole:
            sort = tr("Click to sort by {column}", column=translate(column.title))
            return f"{translate(column.tip)}\n{sort}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.style == "number" else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = 0) -> Any:
        """Return a cell's text, or its row under ROW_ROLE; None until the row has arrived."""
        if role == ROW_ROLE:
            return self.entry(index.row())
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        row, column = self.entry(index.row()), COLUMNS[index.column()]
        if row is None:
            return self.digest_at(index.row()) if column.key == "digest" else None
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(row, self._clock())
        return _tip(row, column.key) or None

    def flags(self, index: Index) -> Qt.ItemFlag:
        return _ROW_FLAGS

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """Return what a drag of rows brings: their digests, also as text."""
        digests = [self.digest_at(row) for row in sorted({index.row() for index in indexes})]
        return entries_data(digests, "\n".join(digests))

    def digest_at(self, row: int) -> str:
        return self.pages.digest_at(row)

    def row_of(self, digest: str) -> int:
        """Return the row of a digest; -1 when it is not listed."""
        return self.pages.row_of(digest)

    def entry(self, row: int) -> CacheRow | None:
        """Return what is known of a row; if nothing, or nothing new, it is fetched."""
        return self.pages.entry(row)

    def _emit_changed(self, first: int, last: int) -> None:
        if last >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))


def _tip(row: CacheRow, key: ColumnKey) -> str:
    match key:
        case "state":
            changed = explain_changed(row.changed_since) if row.changed_since else ""
            return "\n".join(filter(None, (translate(STATE_TIPS[row.state]), changed)))
        case "target":
            return row.target
        case "line":
            return row.hit or row.first_line
        case "digest":
            return row.digest
    return ""
