"""Looks through a source for what the user went back on, before it is converted.

The way to the newest record is the session, and what the user left is a branch of it. A file tells only later
which of two ways was left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from helix_desktop.foreign.items import AnyItem, RolledBack, Speaker, UserMessage, decode_objects
from helix_desktop.foreign.record_order import LATE_MS, RecordOrder
from helix_desktop.foreign.sources import Source

_NEVER_MS = 2**62
_ROLLED_BACK = b'"thread_rolled_back"'


class _Place(NamedTuple):
    record: int
    node: str
    parent: str
    speaker: Speaker
    message_ms: int  # when the message in it was written; -1 for another record


class _RolledBack(NamedTuple):
    """Where a file says that the user took a message back."""

    record: int
    at_ms: int


class LeftBranches:
    """The messages with which branches begin that were left: by their nodes, or the user's by their numbers.

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
        return _beginnings(places, way)

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


class _Left(NamedTuple):
    """What stands between the way and a place off it."""

    beginning: str = ""  # of the branch
    of_program: str = ""  # the first message of a program, which nobody answered yet

    def behind(self, place: _Place) -> _Left:
        if self.beginning:
            return self
        match place.speaker:
            case "user":
                return _Left(place.node)
            case "program":
                return _Left("", self.of_program or place.node)
            case "model":
                return _Left(self.of_program)
        return self


def _beginnings(places: dict[str, _Place], way: dict[str, None]) -> frozenset[str]:
    """Return the nodes with which what leads off the way begins.

    Each is the first message of the user there, or of a program if a model answered it.
    """
    left: dict[str, _Left] = {node: _Left() for node in way}
    for start in places:
        node = start
        behind = dict[str, None]()
        while node in places and node not in left and node not in behind:
            behind[node] = None
            node = places[node].parent
        if node not in left:  # nothing leads from the way to it
            continue
        for following in reversed(behind):
            left[following] = left[node].behind(places[following])
            node = following
    return frozenset(one.beginning for one in left.values() if one.beginning)


def _places(source: Source) -> list[_Place]:
    reader = source.reader()
    places = list[_Place]()
    for record in source.records():
        for data, _ in decode_objects(record.raw):
            node, parent = reader.links(data)
            speaker, message_ms = reader.speech(data)
            places.append(_Place(record.number, node, parent, speaker, message_ms))
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
