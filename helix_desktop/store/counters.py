"""The store's own numbers: how often it was written, and what it holds in all."""

from __future__ import annotations

from helix_desktop.context.content import StoreTotals
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch, Get
from helix_desktop.store.codec import Codec, Shape

NUMBER = Shape(int)
TOTALS = Shape(StoreTotals)


def read_sequence(get: Get, codec: Codec) -> int:
    """How many writes the store has seen. Raises RowDamaged."""
    row = get(keys.SEQUENCE)
    return 0 if row is None else codec.unseal(keys.SEQUENCE, row, NUMBER)


def read_totals(get: Get, codec: Codec) -> StoreTotals:
    """Counts and sizes of the whole store. Raises RowDamaged."""
    row = get(keys.TOTALS)
    return StoreTotals(0, 0, 0, 0) if row is None else codec.unseal(keys.TOTALS, row, TOTALS)


class Counters:
    """Puts the numbers into each batch that is written. Only the writer's thread uses it."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        # As they were written last; None: to be read. Only this writer changes them.
        self._sequence: int | None = None
        self._totals: StoreTotals | None = None

    def stage(self, batch: Batch) -> None:
        """Count this write, and what it adds to the totals. Raises RowDamaged.

        A log file that is lost later shows as a number of writes that went back.
        """
        if self._sequence is None:
            self._sequence = read_sequence(batch.get, self._codec)
        self._sequence += 1
        batch.put(keys.SEQUENCE, self._codec.seal(keys.SEQUENCE, self._sequence))
        if any(batch.counted):
            was = self._totals or read_totals(batch.get, self._codec)
            entries, size, stored_size, sessions = batch.counted
            self._totals = StoreTotals(
                was.entries + entries, was.size + size, was.stored_size + stored_size, was.sessions + sessions
            )
            batch.put(keys.TOTALS, self._codec.seal(keys.TOTALS, self._totals))

    def forget(self) -> None:
        """Read them again next time: what was staged last was not written."""
        self._sequence = self._totals = None
