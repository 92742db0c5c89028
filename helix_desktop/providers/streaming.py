"""A model behind a streaming server: attempts, events, patience. What all dialects share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

import msgspec

from helix_desktop.context.errors import ModelError, ModelNonsense
from helix_desktop.context.message import Answer, Arrival, ModelInfo, Request, Retrying
from helix_desktop.providers.dialect import Assembly, Dialect, ErrorSent, Exchange
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.halves import Halves
from helix_desktop.providers.http import HttpFault, HttpReply
from helix_desktop.providers.refusal import sample, status_in
from helix_desktop.providers.retry import Outage, Retries, Transient
from helix_desktop.providers.sse import EventTooLarge, SseEvent, SseParser
from helix_desktop.providers.wire import is_object

USAGE_GRACE_S = 5.0
"""Seconds to wait for the usage and the end marker once the answer has given its reason to end."""

END_GRACE_S = 0.2
"""Seconds to wait for the stream's end after its end marker: a connection read to its end is used again."""

STALL_S = 1_200.0
"""Seconds in which something of an answer has to come: twice what the most patient server (DeepSeek) takes.

Silence has a limit of its own (`http.Timeouts`); this one is for servers that only keep the line open.
"""

_DONE = "[DONE]"
_MOST_FORMS = 5  # in which one request is tried


class StreamedModel:
    """A model behind a server; implements the agent's `Model`. `stall_s` is the patience for one answer."""

    def __init__(
        self,
        info: ModelInfo,
        endpoint: Endpoint,
        dialect: Dialect,
        retries: Retries | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        self._info = info
        self._endpoint = endpoint
        self._dialect = dialect
        self._retries = retries or Retries()
        self._stall_s = stall_s

    @property
    def info(self) -> ModelInfo:
        """Its name and its room."""
        return self._info

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """Ask it; yields pieces as they arrive and an `Answer` last. `Retrying.attempt` counts from 2.

        Raises ModelUnreachable, ModelRefused, ModelOverflow, ModelNonsense. Closing the iterator, or
        cancelling the task, closes the connection.
        """
        exchange, pictured = self._dialect.exchange(request), bool(request.pictures)
        outage, forms = Outage(self._retries), 0
        while True:
            try:
                forms += 1
                async with aclosing(self._attempt(exchange, forms < _MOST_FORMS, pictured)) as arrivals:
                    async for arrival in arrivals:
                        yield arrival
                return
            except _Adapted:
                continue
            except Transient as failure:
                forms -= 1
                reason, wait_s = failure.reason, outage.next_wait_s(failure.retry_after_s)
                if wait_s is None:
                    raise outage.given_up(failure.error, failure.retry_after_s) from failure
            skip = asyncio.Event()
            yield Retrying(outage.failed + 1, wait_s, reason, skip.set)
            await self._retries.pause(wait_s, skip)

    async def _attempt(
        self, exchange: Exchange, adapting: bool, pictured: bool
    ) -> AsyncGenerator[Arrival, None]:
        """One call. Raises Transient when another one may do better, _Adapted when another form may."""
        body = exchange.body()
        assembly = exchange.assembly()
        try:
            async with self._endpoint.send("POST", self._dialect.path, body) as reply:
                if reply.status != HTTPStatus.OK:
                    words = await reply.text()
                    if adapting and exchange.adapt(reply.status, words):
                        raise _Adapted
                    raise self._refusal(reply.status, words, reply.headers, pictured)
                async with aclosing(self._arriving(reply, assembly)) as arriving:
                    async for arrival in arriving:
                        yield arrival
        except ErrorSent as sent:
            if adapting and exchange.adapt(sent.status, sent.body):
                raise _Adapted from sent
            raise self._refusal(sent.status, sent.body, {}, pictured) from sent
        except HttpFault as fault:
            # After its reason to end the answer is whole, whatever becomes of the connection.
            if not assembly.complete:
                raise self._endpoint.unreachable(fault) from fault
        yield self._whole(assembly)

    async def _arriving(self, reply: HttpReply, assembly: Assembly) -> AsyncGenerator[Arrival, None]:
        """What the reply's pieces add for a reader, until it says that it is done."""
        if "json" in reply.headers.get("content-type", ""):
            for arrival in assembly.add_whole(self._object(await reply.text(), Halves(), whole=True)):
                yield arrival
            assembly.done = True
            return
        halves = Halves()
        async with aclosing(self._events(reply, assembly)) as arriving:
            async for event in arriving:
                if event.data.strip() == _DONE:
                    assembly.done = True
                elif not assembly.done:
                    piece = self._piece(event, halves, assembly)
                    for arrival in assembly.add(piece) if piece is not None else ():
                        yield arrival

    async def _events(self, reply: HttpReply, assembly: Assembly) -> AsyncGenerator[SseEvent, None]:
        parser = SseParser()
        patience = Patience(self._stall_s, assembly)
        try:
            async with aclosing(reply.chunks()) as chunks:
                while (chunk := await patience.next(chunks)) is not None:
                    for event in parser.feed(chunk):
                        yield event
            for event in parser.finish():
                if event.data.strip() == _DONE or is_object(event.data):
                    yield event
            if parser.stray and not assembly.progress:
                raise self._nonsense(sample(parser.stray))
        except EventTooLarge as error:
            raise self._nonsense(f"It sent too much at once: {error}.") from error

    def _piece(self, event: SseEvent, halves: Halves, assembly: Assembly) -> Mapping[str, Any] | None:
        """One piece of a stream; None for a damaged one that comes when the answer is whole already."""
        try:
            return self._object(event.data, halves, event.name)
        except Transient:
            if not assembly.complete:
                raise
            return None

    def _object(
        self, text: str, halves: Halves, event: str = "", *, whole: bool = False
    ) -> Mapping[str, Any]:
        """One piece of a stream, or a whole reply, as an object. Raises ErrorSent for an error's.

        A damaged piece is like a cut: nothing of the answer was used, and another call may do better.
        """
        try:
            value = halves.read(text)
        except ValueError as fault:
            nonsense = self._nonsense(sample(text))
            raise (nonsense if whole else Transient("a piece of the answer was damaged", nonsense)) from fault
        if not isinstance(value, dict):
            raise self._nonsense(sample(text))
        if value.get("error") or event == "error" or value.get("type") == "error":
            raise error_sent(value.get("error") or value)
        return value

    def _whole(self, assembly: Assembly) -> Answer:
        if not assembly.complete:
            raise self._endpoint.unreachable(HttpFault("cut", "the stream ended without its end marker"))
        return assembly.answer()

    def _refusal(
        self, status: int, body: str, headers: Mapping[str, str], pictured: bool
    ) -> ModelError | Transient:
        return self._endpoint.refusal(
            *(status, body, headers), model=self._info.name, now=self._retries.now(), pictured=pictured
        )

    def _nonsense(self, why: str) -> ModelNonsense:
        return ModelNonsense(
            f"{self._info.provider} answered with something that is no answer.",
            self._endpoint.redact(why),
            f"Check the base URL {self._endpoint.base_url}: most end in /v1. Check the dialect too.",
            remedies=("provider_settings",),
        )


class _Adapted(Exception):
    """The server refused a form of the request; there is another one."""


class Patience:
    """Waits for the next bytes: briefly once the answer is whole, else until it has stalled for `stall_s`.

    `now` gives seconds; left out, the event loop does.
    """

    def __init__(self, stall_s: float, assembly: Assembly, now: Callable[[], float] | None = None) -> None:
        self._stall_s, self._assembly = stall_s, assembly
        self._now = now or asyncio.get_running_loop().time
        self._seen, self._since = 0, self._now()

    async def next(self, chunks: AsyncGenerator[bytes, None]) -> bytes | None:
        """The next piece, or None at the end. Raises HttpFault when the answer has stalled."""
        try:
            async with asyncio.timeout(self.left_s()):
                return await anext(chunks, None)
        except TimeoutError:
            if self._assembly.complete:
                return None
            raise HttpFault("idle", f"nothing of an answer for {self._stall_s:.0f} s") from None

    def left_s(self) -> float:
        """Seconds to wait from now on."""
        if self._assembly.settled:
            return END_GRACE_S
        if self._assembly.complete:
            return USAGE_GRACE_S
        now = self._now()
        if self._assembly.progress != self._seen:
            self._seen, self._since = self._assembly.progress, now
        return max(0.0, self._since + self._stall_s - now)


def error_sent(failure: Any) -> ErrorSent:
    """The error that a server sent as part of its answer."""
    return ErrorSent(status_in(failure), msgspec.json.encode({"error": failure}).decode())
