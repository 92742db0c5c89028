"""A model behind a streaming server: attempts, events, patience. What all dialects share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

import msgspec

from helix_desktop.domain.errors import InvalidModelResponse, ModelError
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, RetryScheduled, StreamItem
from helix_desktop.providers.dialect import AnswerAssembler, Dialect, Exchange, StreamedError
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.error_classification import body_excerpt, status_of_error
from helix_desktop.providers.http import HttpError, HttpResponse
from helix_desktop.providers.json_wire import is_json_object
from helix_desktop.providers.retry import RetryPolicy, RetryState, TransientError
from helix_desktop.providers.sse import EventTooLarge, SseEvent, SseParser
from helix_desktop.providers.surrogate_decoder import SurrogateDecoder

USAGE_GRACE_S = 5.0
"""Seconds to wait for the usage and the end marker once the answer has given its reason to end."""

END_GRACE_S = 0.2
"""Seconds to wait for the stream's end after its end marker: a connection read to its end is used again."""

STALL_S = 1_200.0
"""Seconds in which something of an answer has to come: twice what the most patient server (DeepSeek) takes.

Silence has a limit of its own (`http.Timeouts`); this one is for servers that only keep the line open.
"""

_DONE = "[DONE]"
_MAX_VARIANTS = 5  # in which one request is tried


class StreamedModel:
    """A model behind a server; implements the agent's `Model`. `stall_s` is the patience for one answer."""

    def __init__(
        self,
        info: ModelInfo,
        endpoint: Endpoint,
        dialect: Dialect,
        retry_policy: RetryPolicy | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        self._info = info
        self._endpoint = endpoint
        self._dialect = dialect
        self._retry_policy = retry_policy or RetryPolicy()
        self._stall_s = stall_s

    @property
    def info(self) -> ModelInfo:
        """Its name and its room."""
        return self._info

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Ask it; yields pieces as they arrive and an `Answer` last. `Retrying.attempt` counts from 2.

        Raises ModelUnreachable, ModelRefused, ModelOverflow, ModelNonsense. Closing the iterator, or
        cancelling the task, closes the connection.
        """
        exchange, pictured = self._dialect.exchange(request), bool(request.image_data)
        outage, forms = RetryState(self._retry_policy), 0
        while True:
            try:
                forms += 1
                async with aclosing(self._attempt(exchange, forms < _MAX_VARIANTS, pictured)) as arrivals:
                    async for arrival in arrivals:
                        yield arrival
                return
            except _RequestAdapted:
                continue
            except TransientError as failure:
                forms -= 1
                reason, wait_s = failure.reason, outage.next_wait_s(failure.retry_after_s)
                if wait_s is None:
                    raise outage.final_error(failure.error, failure.retry_after_s) from failure
            skip = asyncio.Event()
            yield RetryScheduled(outage.failures + 1, wait_s, reason, skip.set)
            await self._retry_policy.pause(wait_s, skip)

    async def _attempt(
        self, exchange: Exchange, can_adapt: bool, has_images: bool
    ) -> AsyncGenerator[StreamItem, None]:
        """One call. Raises Transient when another one may do better, _Adapted when another form may."""
        body = exchange.body()
        assembly = exchange.new_assembler()
        try:
            async with self._endpoint.send("POST", self._dialect.path, body) as reply:
                if reply.status != HTTPStatus.OK:
                    words = await reply.text()
                    if can_adapt and exchange.adapt_to_error(reply.status, words):
                        raise _RequestAdapted
                    raise self._error_for_status(reply.status, words, reply.headers, has_images)
                async with aclosing(self._read_answer(reply, assembly)) as arriving:
                    async for arrival in arriving:
                        yield arrival
        except StreamedError as sent:
            if can_adapt and exchange.adapt_to_error(sent.status, sent.body):
                raise _RequestAdapted from sent
            raise self._error_for_status(sent.status, sent.body, {}, has_images) from sent
        except HttpError as fault:
            # After its reason to end the answer is whole, whatever becomes of the connection.
            if not assembly.is_complete:
                raise self._endpoint.network_error(fault) from fault
        yield self._finished_answer(assembly)

    async def _read_answer(
        self, response: HttpResponse, assembler: AnswerAssembler
    ) -> AsyncGenerator[StreamItem, None]:
        """What the reply's pieces add for a reader, until it says that it is done."""
        if "json" in response.headers.get("content-type", ""):
            for arrival in assembler.add_full_response(
                self._parse_object(await response.text(), SurrogateDecoder(), is_full_response=True)
            ):
                yield arrival
            assembler.done = True
            return
        halves = SurrogateDecoder()
        async with aclosing(self._events(response, assembler)) as arriving:
            async for event in arriving:
                if event.data.strip() == _DONE:
                    assembler.done = True
                elif not assembler.done:
                    piece = self._parse_event(event, halves, assembler)
                    for arrival in assembler.add(piece) if piece is not None else ():
                        yield arrival

    async def _events(
        self, response: HttpResponse, assembler: AnswerAssembler
    ) -> AsyncGenerator[SseEvent, None]:
        parser = SseParser()
        patience = StallTimer(self._stall_s, assembler)
        try:
            async with aclosing(response.chunks()) as chunks:
                while (chunk := await patience.next_chunk(chunks)) is not None:
                    for event in parser.feed(chunk):
                        yield event
            for event in parser.finish():
                if event.data.strip() == _DONE or is_json_object(event.data):
                    yield event
            if parser.stray_text and not assembler.progress:
                raise self._nonsense_error(body_excerpt(parser.stray_text))
        except EventTooLarge as error:
            raise self._nonsense_error(f"It sent too much at once: {error}.") from error

    def _parse_event(
        self, event: SseEvent, decoder: SurrogateDecoder, assembler: AnswerAssembler
    ) -> Mapping[str, Any] | None:
        """One piece of a stream; None for a damaged one that comes when the answer is whole already."""
        try:
            return self._parse_object(event.data, decoder, event.name)
        except TransientError:
            if not assembler.is_complete:
                raise
            return None

    def _parse_object(
        self, text: str, decoder: SurrogateDecoder, event_name: str = "", *, is_full_response: bool = False
    ) -> Mapping[str, Any]:
        """One piece of a stream, or a whole reply, as an object. Raises ErrorSent for an error's.

        A damaged piece is like a cut: nothing of the answer was used, and another call may do better.
        """
        try:
            value = decoder.decode(text)
        except ValueError as fault:
            nonsense = self._nonsense_error(body_excerpt(text))
            raise (
                nonsense
                if is_full_response
                else TransientError("a piece of the answer was damaged", nonsense)
            ) from fault
        if not isinstance(value, dict):
            raise self._nonsense_error(body_excerpt(text))
        if value.get("error") or event_name == "error" or value.get("type") == "error":
            raise streamed_error(value.get("error") or value)
        return value

    def _finished_answer(self, assembler: AnswerAssembler) -> ModelResponse:
        if not assembler.is_complete:
            raise self._endpoint.network_error(HttpError("cut", "the stream ended without its end marker"))
        return assembler.answer()

    def _error_for_status(
        self, status: int, body: str, headers: Mapping[str, str], has_images: bool
    ) -> ModelError | TransientError:
        return self._endpoint.error_for_status(
            *(status, body, headers),
            model=self._info.name,
            now_s=self._retry_policy.now(),
            has_images=has_images,
        )

    def _nonsense_error(self, detail: str) -> InvalidModelResponse:
        return InvalidModelResponse(
            f"{self._info.provider} answered with something that is no answer.",
            self._endpoint.redact(detail),
            f"Check the base URL {self._endpoint.base_url}: most end in /v1. Check the dialect too.",
            remedies=("provider_settings",),
        )


class _RequestAdapted(Exception):
    """The server refused a form of the request; there is another one."""


class StallTimer:
    """Waits for the next bytes: briefly once the answer is whole, else until it has stalled for `stall_s`.

    `now` gives seconds; left out, the event loop does.
    """

    def __init__(
        self, stall_s: float, assembler: AnswerAssembler, now: Callable[[], float] | None = None
    ) -> None:
        self._stall_s, self._assembler = stall_s, assembler
        self._now = now or asyncio.get_running_loop().time
        self._last_progress, self._last_progress_s = 0, self._now()

    async def next_chunk(self, chunks: AsyncGenerator[bytes, None]) -> bytes | None:
        """The next piece, or None at the end. Raises HttpFault when the answer has stalled."""
        try:
            async with asyncio.timeout(self.remaining_s()):
                return await anext(chunks, None)
        except TimeoutError:
            if self._assembler.is_complete:
                return None
            raise HttpError("idle", f"nothing of an answer for {self._stall_s:.0f} s") from None

    def remaining_s(self) -> float:
        """Seconds to wait from now on."""
        if self._assembler.is_settled:
            return END_GRACE_S
        if self._assembler.is_complete:
            return USAGE_GRACE_S
        now = self._now()
        if self._assembler.progress != self._last_progress:
            self._last_progress, self._last_progress_s = self._assembler.progress, now
        return max(0.0, self._last_progress_s + self._stall_s - now)


def streamed_error(error: Any) -> StreamedError:
    """The error that a server sent as part of its answer."""
    return StreamedError(status_of_error(error), msgspec.json.encode({"error": error}).decode())
