"""What can still be read of a session from its window: every original output, fetched and compared."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from helix_desktop.context.summaries.index_entry import HEAD
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.messages import Message
from helix_desktop.replay.recording import parse_arguments

_HANDLE = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
MAX_LOST_NAMED = 5
"""How many of the lost outputs a report names."""


class Reachability(msgspec.Struct, frozen=True):
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
    def reachable_share(self) -> float:
        """Of all bytes of outputs, those that can be read; 1 where there are none."""
        return self.reachable_bytes / self.output_bytes if self.output_bytes else 1.0


class OriginalOutputs:
    """The recorded outputs and call arguments so far, by call."""

    def __init__(self) -> None:
        self.outputs: dict[str, bytes] = {}
        self.calls: dict[str, tuple[bytes, ...]] = {}
        self._contents: set[bytes] = set()

    def add(self, message: Message) -> None:
        """Note what a recorded message brings."""
        if message.role == "tool":
            self.outputs[message.call_id] = _bytes(message.text)
            self._contents.add(self.outputs[message.call_id])
        for call in message.calls:
            self.calls[call.id] = argument_values(call.arguments)
            self._contents.update(self.calls[call.id])

    def is_original(self, content: bytes) -> bool:
        """Whether a way from the window ends here: handles inside it would be quotations."""
        return content in self._contents


def argument_values(arguments: str) -> tuple[bytes, ...]:
    """A call's arguments as a whole, and each text in them."""
    return (_bytes(arguments), *map(_bytes, _texts(parse_arguments(arguments))))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON can spell halves of a pair


def find_handles(request: Iterable[Message]) -> Iterator[str]:
    """The handles that stand in a request's texts and arguments, as they come."""
    for message in request:
        yield from _HANDLE.findall(message.text)
        for call in message.calls:
            yield from _HANDLE.findall(call.arguments)


def visible_call_ids(request: Iterable[Message], originals: OriginalOutputs) -> set[str]:
    """The call ids whose whole output stands in a request."""
    return {
        one.call_id
        for one in request
        if one.role == "tool" and originals.outputs.get(one.call_id) == _bytes(one.text)
    }


def follow_handles(
    request: Sequence[Message], originals: OriginalOutputs, recall: Callable[[str], bytes]
) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Every content that handles lead to from a request, nearest first, with the handles on the way to it."""
    ways: deque[tuple[str, ...]] = deque((handle,) for handle in dict.fromkeys(find_handles(request)))
    seen = {way[0] for way in ways}
    while ways:
        way = ways.popleft()
        try:
            content = recall(way[-1])
        except DigestUnknown:  # texts quote other people's digests
            continue
        yield way, content
        if originals.is_original(content):
            continue
        fresh = [one for one in _HANDLE.findall(content.decode("utf-8", "replace")) if one not in seen]
        for handle in dict.fromkeys(fresh):
            seen.add(handle)
            ways.append((*way, handle))


def measure_reachability(
    request_number: int,
    request: Sequence[Message],
    originals: OriginalOutputs,
    recall: Callable[[str], bytes],
) -> Reachability:
    """What can be read from the request of this number, every content really fetched."""
    here = visible_call_ids(request, originals)
    fetched = {content for _, content in follow_handles(request, originals, recall)}
    lost = [
        call_id
        for call_id, content in originals.outputs.items()
        if call_id not in here and content not in fetched
    ]
    sizes = {call_id: len(content) for call_id, content in originals.outputs.items()}
    total = sum(sizes.values())
    arguments, reachable_arguments = _argument_bytes(request, originals, fetched)
    return Reachability(
        request_number,
        len(sizes),
        total,
        sum(sizes[call_id] for call_id in here),
        total - sum(sizes[call_id] for call_id in lost),
        arguments,
        reachable_arguments,
        tuple(one for one in lost if sizes[one])[:MAX_LOST_NAMED],
    )


def _argument_bytes(
    request: Iterable[Message], originals: OriginalOutputs, fetched: set[bytes]
) -> tuple[int, int]:
    """The bytes of the texts in all calls' arguments; those that stand in their call, or were fetched.

    An index entry tells each call with its arguments, so that small ones are read there.
    """
    here = {call.id: argument_values(call.arguments) for message in request for call in message.calls}
    told = b"\n".join(content for content in fetched if content.startswith(HEAD.encode()))
    total = reachable = 0
    for call_id, (whole, *texts) in originals.calls.items():
        in_call = here.get(call_id, ())
        at_once = whole in fetched or whole in told
        for text in texts or [whole]:
            total += len(text)
            if at_once or text in in_call or text in fetched or _as_json(text) in told:
                reachable += len(text)
    return total, reachable


def _as_json(text: bytes) -> bytes:
    """A text as it stands inside JSON."""
    return msgspec.json.encode(text.decode("utf-8", "replace"))
