"""Every event field with a content digest counts as a reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import given

from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.events.recorded_event import Event, digests_in
from tests.support.histories import SessionSimulator, histories
from tests.support.tables import for_each

HANDLES = {"digest", "digests", "recalled", "index"}
"""The fields of events that hold digests. A new one belongs here and into `digests_in`."""
KINDS: tuple[type[msgspec.Struct], ...] = Event.__args__


class Digests:
    def __init__(self) -> None:
        self.created: list[str] = []

    def new(self) -> str:
        self.created.append(f"{len(self.created):064x}")
        return self.created[-1]


def filled(kind: Any, digests: Digests, name: str = "") -> Any:
    """Return a value of a type, with a digest wherever one may be and one element in each list."""
    value: Any = 1
    match kind:
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            value = cls(**{field.name: filled(field.type, digests, field.name) for field in fields})
        case msgspec.inspect.StrType():
            value = digests.new() if name in HANDLES else f"{name} {'0' * 64}"
        case msgspec.inspect.VarTupleType(item_type=item):
            value = (filled(item, digests, name),)
        case msgspec.inspect.UnionType(types=types):
            value = filled(types[0], digests, name)
        case msgspec.inspect.LiteralType(values=values):
            value = values[0]
        case msgspec.inspect.DictType():
            value = {}
        case msgspec.inspect.BoolType():
            value = True
    return value


@for_each("kind", KINDS)
def test_each_digest_in_an_event_counts(kind: type[Event]) -> None:
    digests = Digests()
    event = filled(msgspec.inspect.type_info(kind), digests)
    assert sorted(digests_in(event)) == digests.created


def test_the_known_handle_fields_are_those_that_exist() -> None:
    def names(kind: Any) -> Iterator[str]:
        match kind:
            case msgspec.inspect.StructType(fields=fields):
                for field in fields:
                    yield field.name
                    yield from names(field.type)
            case msgspec.inspect.VarTupleType(item_type=item):
                yield from names(item)

    handles = {name for kind in KINDS for name in names(msgspec.inspect.type_info(kind))}
    assert handles >= HANDLES


def digests_within(value: Any) -> Iterator[str]:
    """Yield every string that is a digest, anywhere in plain data."""
    if isinstance(value, str) and is_digest(value):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from digests_within(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from digests_within(inner)


@given(histories())
def test_every_digest_in_a_log_is_a_reference(simulator: SessionSimulator) -> None:
    for recorded in simulator.log:
        digests = set(digests_within(msgspec.to_builtins(recorded.event)))
        assert digests <= set(digests_in(recorded.event))
