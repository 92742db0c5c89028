"""What can still be read of a session from its window: every original output, fetched and compared."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from helix_desktop.context.errors import DigestUnknown
from helix_desktop.context.index import HEAD
from helix_desktop.context.message import Message
from helix_desktop.replay.trajectory import parsed

_HANDLE = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
NAMED = 5
"""How many of the lost outputs a report names."""


class Reach(msgspec.Struct, frozen=True):
    """The tool outputs before one model call, in bytes: all, those whole in its window, those it could read.

    What can be read is whole in the window, or is fetched through handles that stand in it.
    `argument_bytes` are those of the texts in the arguments of calls.
    """

    request: int
    outputs: int
    output_bytes: int
    window_bytes: int
    reachable_bytes: int
    argument_bytes: int = 0
    reachable_argument_bytes: int = 0
    lost: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of all bytes of outputs, those that can be read; 1 where there are none."""
        return self.reachable_bytes / self.output_bytes if self.output_bytes else 1.0


class Originals:
    """The recorded outputs and call arguments so far, by call."""

    def __init__(self) -> None:
        self.outputs: dict[str, bytes] = {}
        self.calls: dict[str, tuple[bytes, ...]] = {}
        self._known: set[bytes] = set()

    def keep(self, recorded: Message) -> None:
        """Note what a recorded message brings."""
        if recorded.role == "tool":
            self.outputs[recorded.call_id] = _bytes(recorded.text)
            self._known.add(self.outputs[recorded.call_id])
        for call in recorded.calls:
            self.calls[call.id] = values(call.arguments)
            self._known.update(self.calls[call.id])

    def end(self, content: bytes) -> bool:
        """Whether a way from the window ends here: handles inside it would be quotations."""
        return content in self._known


def values(arguments: str) -> tuple[bytes, ...]:
    """A call's arguments as a whole, and each text in them."""
    return (_bytes(arguments), *map(_bytes, _texts(parsed(arguments))))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON can spell halves of a pair


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
        if one.role == "tool" and originals.outputs.get(one.call_id) == _bytes(one.text)
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
    arguments, reachable_arguments = _arguments(request, originals, fetched)
    return Reach(
        number,
        len(sizes),
        total,
        sum(sizes[call_id] for call_id in here),
        total - sum(sizes[call_id] for call_id in lost),
        arguments,
        reachable_arguments,
        tuple(one for one in lost if sizes[one])[:NAMED],
    )


def _arguments(request: Iterable[Message], originals: Originals, fetched: set[bytes]) -> tuple[int, int]:
    """The bytes of the texts in all calls' arguments; those that stand in their call, or were fetched.

    An index entry tells each call with its arguments, so that small ones are read there.
    """
    here = {call.id: values(call.arguments) for message in request for call in message.calls}
    told = b"\n".join(content for content in fetched if content.startswith(HEAD.encode()))
    total = reachable = 0
    for call_id, (whole, *texts) in originals.calls.items():
        in_call = here.get(call_id, ())
        at_once = whole in fetched or whole in told
        for text in texts or [whole]:
            total += len(text)
            if at_once or text in in_call or text in fetched or _spelled(text) in told:
                reachable += len(text)
    return total, reachable


def _spelled(text: bytes) -> bytes:
    """A text as it stands inside JSON."""
    return msgspec.json.encode(text.decode("utf-8", "replace"))
