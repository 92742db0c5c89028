"""The network: the only module that knows the HTTP client library."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import ssl
import sys
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import msgspec

from helix_desktop import __version__
from helix_desktop.domain.body_decoding import ACCEPT_ENCODING, BodyDecoder, BodyUndecodable
from helix_desktop.domain.translatable_text import OptionalText, TextContext

if TYPE_CHECKING:
    import httpx


_text = TextContext("Providers")


HttpErrorKind = Literal["address", "tls", "connect", "stalled", "idle", "cut"]
"""`stalled` is silence, `idle` a connection that is kept open without content."""

MAX_BODY_BYTES = 1024 * 1024
"""Maximum bytes of a body that is read at once: error pages, lists of models."""


_IMPORTED_LATE = ("httpcore._backends.anyio", "anyio._backends._asyncio", "h11")
"""Modules that the client library would import in its first call, blocking the event loop some 40 ms."""


class HttpError(Exception):
    """The network failed: `kind` is the stage, `detail` the technical reason.

    `why` explains it where that is possible, `fix` is what the user can do.
    """

    def __init__(
        self, kind: HttpErrorKind, detail: str, why: OptionalText = "", fix: OptionalText = ""
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.why = why
        self.fix = fix


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds without any progress after which a call counts as failed.

    `read_s` is the longest silence, also before the first byte: a local model reads a prompt for minutes.
    """

    connect_s: float = 10.0
    read_s: float = 300.0
    write_s: float = 60.0


class HttpResponse:
    """A reply whose body is still arriving; header names are lower-case."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): text for name, text in response.headers.items()}
        stream = response.extensions.get("network_stream")
        socket = stream.get_extra_info("ssl_object") if stream is not None else None
        self.tls: str = (socket.version() or "") if socket is not None else ""
        """The version of TLS; empty without TLS."""

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body's chunks as they arrive, decompressed. Raises HttpError."""
        with _translate_errors():
            async with aclosing(unpacked_chunks(self._response)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def text(self, max_bytes: int = MAX_BODY_BYTES) -> str:
        """Return the body as text, cut at `max_bytes` bytes. Raises HttpError."""
        body = bytearray()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) >= max_bytes:
                    await self._response.aclose()  # here: left to the generators, another task would do it
                    break
        return bytes(body[:max_bytes]).decode("utf-8", "replace")


async def unpacked_chunks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Yield a reply's body decompressed, in bounded pieces. Raises BodyUndecodable, httpx.HTTPError."""
    decoder = BodyDecoder(response.headers.get("content-encoding", ""))
    async for chunk in response.aiter_raw():
        for piece in decoder.feed(chunk):
            yield piece


class HttpClient:
    """Reusable connections to model servers; close with `aclose`.

    Proxies and certificates are the system's; `bypasses_proxy` says which hosts use no proxy.
    Loopback addresses never use one, and redirects are not followed: they could send a key elsewhere.
    """

    def __init__(
        self, timeouts: Timeouts | None = None, bypasses_proxy: Callable[[str], bool] | None = None
    ) -> None:
        self._timeouts = timeouts or Timeouts()
        self._bypasses_proxy = bypasses_proxy or _system_bypass
        self._bypass_by_host: dict[str, bool] = {}
        self._clients: dict[bool, httpx.AsyncClient] = {}

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        on_sent: Callable[[], Awaitable[None]] | None = None,
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and yield its reply; leaving the block ends the call. Raises HttpError.

        `on_sent` is awaited once the server has the whole request.
        """
        direct = await self._is_direct(url)
        client = await self._client(direct)
        with _translate_errors(url, direct):
            extensions = {"trace": _trace_sent(on_sent)} if on_sent is not None else None
            async with client.stream(
                method, url, headers=headers, content=body, extensions=extensions
            ) as response:
                yield HttpResponse(response)

    async def aclose(self) -> None:
        clients = self._clients
        self._clients = {}
        for client in clients.values():
            await client.aclose()

    async def _is_direct(self, url: str) -> bool:
        if is_loopback(url):
            return True
        host = _host(url)
        if host not in self._bypass_by_host:
            # On some systems this resolves a name over the network.
            self._bypass_by_host[host] = await asyncio.to_thread(self._bypasses_proxy, host)
        return self._bypass_by_host[host]

    async def _client(self, direct: bool) -> httpx.AsyncClient:
        if direct not in self._clients:
            # The import and the reading of certificates take some 200 ms: not on the event loop.
            client = await asyncio.to_thread(_make_client, self._timeouts, direct)
            if direct in self._clients:
                await client.aclose()
            else:
                self._clients[direct] = client
        return self._clients[direct]


def _trace_sent(
    on_sent: Callable[[], Awaitable[None]],
) -> Callable[[str, Mapping[str, Any]], Awaitable[None]]:
    """Return a function that the client library tells its steps; it awaits `on_sent` once all is sent."""

    async def trace(name: str, details: Mapping[str, Any]) -> None:
        # A proxy gets a request of its own first, to open the connection.
        if name.endswith("receive_response_headers.started") and details["request"].method != b"CONNECT":
            await on_sent()

    return trace


def is_loopback(url: str) -> bool:
    """Return True if a URL names this machine: localhost, 127.0.0.0/8 or ::1."""
    host = _host(url)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(url: str) -> str:
    with suppress(ValueError):
        return urlsplit(url).hostname or ""
    return ""


def _system_bypass(host: str) -> bool:
    return bool(host) and bool(urllib.request.proxy_bypass(host))


def _make_client(timeouts: Timeouts, direct: bool) -> httpx.AsyncClient:
    import httpx

    for module in _IMPORTED_LATE:
        with suppress(ImportError):
            importlib.import_module(module)
    timeout = httpx.Timeout(
        connect=timeouts.connect_s, read=timeouts.read_s, write=timeouts.write_s, pool=None
    )
    try:
        return httpx.AsyncClient(
            headers={"Accept-Encoding": ACCEPT_ENCODING},
            timeout=timeout,
            verify=certificates(),
            trust_env=not direct,
        )
    except (ImportError, ValueError) as error:
        raise HttpError(
            "address",
            str(error),
            _text("The proxy settings of this system can't be used ({detail}).", detail=str(error)),
            _text("Set an http:// proxy in the system's network settings or in HTTPS_PROXY, or none."),
        ) from error


def certificates() -> ssl.SSLContext:
    """Return an SSL context with the system's trust store; if it has none at all, with certifi's list."""
    import truststore

    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if sys.platform == "linux":
        paths = ssl.get_default_verify_paths()
        # Checked last: it reads every certificate of the system.
        if not (paths.cafile or paths.capath or ssl.create_default_context().get_ca_certs()):
            import certifi

            context.load_verify_locations(certifi.where())
    return context


@contextmanager
def _translate_errors(url: str = "", direct: bool = True) -> Iterator[None]:
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError, BodyUndecodable) as error:
        kind = _error_kind(error)
        detail = str(error) or type(error).__name__
        why: OptionalText = ""
        fix: OptionalText = ""
        if isinstance(error, BodyUndecodable):
            why = _text("The response can't be unpacked ({detail}).", detail=detail)
            fix = _text("Check the base URL, and the settings of a proxy or gateway in between.")
        elif kind == "tls":
            why, fix = _explain_tls_error(error, _host(url))
        elif kind == "connect" and not direct and (proxy := _proxy_of(url)):
            why = _text(
                "The connection through the system's proxy {proxy} failed ({detail}).",
                proxy=proxy,
                detail=detail,
            )
            fix = _text("Check the proxy settings of the system, and that the proxy allows this address.")
        raise HttpError(kind, detail, why, fix) from error


def _proxy_of(url: str) -> str:
    """Return the system's proxy for a URL, without its name and password."""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(urlsplit(url).scheme) or proxies.get("all") or ""
    return proxy.rpartition("@")[2].removeprefix("http://").rstrip("/")


def _explain_tls_error(error: BaseException, host: str) -> tuple[OptionalText, OptionalText]:
    """Explain a certificate error, and its fix; return nothing for other TLS errors."""
    cause = _tls_error(error)
    if not isinstance(cause, ssl.SSLCertVerificationError):
        return "", ""
    message = (cause.verify_message or str(cause)).lower()
    if "expired" in message or "not yet valid" in message:
        return (
            _text("The certificate for {host} isn't valid now ({detail}).", host=host, detail=message),
            _text("Check this computer's clock, or ask the server's owner to renew the certificate."),
        )
    if "mismatch" in message or "not valid for" in message or "match" in message:
        return (
            _text("The certificate isn't for {host} ({detail}).", host=host, detail=message),
            _text("In the base URL, use the name that the certificate is for."),
        )
    return (
        _text(
            "The certificate for {host} isn't trusted by this system ({detail}).", host=host, detail=message
        ),
        _text("For your own server or company proxy, add its authority to the system's trust store."),
    )


def _error_kind(error: Exception) -> HttpErrorKind:
    import httpx

    if isinstance(error, httpx.ConnectError) and _tls_error(error) is not None:
        return "tls"
    kinds: tuple[tuple[HttpErrorKind, tuple[type[Exception], ...]], ...] = (
        ("connect", (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)),
        ("stalled", (httpx.TimeoutException,)),
        (
            "address",
            (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeEncodeError),
        ),
    )
    return next((kind for kind, types in kinds if isinstance(error, types)), "cut")


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return error
        error = error.__cause__ or error.__context__
    return None


_CONNECT_S = 10.0
_READ_S = 20.0
_HEADERS = {
    "User-Agent": f"HelixDesktop/{__version__} (fetches single pages for a user)",
    "Accept": "text/html,text/plain,application/json;q=0.9,*/*;q=0.5",
    "Accept-Encoding": ACCEPT_ENCODING,
}


class WebPage(msgspec.Struct, frozen=True):
    """The response of a server; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_complete: bool


async def fetch_page(url: str, address: str, max_bytes: int) -> WebPage:
    """Fetch a page from a numeric address, at most `max_bytes` bytes of it.

    The certificate is checked against the name in the URL. No proxy, cookies, redirects. Raises OSError.
    """
    import httpx

    trusted = await asyncio.to_thread(certificates)
    target = httpx.URL(url)
    client = httpx.AsyncClient(
        timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S), verify=trusted, trust_env=False
    )
    request = client.build_request(
        "GET",
        target.copy_with(host=address),
        headers={**_HEADERS, "Host": target.netloc.decode()},
        extensions={"sni_hostname": target.raw_host.decode()},
    )
    try:
        async with client:
            reply = await client.send(request, stream=True)
            try:
                return await _read(reply, max_bytes)
            finally:
                await reply.aclose()
    except (httpx.HTTPError, httpx.InvalidURL, BodyUndecodable) as error:
        raise OSError(str(error) or type(error).__name__) from error


async def _read(response: httpx.Response, max_bytes: int) -> WebPage:
    body = bytearray()
    async with aclosing(unpacked_chunks(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > max_bytes:
                break
    headers = {name.lower(): text for name, text in response.headers.items()}
    return WebPage(response.status_code, headers, bytes(body[:max_bytes]), len(body) <= max_bytes)
