"""The store's own numbers: how often it was written, and what it holds in all."""

from __future__ import annotations

from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowType
from helix_desktop.store.core.write_batch import RowGetter, WriteBatch

INTEGER_TYPE = RowType(int)
TOTALS_TYPE = RowType(StoreTotals)


def read_sequence(get: RowGetter, codec: Codec) -> int:
    """How many writes the store has seen. Raises RowDamaged."""
    row = get(keys.SEQUENCE)
    return 0 if row is None else codec.decode(keys.SEQUENCE, row, INTEGER_TYPE)


def read_totals(get: RowGetter, codec: Codec) -> StoreTotals:
    """Counts and sizes of the whole store. Raises RowDamaged."""
    row = get(keys.TOTALS)
    return StoreTotals(0, 0, 0, 0) if row is None else codec.decode(keys.TOTALS, row, TOTALS_TYPE)


class StoreCounters:
    """Puts the numbers into each batch that is written. Only the writer's thread uses it."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        # As they were written last; None: to be read. Only this writer changes them.
        self._sequence: int | None = None
        self._totals: StoreTotals | None = None

    def stage(self, batch: WriteBatch) -> None:
        """Count this write, and what it adds to the totals. Raises RowDamaged.

        A log file that is lost later shows as a number of writes that went back.
        """
        if self._sequence is None:
            self._sequence = read_sequence(batch.get, self._codec)
        self._sequence += 1
        batch.put(keys.SEQUENCE, self._codec.encode(keys.SEQUENCE, self._sequence))
        if any(batch.totals_delta):
            was = self._totals or read_totals(batch.get, self._codec)
            entries, size, stored_size, sessions = batch.totals_delta
            self._totals = StoreTotals(
                was.entries + entries, was.size + size, was.stored_size + stored_size, was.sessions + sessions
            )
            batch.put(keys.TOTALS, self._codec.encode(keys.TOTALS, self._totals))

    def reset(self) -> None:
        """Read them again next time: what was staged last was not written."""
        self._sequence = self._totals = None
