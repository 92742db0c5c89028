"""Looks through a source for what the user went back on, before it is converted.

The way to the newest record is the session, and what the user left is a branch of it. A file tells only later
which of two ways was left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from helix_desktop.foreign.items import AnyItem, RolledBack, UserMessage, decode_objects
from helix_desktop.foreign.record_order import LATE_MS, RecordOrder
from helix_desktop.foreign.sources import Source

_NEVER_MS = 2**62
_ROLLED_BACK = b'"thread_rolled_back"'


class _Place(NamedTuple):
    record: int
    node: str
    parent: str
    is_message: bool  # of the user
    message_ms: int  # when the message in it was written; -1 for another record


class _RolledBack(NamedTuple):
    """Where a file says that the user took a message back."""

    record: int
    at_ms: int


class LeftBranches:
    """The messages of the user with which branches begin that were left: by their nodes, or their numbers.

    Raises OSError, sqlite3.Error.
    """

    def __init__(self, source: Source) -> None:
        self._places: list[_Place] = []
        self._rolled_back: dict[int, _RolledBack] = {}  # by the numbers of the messages
        self._read_upto: dict[int, int] = {}  # up to when all is read, by the numbers of records
        if source.agent in ("claude-code", "pi") and not source.is_subagent:
            self._places = _places(source)
        elif source.agent == "codex" and any(_ROLLED_BACK in record.raw for record in source.records()):
            self._rolled_back = _rolled_back(source)
            self._read_upto = _read_upto(source)

    def nodes(self, upto: int, *, with_waiting: bool = True) -> frozenset[str]:
        """Return the nodes of messages that lead off the way to the newest of so many records.

        Without those `with_waiting`, the records whose earlier ones are not among them don't count.
        """
        places = {place.node: place for place in self._places if place.node and place.record <= upto}
        if not with_waiting:
            places = _connected(places)
        with_messages = [place for place in places.values() if place.message_ms >= 0]
        if not with_messages:
            return frozenset()
        newest = max(reversed(with_messages), key=lambda place: place.message_ms)
        way = dict[str, None]()
        node = newest.node
        while node in places and node not in way:
            way[node] = None
            node = places[node].parent
        messages = (place for place in places.values() if place.is_message and place.node not in way)
        return frozenset(place.node for place in messages if _leaves(place, places, way))

    def numbers(self, upto: int, *, with_waiting: bool = True) -> frozenset[int]:
        """Return the numbers, from 1, of messages that one of so many records takes back.

        Without those `with_waiting`, the records that others may still come before don't count.
        """
        before_ms = _NEVER_MS
        if not with_waiting:
            before_ms = self._read_upto.get(min(upto, len(self._read_upto)), 0)
        places = self._rolled_back.items()
        return frozenset(
            number for number, place in places if place.record <= upto and place.at_ms < before_ms
        )


def _connected(places: dict[str, _Place]) -> dict[str, _Place]:
    """Return the places from which a way leads to a beginning."""
    connected: dict[str, bool] = {"": True}
    for start in places:
        node = start
        way: list[str] = []
        while node not in connected and node in places and node not in way:
            way.append(node)
            node = places[node].parent
        is_connected = connected.get(node, False)
        connected |= dict.fromkeys(way, is_connected)
    return {node: place for node, place in places.items() if connected[node]}


def _leaves(message: _Place, places: dict[str, _Place], way: dict[str, None]) -> bool:
    """Return True if no other message of the user stands between a message and the way."""
    seen = {message.node}
    node = message.parent
    while node in places and node not in way and node not in seen:
        if places[node].is_message:
            return False
        seen.add(node)
        node = places[node].parent
    return node in way


def _places(source: Source) -> list[_Place]:
    reader = source.reader()
    places = list[_Place]()
    for record in source.records():
        for data, _ in decode_objects(record.raw):
            node, parent = reader.links(data)
            is_message, message_ms = reader.speech(data)
            places.append(_Place(record.number, node, parent, is_message, message_ms))
    return places


def _rolled_back(source: Source) -> dict[int, _RolledBack]:
    found: dict[int, _RolledBack] = {}
    waiting: list[int] = []  # messages that were not taken back
    number = 0
    order = RecordOrder(source.reader())
    for item in _items(source, order):
        if isinstance(item, UserMessage) and not item.steered:
            number += 1
            waiting.append(number)
        elif isinstance(item, RolledBack) and 0 < item.messages <= len(waiting):
            found[waiting[-item.messages]] = _RolledBack(order.number, item.at_ms)
            del waiting[-item.messages :]
    return found


def _items(source: Source, order: RecordOrder) -> Iterator[AnyItem]:
    for record in source.records():
        yield from order.read(record)
    yield from order.end()


def _read_upto(source: Source) -> dict[int, int]:
    """Return before which time no record comes any more, behind each record by its number."""
    reader = source.reader()
    upto: dict[int, int] = {}
    newest_ms = before_ms = 0
    for record in source.records():
        for data, _ in decode_objects(record.raw):
            at_ms = reader.place(data)["at_ms"] or newest_ms
            if at_ms >= newest_ms:
                newest_ms = at_ms
                before_ms = at_ms + 1 if reader.ends_turn(data) else at_ms - LATE_MS
        upto[record.number] = before_ms
    return upto
