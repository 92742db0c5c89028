"""Rows to be written together, laid over what is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Get = Callable[[bytes], bytes | None]
"""Reads one row; None when there is none."""


Counted = tuple[int, int, int, int]
"""What rows add to the totals: entries, bytes before and after compression, sessions."""


class Puts(Protocol):
    """Takes rows that are to be written."""

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row."""
        ...


class Batch:
    """Puts and deletes that become visible at once, and reads that see them already.

    `early` rows mean nothing until a row of the batch names them (chunks): they may be written before
    it, in parts.
    """

    def __init__(self, stored: Get, under: Batch | None = None) -> None:
        """Lay a batch over what is stored, or over a batch that is not yet written either."""
        self._stored = stored
        self._under = under
        self._below = stored if under is None else under.get
        self.rows: dict[bytes, bytes | None] = {}
        self.early: dict[bytes, bytes] = {}
        self.counted: Counted = (0, 0, 0, 0)
        self.afterwards: list[Callable[[], None]] = []

    def over(self) -> Batch:
        """A batch laid over this one: thrown away, or absorbed."""
        return Batch(self._stored, self)

    def get(self, key: bytes) -> bytes | None:
        """The row as it will be once the batch is written."""
        return self.rows[key] if key in self.rows else self._below(key)

    def pending(self, key: bytes) -> bool:
        """Whether the batch, or one below it, writes this row."""
        return key in self.rows or (self._under is not None and self._under.pending(key))

    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row."""
        self.rows[key] = row

    def put_early(self, key: bytes, row: bytes) -> None:
        """Write a row that nothing names yet."""
        self.early[key] = row

    def delete(self, key: bytes) -> None:
        """Remove a row, if it is there."""
        self.rows[key] = None

    def count(self, entries: int = 0, size: int = 0, stored_size: int = 0, sessions: int = 0) -> None:
        """Note what the rows add to the store's totals, which are written with them."""
        was = self.counted
        self.counted = was[0] + entries, was[1] + size, was[2] + stored_size, was[3] + sessions

    def after(self, act: Callable[[], None]) -> None:
        """Call `act` once the rows are durable; never, if they cannot be written."""
        self.afterwards.append(act)

    def absorb(self, other: Batch) -> None:
        """Take over the rows of a batch that was laid over this one."""
        for key in other.early:
            self.rows.pop(
                key, None
            )  # removed before, within the same write: it would go after it was written
        self.rows.update(other.rows)
        self.early.update(other.early)
        self.count(*other.counted)
        self.afterwards += other.afterwards
