"""The rows of an array of digests, fetched in pages when they are looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.cache.rows import DIGEST_BYTES, CacheRow, CacheSource
from helix_desktop.ui.design.async_actions import StartCoroutine

PAGE_ROWS = 128  # rows per fetch
MAX_CACHED_ROWS = 64 * PAGE_ROWS
_MAX_PENDING_PAGES = (
    4  # newest requests that are kept while others are fetched: older ones were scrolled past
)
_MAX_FETCHES = 2  # at once


class RowPages(QObject):
    """Rows by number; what is known of each arrives after it was asked for."""

    changed = Signal(int, int)
    """The first and the last row that may have another content now."""
    failed = Signal(object)  # HelixError of the source

    def __init__(self, start: StartCoroutine, parent: QObject) -> None:
        super().__init__(parent)
        self._start = start
        self._source: CacheSource | None = None
        self._ids = b""
        self._rows: OrderedDict[bytes, tuple[int, CacheRow]] = OrderedDict()
        self._generation = 0  # rows of an older generation are shown, and fetched again
        self._pending_pages: OrderedDict[int, None] = OrderedDict()
        self._fetching: set[int] = set()
        self._missing: set[bytes] = set()
        self._damaged: set[str] = set()
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._start_fetches)

    def __len__(self) -> int:
        """Return the number of rows, fetched or not."""
        return len(self._ids) // DIGEST_BYTES

    @property
    def ids(self) -> bytes:
        """Return the digests, 32 bytes each."""
        return self._ids

    def set_source(self, source: CacheSource | None) -> None:
        """Drop everything and ask another source from now on."""
        self._source, self._ids = source, b""
        self._generation += 1
        for memory in (self._rows, self._pending_pages, self._fetching, self._missing, self._damaged):
            memory.clear()

    def set_ids(self, ids: bytes) -> None:
        """Take other digests; what is known of them is fetched again when they are looked at."""
        self._ids = ids
        self._generation += 1
        self._missing.clear()
        self._damaged.clear()

    def mark_damaged(self, digest: str) -> None:
        """Show an entry as damaged until the next `set_ids`."""
        self._damaged.add(digest)
        row = self.row_of(digest)
        if row >= 0:
            self.changed.emit(row, row)

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
        return range(page * PAGE_ROWS, min((page + 1) * PAGE_ROWS, len(self)))

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
        if page_rows:
            self.changed.emit(page_rows.start, page_rows.stop - 1)
        self._start_fetches()
