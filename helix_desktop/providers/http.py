"""The network: the only module that knows the HTTP client library."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx

FaultKind = Literal["address", "tls", "connect", "stalled", "idle", "cut"]
"""`stalled` is silence, `idle` a line that is kept open and brings nothing."""

LONGEST_BODY = 1024 * 1024
"""Bytes of a body that is read as a whole: error pages, lists of models."""


_IMPORTED_LATE = ("httpcore._backends.anyio", "anyio._backends._asyncio", "h11")
"""What the client library would import inside its first call, on the event loop: some 40 ms of it."""


class HttpFault(Exception):
    """The network failed; `kind` says at which point, the text says how."""

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


@dataclass(frozen=True)
class Timeouts:
    """Seconds without any progress after which a call counts as failed.

    `read_s` is the longest silence, also before the first byte: a local model reads a prompt for minutes.
    """

    connect_s: float = 10.0
    read_s: float = 300.0
    write_s: float = 60.0


class HttpReply:
    """A reply whose body is still on its way; header names are lower-case."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): text for name, text in response.headers.items()}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body's pieces as they arrive, decompressed. Raises HttpFault."""
        with _faults():
            async for chunk in self._response.aiter_bytes():
                yield chunk

    async def text(self, longest: int = LONGEST_BODY) -> str:
        """The body as text, cut at `longest` bytes. Raises HttpFault."""
        body = bytearray()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) >= longest:
                    break
        return bytes(body[:longest]).decode("utf-8", "replace")


class Http:
    """Connections to model servers, kept for reuse; to be closed with `aclose`.

    Proxies and certificates are the system's. Loopback addresses are never reached through a proxy, and a
    redirect is not followed: it could carry a key elsewhere.
    """

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self._timeouts = timeouts or Timeouts()
        self._clients: dict[bool, httpx.AsyncClient] = {}

    @asynccontextmanager
    async def send(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> AsyncIterator[HttpReply]:
        """Send a request and yield its reply; leaving the block ends the call. Raises HttpFault."""
        client = await self._client(is_loopback(url))
        with _faults():
            async with client.stream(method, url, headers=headers, content=body) as response:
                yield HttpReply(response)

    async def aclose(self) -> None:
        """Close all connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _client(self, direct: bool) -> httpx.AsyncClient:
        if direct not in self._clients:
            # The import and the reading of certificates take some 200 ms: not on the event loop.
            made = await asyncio.to_thread(_make_client, self._timeouts, direct)
            if direct in self._clients:
                await made.aclose()
            else:
                self._clients[direct] = made
        return self._clients[direct]


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine: localhost, 127.0.0.0/8 or ::1."""
    host = ""
    with suppress(ValueError):
        host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _make_client(timeouts: Timeouts, direct: bool) -> httpx.AsyncClient:
    import httpx

    for late in _IMPORTED_LATE:
        with suppress(ImportError):
            importlib.import_module(late)
    timeout = httpx.Timeout(
        connect=timeouts.connect_s, read=timeouts.read_s, write=timeouts.write_s, pool=None
    )
    try:
        return httpx.AsyncClient(timeout=timeout, verify=_certificates(), trust_env=not direct)
    except (ImportError, ValueError) as error:
        raise HttpFault("address", f"the proxy settings of this system cannot be used: {error}") from error


def _certificates() -> ssl.SSLContext:
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (context.get_ca_certs() or paths.cafile or paths.capath):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


@contextmanager
def _faults() -> Iterator[None]:
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError) as error:
        raise HttpFault(_kind(error), str(error) or type(error).__name__) from error


def _kind(error: Exception) -> FaultKind:
    import httpx

    if isinstance(error, httpx.ConnectError) and _came_from_tls(error):
        return "tls"
    kinds: tuple[tuple[FaultKind, tuple[type[Exception], ...]], ...] = (
        ("connect", (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)),
        ("stalled", (httpx.TimeoutException,)),
        (
            "address",
            (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeEncodeError),
        ),
    )
    return next((kind for kind, types in kinds if isinstance(error, types)), "cut")


def _came_from_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
