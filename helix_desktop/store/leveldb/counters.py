"""The store's own counters: the number of writes, and the totals."""

from __future__ import annotations

from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.store.core.write_batch import RowSource, WriteBatch
from helix_desktop.store.leveldb.rows import ROWS


def read_sequence(source: RowSource) -> int:
    """Return the number of writes so far. Raise RowDamaged."""
    return ROWS.sequence.get(source) or 0


def read_totals(source: RowSource) -> StoreTotals:
    """Return counts and sizes of the store. Raise RowDamaged."""
    return ROWS.totals.get(source) or StoreTotals(0, 0, 0, 0)


class StoreCounters:
    """Put the counters into each batch that is written. Only the writer's thread uses this."""

    def __init__(self) -> None:
        # As they were last written; None: not yet read. Only this writer changes them.
        self._sequence: int | None = None
        self._totals: StoreTotals | None = None

    def stage(self, batch: WriteBatch) -> None:
        """Count this write, and add its changes to the totals. Raise RowDamaged.

        If a log file is lost later, the number of writes goes back, which shows the loss.
        """
        if self._sequence is None:
            self._sequence = read_sequence(batch)
        self._sequence += 1
        ROWS.sequence.put(batch, self._sequence)
        if any(batch.totals_delta):
            previous = self._totals or read_totals(batch)
            entries, size, stored_size, sessions = batch.totals_delta
            self._totals = StoreTotals(
                previous.entries + entries,
                previous.size + size,
                previous.stored_size + stored_size,
                previous.sessions + sessions,
            )
            ROWS.totals.put(batch, self._totals)

    def reset(self) -> None:
        """Read the counters again next time: what was last staged was not written."""
        self._sequence = self._totals = None
