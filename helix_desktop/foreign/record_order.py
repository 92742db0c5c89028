"""Reads the records of a source in the order in which they were made, which a file keeps only roughly.

Several writers append to it: a record can stand some lines before the one that it follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from helix_desktop.foreign.items import AnyItem, Damaged, Reader, Record, decode_objects

_MOST_WAITING = 32  # records for one that isn't there, or for an earlier one
LATE_MS = 5_000  # between records that stand in another order in the file
_SAME_CLOCK_MS = 60_000  # between neighbors; more: the clock was set, and the file is right


class _Entry(NamedTuple):
    number: int
    data: dict[str, Any]
    raw: bytes


class RecordOrder:
    """Makes items of records that come one by one. A record waits for the one that it follows.

    Where records name none, they are ordered by their times, if the reader says that these are their order.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.number = 0  # of the record that the newest item came of
        self._nodes = set[str]()  # of the records that were read
        self._waiting: list[_Entry] = []  # for their parents, in the order of the file
        self._recent: list[tuple[int, _Entry]] = []  # in the order of their times

    def read(self, record: Record) -> Iterator[AnyItem]:
        """Yield what came of a record and of those that waited for it; `Damaged` for no record."""
        objects = decode_objects(record.raw)
        if not objects:
            yield Damaged(record=record.number)
        for data, raw in objects:
            entry = _Entry(record.number, data, raw)
            if self._reader.is_ordered_by_time:
                yield from self._read_by_time(entry)
            else:
                yield from self._read_by_parent(entry)

    @property
    def waiting(self) -> int:
        """The records that wait for one that they follow, or that others may still come before."""
        return len(self._waiting) + len(self._recent)

    def pause(self) -> Iterator[AnyItem]:
        """Yield what came of records that no other will come before; the others go on waiting."""
        if not self._recent:
            return
        newest_ms, newest = self._recent[-1]
        before_ms = newest_ms - LATE_MS
        if self._reader.ends_turn(newest.data):
            before_ms = newest_ms + 1
        while self._recent and self._recent[0][0] < before_ms:
            _, entry = self._recent.pop(0)
            yield from self._items(entry)

    def end(self) -> Iterator[AnyItem]:
        """Yield what came of the records that still wait. Others may follow later."""
        recent = self._recent
        self._recent = []
        for _, entry in recent:
            yield from self._items(entry)
        while self._waiting:
            yield from self._with_following(self._waiting.pop(0))

    def _read_by_time(self, entry: _Entry) -> Iterator[AnyItem]:
        newest = self._recent[-1][0] if self._recent else 0
        at_ms = self._reader.place(entry.data)["at_ms"] or newest
        if newest - at_ms > _SAME_CLOCK_MS:
            yield from self.end()
        place = len(self._recent)
        while place and self._recent[place - 1][0] > at_ms:
            place -= 1
        self._recent.insert(place, (at_ms, entry))
        if len(self._recent) > _MOST_WAITING:
            _, first = self._recent.pop(0)
            yield from self._items(first)

    def _read_by_parent(self, entry: _Entry) -> Iterator[AnyItem]:
        _, parent = self._reader.links(entry.data)
        if not parent or parent in self._nodes:
            yield from self._with_following(entry)
            return
        self._waiting.append(entry)
        if len(self._waiting) > _MOST_WAITING:
            yield from self._with_following(self._waiting.pop(0))

    def _with_following(self, entry: _Entry) -> Iterator[AnyItem]:
        """Yield what came of a record, then of those that waited for it, in the order of the file."""
        ready = [entry]
        while ready:
            entry = ready.pop(0)
            node, _ = self._reader.links(entry.data)
            self._nodes.add(node)
            yield from self._items(entry)
            following = [one for one in self._waiting if self._reader.links(one.data)[1] == node]
            if node and following:
                self._waiting = [one for one in self._waiting if one not in following]
                ready = sorted([*ready, *following], key=lambda one: one.number)

    def _items(self, entry: _Entry) -> Iterator[AnyItem]:
        self.number = entry.number
        yield from self._reader.read(entry.data, entry.raw)
