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


@asynccontextmanager
async def web(
    url: str, headers: Mapping[str, str], chatter: Chatter, gone: asyncio.Event
) -> AsyncIterator[TransportStreams]:
    """Carry messages to and from a URL. Its refusals go to `chatter`; `gone`: it has lost the session."""

    async def heard(response: httpx2.Response) -> None:
        size = response.headers.get("content-length", "")
        if response.status_code >= _FAILED:
            chatter.add(f"{response.request.method}: {response.status_code} {response.reason_phrase}\n")
        if response.status_code == _UNKNOWN and "mcp-session-id" in response.request.headers:
            gone.set()
        if size.isdigit() and int(size) > LARGEST_MESSAGE:
            chatter.note(f"It sent an answer of over {LARGEST_MESSAGE // 2**20} MB, which was not read.")
            raise httpx2.ReadError("the answer is too large", request=response.request)

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
