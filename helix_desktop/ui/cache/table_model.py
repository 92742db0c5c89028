"""The table's model: a fixed row count over an array of digests, rows fetched in pages when they are seen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import (
    QAbstractTableModel,
    QMimeData,
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
from helix_desktop.ui.cache.rows import (
    DIGEST_BYTES,
    STATE_TIPS,
    CacheColumn,
    CacheRow,
    CacheSort,
    CacheSource,
)
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
PAGE_ROWS = 128  # rows per fetch
MAX_CACHED_ROWS = 64 * PAGE_ROWS
_MAX_PENDING_PAGES = 4  # newest requests that are kept while others are fetched: older were scrolled past
_MAX_FETCHES = 2  # at once


class CacheTableModel(QAbstractTableModel):
    """Cells of an array of digests; what is known of each row arrives after it was asked for."""

    failed = Signal(object)  # HelixError of the source

    def __init__(
        self, start: StartCoroutine, parent: QObject | None = None, clock: ClockMs = wall_clock_ms
    ) -> None:
        super().__init__(parent)
        self._start, self._clock = start, clock
        self._sort, self._is_searching = CacheSort(), False
        self._source: CacheSource | None = None
        self._ids = b""  # the digests, 32 bytes each
        self._rows: OrderedDict[bytes, tuple[int, CacheRow]] = OrderedDict()
        self._generation = 0  # rows of an older generation are shown, and fetched again
        self._pending_pages: OrderedDict[int, None] = OrderedDict()
        self._fetching: set[int] = set()
        self._missing: set[bytes] = set()
        self._damaged: set[str] = set()
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._start_fetches)

    def set_source(self, source: CacheSource | None) -> None:
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
        previous, growth = self._ids, (len(ids) - len(self._ids)) // DIGEST_BYTES
        if previous and growth > 0 and ids.startswith(previous):
            self._insert(ids, self.rowCount(), growth)
            return 0
        if previous and growth >= 0 and ids.endswith(previous):
            self._insert(ids, 0, growth)
            return growth
        self.beginResetModel()
        self._take_ids(ids)
        self.endResetModel()
        return -1

    def _insert(self, ids: bytes, first: int, count: int) -> None:
        """Take digests that hold the shown ones in their order, with `count` others from row `first` on."""
        if count:
            self.beginInsertRows(QModelIndex(), first, first + count - 1)
        self._take_ids(ids)
        if count:
            self.endInsertRows()
        self._emit_changed(0, self.rowCount() - 1)

    def _take_ids(self, ids: bytes) -> None:
        """Take other digests; what is known of them is fetched again when they are looked at."""
        self._ids = ids
        self._generation += 1
        self._missing.clear()
        self._damaged.clear()

    def set_order(self, sort: CacheSort, is_searching: bool = False) -> None:
        self._sort, self._is_searching = sort, is_searching
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._ids) // DIGEST_BYTES

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
            return title + (arrow if column.key == self._sort.column else "")
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

    def mark_damaged(self, digest: str) -> None:
        """Show an entry as damaged until other digests are shown."""
        self._damaged.add(digest)
        row = self.row_of(digest)
        if row >= 0:
            self._emit_changed(row, row)

    def digest_at(self, row: int) -> str:
        return self._key(row).hex()

    def digests(self, rows: range) -> list[str]:
        """Return the digests of rows that follow each other: of a million in a fraction of a second."""
        text, step = self._ids[rows.start * DIGEST_BYTES : rows.stop * DIGEST_BYTES].hex(), 2 * DIGEST_BYTES
        return [text[at : at + step] for at in range(0, len(text), step)]

    def row_of(self, digest: str) -> int:
        """Return the row of a digest; -1 when it is not listed."""
        key, offset = bytes.fromhex(digest), -1
        while True:
            offset = self._ids.find(key, offset + 1)
            if offset < 0 or offset % DIGEST_BYTES == 0:
                return offset // DIGEST_BYTES if offset >= 0 else -1

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
        generation, keys = self._generation, [self._key(row) for row in self._page_rows(page)]
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
            self._rows[key] = (generation, row)
            self._rows.move_to_end(key)
        if generation == self._generation:
            # What was asked for and did not come is not asked for again before the next refresh.
            self._missing.update(set(keys).difference(bytes.fromhex(row.digest) for row in rows))
        while len(self._rows) > MAX_CACHED_ROWS:
            self._rows.popitem(last=False)
        page_rows = self._page_rows(page)
        self._emit_changed(page_rows.start, page_rows.stop - 1)
        self._start_fetches()

    def _emit_changed(self, first: int, last: int) -> None:
        if last >= first:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))


def _tip(row: CacheRow, key: CacheColumn) -> str:
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
