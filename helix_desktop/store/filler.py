"""Writes many rows into a LevelDB that nobody else uses yet, in batches."""

from __future__ import annotations

from helix_desktop.store.batch import Batch
from helix_desktop.store.handle import WRITE_SLICE, Handle

_ROWS = 5000  # rows per synced write


class Filler:
    """Gathers rows and writes them when they are many, and at `flush`."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._batch = Batch(handle.get)
        self._size = 0

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row, soon. Raises StoreWriteFailed."""
        self._batch.put(key, row)
        self._grow(len(key) + len(row))

    def delete(self, key: bytes) -> None:
        """Remove a row, soon. Raises StoreWriteFailed."""
        self._batch.delete(key)
        self._grow(len(key))

    def flush(self) -> None:
        """Make durable what was gathered. Raises StoreWriteFailed."""
        if self._batch.rows:
            self._handle.write(self._batch)
        self._batch = Batch(self._handle.get)
        self._size = 0

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size >= WRITE_SLICE or len(self._batch.rows) >= _ROWS:
            self.flush()
