"""What a test server sends, in any dialect: parts of a stream, complete replies, received requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ReplyHeaders = Mapping[str, str]


@dataclass(frozen=True)
class Text:
    """One piece of the answer's text."""

    text: str


@dataclass(frozen=True)
class Reasoning:
    """One piece of reasoning, under the server's name for it."""

    text: str
    field: str = "reasoning_content"


@dataclass(frozen=True)
class Call:
    """A complete tool call, its arguments sent in pieces of `piece` characters."""

    name: str
    arguments: str = "{}"
    id: str = ""
    piece_length: int = 7


@dataclass(frozen=True)
class Delta:
    """A delta, or an event, sent verbatim: for servers with peculiarities."""

    delta: Mapping[str, Any]


@dataclass(frozen=True)
class Raw:
    """Bytes put into the stream as they are."""

    data: bytes


@dataclass(frozen=True)
class Wait:
    """Sends nothing until the test sets the event."""

    until: asyncio.Event


@dataclass(frozen=True)
class Hang:
    """Sends nothing more; ends when the client disconnects."""


@dataclass(frozen=True)
class Disconnect:
    """Breaks the connection off, in the middle of the transfer."""


@dataclass(frozen=True)
class Finish:
    """Sends the reason to end now; the stream sends none of its own then."""

    reason: str


@dataclass(frozen=True)
class OpaqueReasoning:
    """Opaque thinking: a signature for the reasoning before it, or encrypted reasoning."""

    data: str


@dataclass(frozen=True)
class KeepAlives:
    """Keeps the connection open with the dialect's keep-alives until the client disconnects."""


StreamPart = (
    Text | Reasoning | Call | Delta | Raw | Wait | Hang | Disconnect | Finish | OpaqueReasoning | KeepAlives
)


@dataclass(frozen=True)
class TokenCounts:
    """Tokens as the server reports them; `cache_writes` None: it does not report them."""

    input: int
    output: int
    cached: int = 0
    cache_writes: int | None = None
    cache_writes_1h: int = 0


class StreamedReply:
    """An answer that streams its parts, then its finish reason, its usage if requested, and `[DONE]`.

    `finish` "" sends no reason; `usage` None reports nothing, "estimate" a quarter of the characters.
    """

    def __init__(
        self,
        *parts: StreamPart,
        finish: str | None = None,
        usage: TokenCounts | Literal["estimate"] | None = "estimate",
        send_done: bool = True,
    ) -> None:
        self.parts = parts
        self.finish = finish
        self.usage = usage
        self.send_done = send_done

    @property
    def finish_reason(self) -> str:
        if self.finish is not None:
            return self.finish
        if any(isinstance(part, Finish) for part in self.parts):
            return ""
        return "tool_calls" if any(isinstance(part, Call) for part in self.parts) else "stop"


@dataclass(frozen=True)
class PlainReply:
    """A complete reply that is no stream: an error, a page, a list."""

    status: int
    body: str | Mapping[str, Any] = ""
    headers: ReplyHeaders = field(default_factory=dict)
    content_type: str = "application/json"


Reply = StreamedReply | PlainReply


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as it came in; header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)
