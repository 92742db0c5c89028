"""What can still be read of a session from its window: every original output, fetched and compared."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from helix_desktop.context.errors import DigestUnknown
from helix_desktop.context.message import Message

_HANDLE = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
NAMED = 5
"""How many of the lost outputs a report names."""


class Reach(msgspec.Struct, frozen=True):
    """The tool outputs before one model call, in bytes: all, those whole in its window, those it could read.

    What can be read is whole in the window, or is fetched through handles that stand in it.
    """

    request: int
    outputs: int
    output_bytes: int
    window_bytes: int
    reachable_bytes: int
    lost: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of all bytes, those that can be read; 1 where there are none."""
        return self.reachable_bytes / self.output_bytes if self.output_bytes else 1.0

    @property
    def window_share(self) -> float:
        """Of all bytes, those that stand in the window; 1 where there are none."""
        return self.window_bytes / self.output_bytes if self.output_bytes else 1.0


class Originals:
    """The recorded outputs and call arguments so far."""

    def __init__(self) -> None:
        self.outputs: dict[str, bytes] = {}
        self._arguments: set[bytes] = set()
        self._known: set[bytes] = set()

    def keep(self, recorded: Message) -> None:
        """Note what a recorded message brings."""
        if recorded.role == "tool":
            self.outputs[recorded.call_id] = recorded.text.encode()
            self._known.add(self.outputs[recorded.call_id])
        for call in recorded.calls:
            self._arguments |= {value.encode() for value in values(call.arguments)}

    def end(self, content: bytes) -> bool:
        """Whether a way from the window ends here: handles inside it would be quotations."""
        return content in self._known or content in self._arguments


def values(arguments: str) -> Iterator[str]:
    """A call's arguments as a whole, and each text in them."""
    yield arguments
    try:
        parsed = json.loads(arguments)
    except ValueError:
        return
    yield from _texts(parsed)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def handles(request: Iterable[Message]) -> Iterator[str]:
    """The handles that stand in a request's texts and arguments, as they come."""
    for message in request:
        yield from _HANDLE.findall(message.text)
        for call in message.calls:
            yield from _HANDLE.findall(call.arguments)


def standing(request: Iterable[Message], originals: Originals) -> set[str]:
    """The call ids whose whole output stands in a request."""
    return {
        one.call_id
        for one in request
        if one.role == "tool" and originals.outputs.get(one.call_id) == one.text.encode()
    }


def walk(
    request: Sequence[Message], originals: Originals, recall: Callable[[str], bytes]
) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Every content that handles lead to from a request, nearest first, with the handles on the way to it."""
    ways: deque[tuple[str, ...]] = deque((handle,) for handle in dict.fromkeys(handles(request)))
    seen = {way[0] for way in ways}
    while ways:
        way = ways.popleft()
        try:
            content = recall(way[-1])
        except DigestUnknown:  # texts quote other people's digests
            continue
        yield way, content
        if originals.end(content):
            continue
        fresh = [one for one in _HANDLE.findall(content.decode("utf-8", "replace")) if one not in seen]
        for handle in dict.fromkeys(fresh):
            seen.add(handle)
            ways.append((*way, handle))


def measure_reach(
    number: int, request: Sequence[Message], originals: Originals, recall: Callable[[str], bytes]
) -> Reach:
    """What can be read from the request of this number, every content really fetched."""
    here = standing(request, originals)
    fetched = {content for _, content in walk(request, originals, recall)}
    lost = [
        call_id
        for call_id, content in originals.outputs.items()
        if call_id not in here and content not in fetched
    ]
    sizes = {call_id: len(content) for call_id, content in originals.outputs.items()}
    total = sum(sizes.values())
    return Reach(
        number,
        len(sizes),
        total,
        sum(sizes[call_id] for call_id in here),
        total - sum(sizes[call_id] for call_id in lost),
        tuple(one for one in lost if sizes[one])[:NAMED],
    )
