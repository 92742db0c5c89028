"""A server behind a URL: the streamable HTTP transport, to one origin, with bounded answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from helix_desktop.mcp.client.process import MAX_MESSAGE_BYTES
from helix_desktop.mcp.client.stderr_log import StderrLog

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams  # named by no public module

_CONNECT_S, _READ_S = 10.0, 300.0  # a stream may stay silent for long; calls have their own limits
_FIRST_ERROR_STATUS, _NOT_FOUND_STATUS = 400, 404


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of a response, up to a limit; event streams have their own limit per event."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
        self._stream, self._request = stream, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_MESSAGE_BYTES:
                message = f"It sent an answer of over {MAX_MESSAGE_BYTES // 2**20} MB, which was not read on."
                raise httpx2.ReadError(message, request=self._request)
            yield chunk

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()


@asynccontextmanager
async def connect_http(
    url: str, headers: Mapping[str, str], stderr_log: StderrLog, disconnected: asyncio.Event
) -> AsyncIterator[TransportStreams]:
    """Carry messages to and from a URL. Errors go to `stderr_log`; a lost session sets `disconnected`."""

    async def on_response(response: httpx2.Response) -> None:
        if response.status_code >= _FIRST_ERROR_STATUS:
            stderr_log.add(f"{response.request.method}: {response.status_code} {response.reason_phrase}\n")
        if response.status_code == _NOT_FOUND_STATUS and "mcp-session-id" in response.request.headers:
            disconnected.set()
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # the client is asynchronous
            response.stream = _BoundedStream(response.stream, response.request)

    client = httpx2.AsyncClient(
        headers=dict(headers),
        timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
        event_hooks={"response": [on_response]},
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams
