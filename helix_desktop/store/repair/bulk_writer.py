"""Writing of many rows in batches, into a LevelDB that has no other user yet."""

from __future__ import annotations

from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.database import MAX_SLICE_BYTES, Database

_MAX_ROWS = 5000  # rows per synced write


class BulkWriter:
    """Collect rows and write them when they are many, and at `flush`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batch = WriteBatch(database.get)
        self._size = 0

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row with the next batch. Raise StoreWriteFailed."""
        self._batch.put(key, row)
        self._flush_if_full(len(key) + len(row))

    def delete(self, key: bytes) -> None:
        """Delete a row with the next batch. Raise StoreWriteFailed."""
        self._batch.delete(key)
        self._flush_if_full(len(key))

    def flush(self) -> None:
        """Write what was collected, durably. Raise StoreWriteFailed."""
        if self._batch.rows:
            self._database.write(self._batch)
        self._batch = WriteBatch(self._database.get)
        self._size = 0

    def _flush_if_full(self, size: int) -> None:
        self._size += size
        if self._size >= MAX_SLICE_BYTES or len(self._batch.rows) >= _MAX_ROWS:
            self.flush()
