"""The plainest form of a request, and the search for the part of the usual one that a server refuses."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Literal

from msgspec.structs import replace

from helix_desktop.domain.messages import Message, ModelRequest, ToolCall, ToolSpec

PlainPart = Literal["usage", "cache", "reasoning", "ids", "names", "null", "roles"]
"""What the plainest form does without, in the order in which the parts come back.

The request for usage; hints for the cache; reasoning and effort; ids and statuses of items; names of calls as
the model wrote them; null in place of an empty text; the order of roles as the session has it.
"""

PARTS: tuple[PlainPart, ...] = ("usage", "cache", "reasoning", "ids", "names", "null", "roles")
MAX_TRIALS = 5
"""Requests at most with which parts come back, as the first two do so together."""

_FIRST: frozenset[PlainPart] = frozenset({"usage", "cache"})
PLACEHOLDER = "…"
"""The message that stands between two roles which a server does not accept side by side."""

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME_CHARS = 64  # OpenAI's rule: ^[a-zA-Z0-9_-]{1,64}$

SaveRefused = Callable[[Mapping[str, str]], Awaitable[None]]


async def _forget(_: Mapping[str, str]) -> None:
    """Keep what was learned for this run only."""


class PlainForm:
    """What the server of one model refuses of requests, shared by all that call it.

    `refused` has the server's words for each part that is known; `save` stores it. The other parts that are
    left out are suspects: they come back one at a time, and the one with which a request is refused is known.
    """

    def __init__(self, refused: Mapping[str, str] | None = None, save: SaveRefused = _forget) -> None:
        self.refused = dict(refused or {})
        self._save = save
        self._suspects: list[PlainPart] = []
        self._is_first_refused = False  # the first two together, of which one is known next
        self.refused_tools: tuple[ToolSpec, ...] = ()
        """Tools of MCP servers that are left out while they are what they were when they were refused."""

    @property
    def left_out(self) -> frozenset[PlainPart]:
        """The parts that requests go without."""
        return frozenset(part for part in PARTS if part in self.refused or part in self._suspects)

    @property
    def suspects(self) -> tuple[PlainPart, ...]:
        """The parts of which one is refused, in the order in which they come back."""
        return tuple(self._suspects)

    def next_trial(self, testable: Collection[PlainPart]) -> frozenset[PlainPart]:
        """Return the suspects that come back with a request, of those that make a difference to it."""
        suspects = [part for part in self._suspects if part in testable]
        if not self._is_first_refused and len(suspects) > len(_FIRST) and _FIRST.issubset(suspects):
            return _FIRST
        return frozenset(suspects[:1])

    def suspect(self, parts: Iterable[PlainPart]) -> None:
        """Begin the search: a request went through without these parts, of which one may be refused."""
        self._suspects = [part for part in parts if part not in self.refused]
        self._is_first_refused = False

    def clear(self, parts: Collection[PlainPart]) -> None:
        """Note that a request with these parts went through."""
        self._suspects = [part for part in self._suspects if part not in parts]

    async def blame(self, parts: Collection[PlainPart], words: str) -> None:
        """Remember a part that is refused; the other suspects come back. Two are tried alone first."""
        if len(parts) > 1:
            self._is_first_refused = True
            return

        self._suspects = []
        part = next(iter(parts))
        self.refused = {**self.refused, part: words}
        await self._save(self.refused)


def without_tools(request: ModelRequest, tools: Collection[ToolSpec]) -> ModelRequest:
    if not tools:
        return request
    return replace(request, tools=tuple(tool for tool in request.tools if tool not in tools))


def plain_request(request: ModelRequest, left_out: Collection[PlainPart]) -> ModelRequest:
    """Return a request with legal names of calls and joined roles, where those are left out."""
    if "names" in left_out:
        tools = [tool.name for tool in request.tools]
        request = replace(request, messages=tuple(_with_legal_names(request.messages, tools)))
    if "roles" in left_out:
        cache = request.cache
        # Layers end after a number of messages, which is another one then.
        cache = cache and replace(cache, ends=())
        request = replace(request, messages=tuple(_with_joined_roles(request.messages)), cache=cache)
    return request


def legal_name(name: str, tools: Collection[str]) -> str:
    """Return a name that servers accept: the tool with which it begins, or itself without other signs."""
    if name in tools:
        return name
    start = _ILLEGAL.split(name, maxsplit=1)[0]
    return start if start in tools else _ILLEGAL.sub("_", name)[:_MAX_NAME_CHARS] or "_"


def _with_legal_names(messages: Iterable[Message], tools: Collection[str]) -> Iterable[Message]:
    """Yield messages whose calls have legal names; those of tools that are not offered become text."""
    as_text: set[str] = set()
    results: list[Message] = []  # as text, for after the last answer of their step
    for message in messages:
        if message.role != "tool":
            yield from results
            results = []
        if message.role == "assistant" and message.calls:
            calls = [replace(call, name=legal_name(call.name, tools)) for call in message.calls]
            others = [call for call in calls if tools and call.name not in tools]
            as_text = {call.id for call in others}
            offered = tuple(call for call in calls if call.id not in as_text)
            yield replace(message, calls=offered, text=_with_calls_as_text(message.text, others))
        elif message.role == "tool" and message.call_id in as_text:
            text = f"[Result of {legal_name(message.name, tools)}]\n{message.text}"
            results.append(Message("user", text, images=message.images))
        elif message.role == "tool":
            yield replace(message, name=legal_name(message.name, tools))
        else:
            yield message
    yield from results


def _with_calls_as_text(text: str, calls: Iterable[ToolCall]) -> str:
    written = [f"[Called {call.name} with {call.arguments}]" for call in calls]
    return "\n\n".join(part for part in (text, *written) if part)


def _with_joined_roles(messages: Iterable[Message]) -> list[Message]:
    """Return the system's text first, then user and assistant in turns; answers stay behind their calls."""
    system: list[Message] = []
    joined: list[Message] = []
    pictures: list[Message] = []  # of tools, for after the last answer of their step
    for message in messages:
        if message.role == "system":
            system.append(message)
            continue

        if message.role == "tool":
            joined.append(replace(message, images=()))
            if message.images:
                head = f"[Image in the answer to call {message.call_id}, {message.name}]"
                pictures.append(Message("user", head, images=message.images))
            continue

        for part in (*pictures, message):
            _append_in_turn(joined, part)
        pictures = []

    for part in pictures:
        _append_in_turn(joined, part)
    text = "\n\n".join(message.text for message in system if message.text)
    return [Message("system", text), *joined] if text else joined


def _append_in_turn(joined: list[Message], message: Message) -> None:
    """Append a message; join it with one of its role, or put a placeholder between two that can't meet."""
    last = joined[-1] if joined else None
    if last is not None and last.role == message.role == "user":
        joined[-1] = Message("user", _joined_text(last, message), images=(*last.images, *message.images))
        return

    if last is not None and last.role == message.role == "assistant" and not last.calls:
        joined[-1] = Message("assistant", _joined_text(last, message), message.calls)
        return

    if message.role == "user" and last is not None and last.role == "tool":
        joined.append(Message("assistant", PLACEHOLDER))
    if message.role == "assistant" and last is None:
        joined.append(Message("user", PLACEHOLDER))
    joined.append(message)


def _joined_text(first: Message, second: Message) -> str:
    return "\n\n".join(text for text in (first.text, second.text) if text.strip())
