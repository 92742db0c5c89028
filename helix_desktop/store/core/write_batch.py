"""Rows to be written together, as a layer over the stored rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

RowGetter = Callable[[bytes], bytes | None]
"""Read one row; None if there is none."""


TotalsDelta = tuple[int, int, int, int]
"""Change of the totals: entries, bytes before and after compression, sessions."""


class RowSource(Protocol):
    """Stored rows: a view, a batch or the database."""

    def get(self, key: bytes) -> bytes | None:
        """Return one row; None if there is none."""
        ...


class RowSink(Protocol):
    """A target for rows to be written."""

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row."""
        ...

    def delete(self, key: bytes) -> None:
        """Remove a row, if it is there."""
        ...


class WriteBatch:
    """Puts and deletes that become visible at once; reads through the batch already see them.

    `unreferenced_rows` (chunks) have no meaning until a row of the batch names them: they may be written
    before it, in parts.
    """

    def __init__(self, get_stored: RowGetter, parent: WriteBatch | None = None) -> None:
        """Layer a batch over the stored rows, or over a batch that is not yet written either."""
        self._get_stored = get_stored
        self._parent = parent
        self._get_below = get_stored if parent is None else parent.get
        self.rows: dict[bytes, bytes | None] = {}
        self.unreferenced_rows: dict[bytes, bytes] = {}
        self.totals_delta: TotalsDelta = (0, 0, 0, 0)
        self.durable_callbacks: list[Callable[[], None]] = []

    def nested(self) -> WriteBatch:
        """Return a batch layered over this one, to be discarded or absorbed."""
        return WriteBatch(self._get_stored, self)

    def get(self, key: bytes) -> bytes | None:
        """Return the row as it will be once the batch is written."""
        return self.rows[key] if key in self.rows else self._get_below(key)

    def has_change(self, key: bytes) -> bool:
        """Return True if the batch, or one below it, writes this row."""
        return key in self.rows or (self._parent is not None and self._parent.has_change(key))

    def changes(self, first: bytes, stop: bytes) -> dict[bytes, bytes | None]:
        """Return the rows from `first` to before `stop` that the batch, or one below, writes or removes."""
        below = self._parent.changes(first, stop) if self._parent is not None else {}
        return below | {key: row for key, row in self.rows.items() if first <= key < stop}

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row."""
        self.rows[key] = row

    def put_unreferenced(self, key: bytes, row: bytes) -> None:
        """Write a row that no other row names yet."""
        self.unreferenced_rows[key] = row

    def delete(self, key: bytes) -> None:
        """Remove a row, if it is there."""
        self.rows[key] = None

    def add_totals(self, entries: int = 0, size: int = 0, stored_size: int = 0, sessions: int = 0) -> None:
        """Add to the change of the store's totals, which is written with the rows."""
        previous = self.totals_delta
        self.totals_delta = (
            previous[0] + entries,
            previous[1] + size,
            previous[2] + stored_size,
            previous[3] + sessions,
        )

    def on_durable(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the rows are durable; never, if they cannot be written."""
        self.durable_callbacks.append(callback)

    def absorb(self, other: WriteBatch) -> None:
        """Take over the rows of a batch that was layered over this one."""
        for key in other.unreferenced_rows:
            self.rows.pop(
                key, None
            )  # deleted earlier within the same write: the deletion would come after the row was written
        self.rows.update(other.rows)
        self.unreferenced_rows.update(other.unreferenced_rows)
        self.add_totals(*other.totals_delta)
        self.durable_callbacks += other.durable_callbacks
