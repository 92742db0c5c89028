"""A server behind a URL: the streamable HTTP transport, to one origin, with bounded answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from helix_desktop.mcp.chatter import Chatter
from helix_desktop.mcp.process import LARGEST_MESSAGE

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams  # named by no public module

_CONNECT_S, _READ_S = 10.0, 300.0  # a stream may stay silent for long; calls have their own limits
_FAILED, _UNKNOWN = 400, 404


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of an answer, up to a limit; streams of events have one of their own for each event."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
        self._stream, self._request = stream, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > LARGEST_MESSAGE:
                words = f"It sent an answer of over {LARGEST_MESSAGE // 2**20} MB, which was not read on."
                raise httpx2.ReadError(words, request=self._request)
            yield piece

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._stream.aclose()


@asynccontextmanager
async def web(
    url: str, headers: Mapping[str, str], chatter: Chatter, gone: asyncio.Event
) -> AsyncIterator[TransportStreams]:
    """Carry messages to and from a URL. Its refusals go to `chatter`; `gone`: it has lost the session."""

    async def heard(response: httpx2.Response) -> None:
        if response.status_code >= _FAILED:
            chatter.add(f"{response.request.method}: {response.status_code} {response.reason_phrase}\n")
        if response.status_code == _UNKNOWN and "mcp-session-id" in response.request.headers:
            gone.set()
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # the client is asynchronous
            response.stream = _Bounded(response.stream, response.request)

    client = httpx2.AsyncClient(
        headers=dict(headers),
        timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
        event_hooks={"response": [heard]},
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_MESSAGE) as streams,
    ):
        yield streams
