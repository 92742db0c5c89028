"""The table's model: a fixed row count over an array of digests, rows fetched in pages when they are seen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)

from helix_desktop.domain.errors import HelixError
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.cache.columns import COLUMNS
from helix_desktop.ui.cache.rows import DIGEST_BYTES, CacheRow, CacheSort, CacheSource
from helix_desktop.ui.design.async_actions import StartCoroutine

PAGE_ROWS = 128  # rows per fetch
MAX_CACHED_ROWS = 64 * PAGE_ROWS
_MAX_PENDING_PAGES = 4  # newest wishes that are kept while others are fetched: older ones were scrolled past
_MAX_FETCHES = 2  # at once

Index = QModelIndex | QPersistentModelIndex
ROW_ROLE = Qt.ItemDataRole.UserRole.value


class CacheTableModel(QAbstractTableModel):
    """Digests in order; what is known of each arrives when it is looked at."""

    failed = Signal(object)  # HelixError of the source

    def __init__(
        self, start: StartCoroutine, parent: QObject | None = None, now: ClockMs = wall_clock_ms
    ) -> None:
        super().__init__(parent)
        self._start, self._now = start, now
        self._source: CacheSource | None = None
        self._ids = b""
        self._rows: OrderedDict[bytes, tuple[int, CacheRow]] = OrderedDict()
        self._generation = 0  # rows of an older age are shown, and fetched again
        self._pending_pages: OrderedDict[int, None] = OrderedDict()
        self._fetching: set[int] = set()
        self._missing: set[bytes] = set()
        self._damaged: set[str] = set()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._start_fetches)
        self._sort, self._is_searching = CacheSort(), False

    def set_source(self, source: CacheSource | None) -> None:
        """Drop everything and ask another source from now on."""
        self.beginResetModel()
        self._source, self._ids = source, b""
        self._generation += 1
        for memory in (self._rows, self._pending_pages, self._fetching, self._missing, self._damaged):
            memory.clear()
        self.endResetModel()

    def set_ids(self, ids: bytes) -> int:
        """Show these digests (32 bytes each); what was known of them is fetched again when seen.

        Returns how many rows were put before the old ones, or -1 if the table was rebuilt.
        """
        self._generation += 1
        self._missing.clear()
        self._damaged.clear()
        growth = len(ids) - len(self._ids)
        if self._ids and growth > 0 and ids.startswith(self._ids):
            self.beginInsertRows(QModelIndex(), self.rowCount(), len(ids) // DIGEST_BYTES - 1)
            self._ids = ids
            self.endInsertRows()
            self._emit_changed(0, self.rowCount() - 1)
            return 0
        if self._ids and growth >= 0 and ids.endswith(self._ids):
            if growth:
                self.beginInsertRows(QModelIndex(), 0, growth // DIGEST_BYTES - 1)
                self._ids = ids
                self.endInsertRows()
            self._emit_changed(0, self.rowCount() - 1)
            return growth // DIGEST_BYTES
        self.beginResetModel()
        self._ids = ids
        self.endResetModel()
        return -1

    def set_order(self, sort: CacheSort, is_searching: bool = False) -> None:
        """Show in the header how the rows are sorted, and that lines are matches."""
        self._sort, self._is_searching = sort, is_searching
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def mark_damaged(self, digest: str) -> None:
        """Show an entry as damaged until the next refresh tells more."""
        self._damaged.add(digest)
        row = self.row_of(digest)
        if row >= 0:
            self._emit_changed(row, row)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Return all entries that pass the filter, fetched or not."""
        return 0 if parent.isValid() else len(self._ids) // DIGEST_BYTES

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Return the number of columns, shown or not."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        """Return a column's title and hint."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            title = "Found at line" if self._is_searching and column.key == "line" else column.title
            arrow = " ↓" if self._sort.is_descending else " ↑"
            return title + (arrow if column.sort_column == self._sort.column else "")
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{column.tip}. Click to sort." if column.tip else "Click to sort."
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
            return column.text(row, self._now())
        return {"target": row.target, "line": row.hit or row.first_line, "digest": row.digest}.get(
            column.key
        ) or None

    def digest_at(self, row: int) -> str:
        """Return the digest of a row."""
        return self._key(row).hex()

    def row_of(self, digest: str) -> int:
        """Return the row of a digest; -1 when it is not listed."""
        key, at = bytes.fromhex(digest), -1
        while True:
            at = self._ids.find(key, at + 1)
            if at < 0 or at % DIGEST_BYTES == 0:
                return at // DIGEST_BYTES if at >= 0 else -1

    def entry(self, row: int) -> CacheRow | None:
        """Return what is known of a row; if nothing, or nothing new, it is fetched."""
        key = self._key(row)
        cached = self._rows.get(key)
        if (cached is None or cached[0] != self._generation) and key not in self._missing:
            self._request_page(row // PAGE_ROWS)
        if cached is None:
            return None
        if cached[1].digest in self._damaged:
            return replace(cached[1], state="damaged")
        return cached[1]

    def is_loaded(self, row: int) -> bool:
        """Return True if a row has arrived; asks for nothing."""
        return self._key(row) in self._rows

    def _key(self, row: int) -> bytes:
        return self._ids[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES]

    def _request_page(self, page: int) -> None:
        if page in self._fetching or self._source is None:
            return
        self._pending_pages[page] = None
        self._pending_pages.move_to_end(page)
        while len(self._pending_pages) > _MAX_PENDING_PAGES:
            self._pending_pages.popitem(last=False)
        if not self._timer.isActive():
            self._timer.start()

    def _page_rows(self, page: int) -> range:
        return range(page * PAGE_ROWS, min((page + 1) * PAGE_ROWS, self.rowCount()))

    def _start_fetches(self) -> None:
        while self._pending_pages and len(self._fetching) < _MAX_FETCHES and self._source is not None:
            page, _ = self._pending_pages.popitem()
            self._fetching.add(page)
            self._start(self._fetch(self._source, page), "cache rows")

    async def _fetch(self, source: CacheSource, page: int) -> None:
        age, keys = self._generation, [self._key(row) for row in self._page_rows(page)]
        rows: Sequence[CacheRow] = ()
        try:
            rows = await source.rows([key.hex() for key in keys])
        except HelixError as error:
            self.failed.emit(error)
        finally:
            self._fetching.discard(page)
        if source is not self._source:
            return
        for row in rows:
            key = bytes.fromhex(row.digest)
            self._rows[key] = (age, row)
            self._rows.move_to_end(key)
        if age == self._generation:
            # What was asked for and did not come is not asked for again before the next refresh.
            self._missing.update(set(keys).difference(bytes.fromhex(row.digest) for row in rows))
        while len(self._rows) > MAX_CACHED_ROWS:
            self._rows.popitem(last=False)
        page_rows = self._page_rows(page)
        if page_rows:
            self._emit_changed(page_rows.start, page_rows.stop - 1)
        self._start_fetches()

    def _emit_changed(self, first: int, last: int) -> None:
        if last >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))
