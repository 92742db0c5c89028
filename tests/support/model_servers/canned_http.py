"""A network that returns one reply, cut into pieces of any size."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from helix_desktop.providers.http import MAX_BODY_BYTES, HttpClient, HttpResponse


class CannedResponse(HttpResponse):
    """A stream of events with known bytes."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks
        self.status = 200
        self.headers = {"content-type": "text/event-stream"}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for piece in self._chunks:
            yield piece

    async def text(self, max_bytes: int = MAX_BODY_BYTES) -> str:
        return b"".join(self._chunks)[:max_bytes].decode()


class CannedHttp(HttpClient):
    """Answers every request with these pieces; `bodies` are the request bodies."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        super().__init__()
        self.chunks = chunks
        self.bodies: list[bytes] = []

    def next_reply(self) -> Sequence[bytes]:
        return self.chunks

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        on_sent: Callable[[], Awaitable[None]] | None = None,
    ) -> AsyncIterator[HttpResponse]:
        self.bodies.append(body or b"")
        yield CannedResponse(self.next_reply())
