"""The store's own counters: the number of writes, and the totals."""

from __future__ import annotations

from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowType
from helix_desktop.store.core.write_batch import RowGetter, WriteBatch

INTEGER_TYPE = RowType(int)
TOTALS_TYPE = RowType(StoreTotals)


def read_sequence(get: RowGetter, codec: Codec) -> int:
    """Return the number of writes so far. Raise RowDamaged."""
    row = get(keys.SEQUENCE)
    return 0 if row is None else codec.decode(keys.SEQUENCE, row, INTEGER_TYPE)


def read_totals(get: RowGetter, codec: Codec) -> StoreTotals:
    """Return counts and sizes of the store. Raise RowDamaged."""
    row = get(keys.TOTALS)
    return StoreTotals(0, 0, 0, 0) if row is None else codec.decode(keys.TOTALS, row, TOTALS_TYPE)


class StoreCounters:
    """Put the counters into each batch that is written. Only the writer's thread uses this."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        # As they were last written; None: not yet read. Only this writer changes them.
        self._sequence: int | None = None
        self._totals: StoreTotals | None = None

    def stage(self, batch: WriteBatch) -> None:
        """Count this write, and add its changes to the totals. Raise RowDamaged.

        If a log file is lost later, the number of writes goes back, which shows the loss.
        """
        if self._sequence is None:
            self._sequence = read_sequence(batch.get, self._codec)
        self._sequence += 1
        batch.put(keys.SEQUENCE, self._codec.encode(keys.SEQUENCE, self._sequence))
        if any(batch.totals_delta):
            previous = self._totals or read_totals(batch.get, self._codec)
            entries, size, stored_size, sessions = batch.totals_delta
            self._totals = StoreTotals(
                previous.entries + entries,
                previous.size + size,
                previous.stored_size + stored_size,
                previous.sessions + sessions,
            )
            batch.put(keys.TOTALS, self._codec.encode(keys.TOTALS, self._totals))

    def reset(self) -> None:
        """Read the counters again next time: what was last staged was not written."""
        self._sequence = self._totals = None
