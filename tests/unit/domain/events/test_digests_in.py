"""Every field of an event that holds a content's digest counts as naming it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.events.session import Event, digests_in
from tests.support.histories import SessionSimulator, histories

HANDLES = {"digest", "digests", "recalled", "index"}
"""The fields of events that hold digests. A new one belongs here and into `digests_in`."""
KINDS: tuple[type[msgspec.Struct], ...] = Event.__args__


class Digests:
    """Digests that are all different."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def new(self) -> str:
        """One that was not there before."""
        self.given.append(f"{len(self.given):064x}")
        return self.given[-1]


def filled(kind: Any, digests: Digests, name: str = "") -> Any:
    """A value of a type, with a digest wherever one may stand and one element in each list."""
    value: Any = 1
    match kind:
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            value = cls(**{one.name: filled(one.type, digests, one.name) for one in fields})
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


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_digest_in_an_event_counts(kind: type[Event]) -> None:
    digests = Digests()
    event = filled(msgspec.inspect.type_info(kind), digests)
    assert sorted(digests_in(event)) == digests.given


def test_the_handles_are_those_that_exist() -> None:
    def names(kind: Any) -> Iterator[str]:
        match kind:
            case msgspec.inspect.StructType(fields=fields):
                for one in fields:
                    yield one.name
                    yield from names(one.type)
            case msgspec.inspect.VarTupleType(item_type=item):
                yield from names(item)

    found = {name for kind in KINDS for name in names(msgspec.inspect.type_info(kind))}
    assert found >= HANDLES


def digests_held(value: Any) -> Iterator[str]:
    """Every value that is a digest as a whole, anywhere in plain data."""
    if isinstance(value, str) and is_digest(value):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from digests_held(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from digests_held(inner)


@settings(max_examples=30, deadline=None)
@given(histories())
def test_no_digest_of_a_log_is_without_its_reference(simulator: SessionSimulator) -> None:
    for recorded in simulator.log:
        held = set(digests_held(msgspec.to_builtins(recorded.event)))
        assert held <= set(digests_in(recorded.event))
