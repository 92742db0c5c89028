"""Measure what can still be read of a session from its window: fetch every original output and compare."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from helix_desktop.context.summaries.index_entry import HEAD
from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.messages import Message
from helix_desktop.replay.recording import parse_arguments

_HANDLE = re.compile(rf"(?<![0-9a-f])[0-9a-f]{{{MIN_PREFIX},{HEX_DIGITS}}}(?![0-9a-f])")
"""A digest, or as many of its first digits as a recall accepts; also any other number of so many digits."""
MAX_LOST_NAMED = 5
"""Maximum number of lost outputs that a report names."""


class Reachability(msgspec.Struct, frozen=True):
    """The tool outputs before one model call, in bytes: all, complete in its window, and reachable.

    An output is reachable if it is complete in the window, or can be fetched through handles in it.
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
        """Return the share of output bytes that can be read; 1 if there are no outputs."""
        return self.reachable_bytes / self.output_bytes if self.output_bytes else 1.0


class OriginalOutputs:
    """The recorded outputs and call arguments so far, by call."""

    def __init__(self) -> None:
        self.outputs: dict[str, bytes] = {}
        self.calls: dict[str, tuple[bytes, ...]] = {}
        self._contents: set[bytes] = set()

    def add(self, message: Message) -> None:
        """Record the output and the call arguments of a message."""
        if message.role == "tool":
            self.outputs[message.call_id] = _bytes(message.text)
            self._contents.add(self.outputs[message.call_id])
        for call in message.calls:
            self.calls[call.id] = argument_values(call.arguments)
            self._contents.update(self.calls[call.id])

    def is_original(self, content: bytes) -> bool:
        """Return True if the content is an original: handles inside it are mere quotations."""
        return content in self._contents


def argument_values(arguments: str) -> tuple[bytes, ...]:
    """Return a call's complete arguments, followed by each text in them."""
    return (_bytes(arguments), *map(_bytes, _texts(parse_arguments(arguments))))


def _json_texts(content: bytes) -> tuple[bytes, ...]:
    return argument_values(content.decode("utf-8", "replace"))[1:]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON can contain lone surrogates


def find_handles(request: Iterable[Message]) -> Iterator[str]:
    """Yield what may be a handle in a request's texts and arguments, in order of appearance."""
    for message in request:
        yield from _HANDLE.findall(message.text)
        for call in message.calls:
            yield from _HANDLE.findall(call.arguments)


def visible_call_ids(request: Iterable[Message], originals: OriginalOutputs) -> set[str]:
    """Return the ids of calls whose complete output is in the request."""
    return {
        message.call_id
        for message in request
        if message.role == "tool" and originals.outputs.get(message.call_id) == _bytes(message.text)
    }


def follow_handles(
    request: Sequence[Message], originals: OriginalOutputs, recall: Callable[[str], bytes]
) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield each content that a request's handles lead to, nearest first, with the path of handles."""
    paths: deque[tuple[str, ...]] = deque((handle,) for handle in dict.fromkeys(find_handles(request)))
    visited = {path[0] for path in paths}
    while paths:
        path = paths.popleft()
        try:
            content = recall(path[-1])
        except DigestUnknown:  # texts may quote foreign digests
            continue
        yield path, content
        if originals.is_original(content):
            continue
        new_handles = [
            match for match in _HANDLE.findall(content.decode("utf-8", "replace")) if match not in visited
        ]
        for handle in dict.fromkeys(new_handles):
            visited.add(handle)
            paths.append((*path, handle))


def measure_reachability(
    request_number: int,
    request: Sequence[Message],
    originals: OriginalOutputs,
    recall: Callable[[str], bytes],
) -> Reachability:
    """Measure what can be read from the request of this number by fetching every content."""
    visible = visible_call_ids(request, originals)
    fetched = {content for _, content in follow_handles(request, originals, recall)}
    lost = [
        call_id
        for call_id, content in originals.outputs.items()
        if call_id not in visible and content not in fetched
    ]
    sizes = {call_id: len(content) for call_id, content in originals.outputs.items()}
    total = sum(sizes.values())
    arguments, reachable_arguments = _argument_bytes(request, originals, fetched)
    return Reachability(
        request_number,
        len(sizes),
        total,
        sum(sizes[call_id] for call_id in visible),
        total - sum(sizes[call_id] for call_id in lost),
        arguments,
        reachable_arguments,
        tuple(lost_id for lost_id in lost if sizes[lost_id])[:MAX_LOST_NAMED],
    )


def _argument_bytes(
    request: Iterable[Message], originals: OriginalOutputs, fetched: set[bytes]
) -> tuple[int, int]:
    """Return the bytes of the texts in all calls' arguments, and of those in their call or fetched.

    An index entry contains each call with its arguments, so small ones can be read there. A large list or
    object is stored as JSON, with the texts in it.
    """
    call_arguments = {
        call.id: argument_values(call.arguments) for message in request for call in message.calls
    }
    in_fetched = {text for content in fetched if content[:1] in (b"[", b"{") for text in _json_texts(content)}
    index_text = b"\n".join(content for content in fetched if content.startswith(HEAD.encode()))
    total = reachable = 0
    for call_id, (complete, *texts) in originals.calls.items():
        in_call = call_arguments.get(call_id, ())
        at_once = complete in fetched or complete in index_text
        for text in texts or [complete]:
            total += len(text)
            is_fetched = text in fetched or text in in_fetched
            if at_once or is_fetched or text in in_call or _as_json(text) in index_text:
                reachable += len(text)
    return total, reachable


def _as_json(text: bytes) -> bytes:
    """Return a text encoded as JSON."""
    return msgspec.json.encode(text.decode("utf-8", "replace"))
