"""Rows to be written together, laid over what is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

RowGetter = Callable[[bytes], bytes | None]
"""Reads one row; None when there is none."""


TotalsDelta = tuple[int, int, int, int]
"""What rows add to the totals: entries, bytes before and after compression, sessions."""


class RowSink(Protocol):
    """Takes rows that are to be written."""

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row."""
        ...


class WriteBatch:
    """Puts and deletes that become visible at once, and reads that see them already.

    `early` rows mean nothing until a row of the batch names them (chunks): they may be written before
    it, in parts.
    """

    def __init__(self, get_stored: RowGetter, parent: WriteBatch | None = None) -> None:
        """Lay a batch over what is stored, or over a batch that is not yet written either."""
        self._get_stored = get_stored
        self._parent = parent
        self._get_below = get_stored if parent is None else parent.get
        self.rows: dict[bytes, bytes | None] = {}
        self.unreferenced_rows: dict[bytes, bytes] = {}
        self.totals_delta: TotalsDelta = (0, 0, 0, 0)
        self.durable_callbacks: list[Callable[[], None]] = []

    def nested(self) -> WriteBatch:
        """A batch laid over this one: thrown away, or absorbed."""
        return WriteBatch(self._get_stored, self)

    def get(self, key: bytes) -> bytes | None:
        """The row as it will be once the batch is written."""
        return self.rows[key] if key in self.rows else self._get_below(key)

    def has_change(self, key: bytes) -> bool:
        """Whether the batch, or one below it, writes this row."""
        return key in self.rows or (self._parent is not None and self._parent.has_change(key))

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row."""
        self.rows[key] = row

    def put_unreferenced(self, key: bytes, row: bytes) -> None:
        """Write a row that nothing names yet."""
        self.unreferenced_rows[key] = row

    def delete(self, key: bytes) -> None:
        """Remove a row, if it is there."""
        self.rows[key] = None

    def add_totals(self, entries: int = 0, size: int = 0, stored_size: int = 0, sessions: int = 0) -> None:
        """Note what the rows add to the store's totals, which are written with them."""
        was = self.totals_delta
        self.totals_delta = was[0] + entries, was[1] + size, was[2] + stored_size, was[3] + sessions

    def on_durable(self, callback: Callable[[], None]) -> None:
        """Call `act` once the rows are durable; never, if they cannot be written."""
        self.durable_callbacks.append(callback)

    def absorb(self, other: WriteBatch) -> None:
        """Take over the rows of a batch that was laid over this one."""
        for key in other.unreferenced_rows:
            self.rows.pop(
                key, None
            )  # removed before, within the same write: it would go after it was written
        self.rows.update(other.rows)
        self.unreferenced_rows.update(other.unreferenced_rows)
        self.add_totals(*other.totals_delta)
        self.durable_callbacks += other.durable_callbacks
