"""JSON as a tree: parsed once, in a thread if need be, and opened part by part. No Qt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

MAX_JSON_BYTES = 1024 * 1024
"""Larger JSON stays text: a thread that parses it would hold up the window, and so would its many objects."""
GROUP_SIZE = 100  # children of a node; more stand in groups of so many, and groups of groups

NodeKind = Literal["object", "array", "group", "string", "number", "word"]
"""What a node is: a group holds some children of an object or array, a word is true, false or null."""


class Number(str):
    """A number as it is written: as a float it could be another one."""

    __slots__ = ()


Members = tuple[tuple[str, object], ...]
"""The members of an object, in order; a name may come twice. An array is a list."""


@dataclass(slots=True, eq=False)
class JsonNode:
    """One row of the tree. `name` is its member's name or its place; the root has none."""

    value: object
    name: str = ""
    parent: JsonNode | None = None
    place: int = 0  # among the children of the parent, from 0
    bounds: tuple[int, int] | None = (
        None  # of a group: its first child among all, and the one behind its last
    )
    _children: list[JsonNode] | None = field(default=None, repr=False)

    @property
    def kind(self) -> NodeKind:
        match self.value:
            case _ if self.bounds is not None:
                return "group"
            case tuple():
                return "object"
            case list():
                return "array"
            case Number():
                return "number"
            case str():
                return "string"
        return "word"

    @property
    def size(self) -> int:
        """Return how many members or items it holds; 0 for a value."""
        if self.bounds is not None:
            return self.bounds[1] - self.bounds[0]
        return len(_items(self.value))

    @property
    def text(self) -> str:
        """Return a value as it is written in JSON; empty for what holds others."""
        match self.value:
            case Number() as number:
                return str(number)
            case str() as text:
                return json.dumps(text, ensure_ascii=False)
            case bool() | None:
                return json.dumps(self.value)
        return ""

    def brief_text(self, max_chars: int) -> str:
        """Return its text; of a longer string or number so many characters and `…`."""
        if not isinstance(self.value, str) or len(self.value) <= max_chars:
            return self.text
        kind = type(self.value)
        return f"{JsonNode(kind(self.value[:max_chars])).text}…"

    @property
    def children(self) -> list[JsonNode]:
        """Return its parts, at most GROUP_SIZE; they are made when they are asked for."""
        if self._children is None:
            self._children = list(self._make_children())
        return self._children

    def _make_children(self) -> Iterator[JsonNode]:
        items = _items(self.value)
        start, stop = self.bounds or (0, len(items))
        step = 1
        while (stop - start) > step * GROUP_SIZE:
            step *= GROUP_SIZE
        for place, first in enumerate(range(start, stop, step)):
            last = min(first + step, stop)
            if step > 1:
                yield JsonNode(self.value, f"{first}–{last - 1}", self, place, (first, last))
            elif isinstance(self.value, tuple):
                name, value = self.value[first]
                yield JsonNode(value, name, self, place)
            else:
                yield JsonNode(items[first], str(first), self, place)


def may_be_json(data: bytes) -> bool:
    """Return True if bytes begin and end as an object or array does."""
    begin, end = data[:256].lstrip()[:1], data[-256:].rstrip()[-1:]
    return (begin, end) in ((b"{", b"}"), (b"[", b"]"))


def parse_json(data: bytes) -> JsonNode | None:
    """Return the root of an object or array; None for invalid JSON, and for what is too large or too deep."""
    if len(data) > MAX_JSON_BYTES or not may_be_json(data):
        return None
    try:
        # Functions of Python, not classes: at each call another thread may run.
        value = json.loads(
            data.decode(),
            object_pairs_hook=_members,
            parse_float=_number,
            parse_int=_number,
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError):
        return None
    return JsonNode(value)


def _members(pairs: list[tuple[str, object]]) -> Members:
    return tuple(pairs)


def _number(text: str) -> Number:
    return Number(text)


def _refuse(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()
