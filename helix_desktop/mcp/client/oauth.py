"""Sign-in at servers over HTTP (OAuth 2.1): in the browser when the user asks for it, then by its tokens.

A server says where to sign in. It may send us to no network that is more private than its own, and only to
encrypted connections or to this computer. Redirects are followed within one origin.
"""

from __future__ import annotations

import asyncio
import html
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

import httpx2
import msgspec
from mcp.client.auth import (
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.shared._httpx_utils import stream_within_origin  # what the transport itself follows redirects with
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from helix_desktop.domain.body_decoding import BodyUndecodable
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.mcp_server import SignIn
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim
from helix_desktop.mcp.client.exposed_tool import sanitize_text
from helix_desktop.mcp.client.process import ConnectionFailure, SignInNeeded, as_sentence, refused
from helix_desktop.mcp.client.transports import bound_response, failure_of
from helix_desktop.system.ip_addresses import AddressZone, address_zone

_text = TextContext("MCP")

BROWSER_TIMEOUT_S = 300.0  # for the user to sign in
_TIMEOUT = httpx2.Timeout(10.0, read=30.0)
_REQUEST_S = 10.0  # for a browser to send its request
_PATH = "/callback"
_GRANT_ENDED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED)  # of a refresh (RFC 6749, 5.2)
_DISTANCES: dict[AddressZone, int] = {"special": 0, "loopback": 1, "private": 2, "public": 3}
_ADD_KEY = _text("Add a key to its headers instead, if it takes one.")
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_ACCEPT = {"Accept": "application/json, text/event-stream"}
_PAGE = """HTTP/1.1 {status}\r
Content-Type: text/html; charset=utf-8\r
Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r
Referrer-Policy: no-referrer\r
Cache-Control: no-store\r
Connection: close\r
\r
<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 16px system-ui, sans-serif; margin: 20vh auto;
max-width: 30em; padding: 0 1em; text-align: center }} h1 {{ font-size: 1.3em }}</style>
<h1>{title}</h1><p>{detail}</p>
"""


class _MemoryStorage:
    """The library's storage for one sign-in, in memory: we save what stays of it."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class SignInAuth(OAuthClientProvider):
    """Signs requests with the token of a sign-in, and refreshes it; never starts a sign-in."""

    def __init__(
        self,
        url: str,
        load: Callable[[], Awaitable[SignIn | None]],
        save: Callable[[SignIn | None], Awaitable[None]],
    ) -> None:
        super().__init__(url, _client_metadata("http://127.0.0.1/"), _MemoryStorage())
        self._load = load
        self._save = save
        self._sign_in: SignIn | None = None

    async def _initialize(self) -> None:
        """Take the sign-in as it is kept now: another connection may have refreshed it."""
        self._sign_in = await self._load()
        context = self.context
        context.clear_tokens()
        if (sign_in := self._sign_in) is None:
            return
        context.current_tokens = OAuthToken(
            access_token=sign_in.access_token,
            refresh_token=sign_in.refresh_token or None,
            scope=sign_in.scope or None,
        )
        context.token_expiry_time = sign_in.expires_ms / 1000 or None
        context.client_info = OAuthClientInformationFull(
            client_id=sign_in.client_id,
            client_secret=sign_in.client_secret or None,
            token_endpoint_auth_method=sign_in.client_auth,
        )
        context.oauth_metadata = OAuthMetadata.model_construct(token_endpoint=sign_in.token_url)
        context.protected_resource_metadata = (
            ProtectedResourceMetadata.model_construct(resource=sign_in.resource) if sign_in.resource else None
        )

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        # Unlike the library's, it holds the lock while it refreshes only: calls may run side by side. The
        # keychain, which may ask the user to unlock it, is read once the server has asked for a sign-in.
        async with self.context.lock:
            if self.context.current_tokens and not self.context.is_token_valid():
                await self._initialize()
                if not self.context.is_token_valid() and self.context.can_refresh_token():
                    await self._save_refreshed((yield await self._refresh_token()))
            token = self._add_token(request)
            is_refreshed = False
        while (response := (yield request)).status_code == HTTPStatus.UNAUTHORIZED and not is_refreshed:
            async with self.context.lock:
                await self._initialize()
                if (tokens := self.context.current_tokens) is None:
                    return
                if tokens.access_token == token or not self.context.is_token_valid():
                    if not self.context.can_refresh_token():
                        return
                    await self._save_refreshed((yield await self._refresh_token()))
                    is_refreshed = True
                token = self._add_token(request)
        if response.status_code == HTTPStatus.FORBIDDEN and request.method == "POST":
            await self._require_scope(response)

    async def _require_scope(self, response: httpx2.Response) -> None:
        """Raise SignInNeeded if a token lacks a scope, which the next sign-in then asks for."""
        scope = insufficient_scope(response.headers.get("www-authenticate", ""))
        if scope is None:
            return
        sign_in = await self._load()
        if sign_in is not None and scope:
            await self._save(msgspec.structs.replace(sign_in, needed_scope=scope))
        raise SignInNeeded(response.request.url.netloc.decode())

    def _add_token(self, request: httpx2.Request) -> str:
        """Sign a request, if there is a token, and return that."""
        request.headers.pop("Authorization", None)
        if not self.context.is_token_valid():
            return ""
        self._add_auth_header(request)
        return self.context.current_tokens.access_token if self.context.current_tokens else ""

    async def _refresh_token(self) -> httpx2.Request:
        request = await super()._refresh_token()
        await check_target(str(request.url), self.context.server_url)
        return request

    async def _save_refreshed(self, response: httpx2.Response) -> None:
        """Save the tokens of a refresh. Raises ConnectionFailure if it can be tried again later."""
        is_refreshed = await self._handle_refresh_response(response)
        if response.status_code in _GRANT_ENDED:
            await self._save(None)
        elif response.status_code != HTTPStatus.OK:
            raise refused(response.request.url.netloc.decode(), response.status_code, response.reason_phrase)
        elif is_refreshed and self._sign_in is not None:
            self._sign_in = _with_tokens(self._sign_in, self)
            await self._save(self._sign_in)


_CHALLENGE = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,]+))')


def insufficient_scope(challenge: str) -> str | None:
    """Return the scope that a refusal asks for (RFC 6750, 3.1), empty if it names none.

    Return None for a refusal for another reason.
    """
    if not challenge.lower().lstrip().startswith("bearer"):
        return None
    words = {name.lower(): quoted or bare for name, quoted, bare in _CHALLENGE.findall(challenge)}
    return words.get("scope", "") if words.get("error") == "insufficient_scope" else None


def _with_scope(address: str, needed: str) -> str:
    """Return an address to sign in at, which asks for more scopes."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    scopes = dict.fromkeys((*query.get("scope", "").split(), *needed.split()))
    return urlunsplit(parts._replace(query=urlencode({**query, "scope": " ".join(scopes)})))


def _client_metadata(redirect_url: str) -> OAuthClientMetadata:
    # A program on a user's computer keeps no secret of its own (RFC 8252, 8.5): PKCE protects the code.
    return OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect_url)], client_name="Helix Desktop", token_endpoint_auth_method="none"
    )


def _with_tokens(sign_in: SignIn, provider: OAuthClientProvider) -> SignIn:
    tokens = provider.context.current_tokens
    assert tokens is not None  # the caller has just got them
    return msgspec.structs.replace(
        sign_in,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or "",
        scope=tokens.scope or "",
        expires_ms=int((provider.context.token_expiry_time or 0) * 1000),
    )


async def sign_in(
    url: str,
    headers: Mapping[str, str],
    on_address: Callable[[str], None],
    translate: Callable[[TranslatableText], str],
    needed_scope: str = "",
) -> SignIn | None:
    """Sign in at a server; `on_address` gets the address to open in a browser, whose answer is awaited.

    `needed_scope` is what the server asked for beyond an earlier sign-in.

    Return None if the server asks for no sign-in. `translate` is for the page that the browser shows at the
    end. Raises HelixError.
    """
    host = urlsplit(url).netloc.rpartition("@")[2]
    if url.startswith("http://") and max(await _distances(url)) != _DISTANCES["loopback"]:
        raise HelixError(
            _text("You can't sign in at {host}.", host=host),
            _text("The connection isn't encrypted."),
            _text("Use https:// in its address."),
        )
    async with _redirect_listener(translate) as listener:
        provider = OAuthClientProvider(url, _client_metadata(listener.url), _MemoryStorage())

        async def open_browser(address: str) -> None:
            metadata = provider.context.oauth_metadata
            if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
                raise ConnectionFailure(
                    _text("{host} can't protect the sign-in.", host=urlsplit(address).netloc),
                    _text("It doesn't support PKCE with S256."),
                    _ADD_KEY,
                )
            await check_target(address, url)
            if needed_scope:
                address = _with_scope(address, needed_scope)
                provider.context.client_metadata.scope = parse_qs(urlsplit(address).query)["scope"][-1]
            listener.state = parse_qs(urlsplit(address).query)["state"][-1]
            on_address(address)

        async def wait_for_browser() -> AuthorizationCodeResult:
            async with asyncio.timeout(BROWSER_TIMEOUT_S):
                return await listener.answer

        async def check_request(request: httpx2.Request) -> None:
            await check_target(str(request.url), url)

        provider.context.redirect_handler = open_browser
        provider.context.callback_handler = wait_for_browser
        client = httpx2.AsyncClient(
            auth=provider,
            timeout=_TIMEOUT,
            event_hooks={"request": [check_request], "response": [bound_response]},
        )
        try:
            async with (
                client,
                stream_within_origin(
                    client, "POST", url, json=_PING, headers={**headers, **_ACCEPT}
                ) as response,
            ):
                is_refused = response.status_code == HTTPStatus.UNAUTHORIZED
        except TimeoutError:
            minutes = round(BROWSER_TIMEOUT_S / 60)
            what = _text("The browser didn't answer within {count} minutes.", count=minutes)
            raise HelixError(what, fix=_text("Sign in again.")) from None
        except (httpx2.RequestError, BodyUndecodable) as error:
            raise failure_of(error, httpx2.URL(url)) from None
        except (OAuthFlowError, httpx2.InvalidURL, ValueError) as error:
            raise _flow_failure(error, host, provider) from None  # the cause may have tokens in it
    if provider.context.current_tokens is None:
        return None
    if is_refused:
        raise HelixError(
            _text("{host} doesn't accept this sign-in.", host=host),
            _text("It was completed, but the server still asks for one."),
            _text("Sign in with another account, or report this to the server's author."),
        )
    client_info = provider.context.client_info
    assert client_info is not None  # tokens are given to a client only
    without_tokens = SignIn(
        url=url,
        token_url=provider._get_token_endpoint(),
        client_id=client_info.client_id,
        client_secret=client_info.client_secret or "",
        client_auth=client_info.token_endpoint_auth_method or "none",
        resource=provider.context.get_resource_url() if provider.context.protected_resource_metadata else "",
        access_token="",
    )
    return _with_tokens(without_tokens, provider)


def _flow_failure(error: Exception, host: str, provider: OAuthClientProvider) -> HelixError:
    """Return why a sign-in at the server `host` failed."""
    issuer = urlsplit(provider.context.auth_server_url or "").netloc or host
    words = str(error) if isinstance(error, OAuthFlowError) else type(error).__name__
    details = sanitize_text(words.partition(" [type=")[0], 200)  # pydantic goes on with what was sent
    match error:
        case OAuthRegistrationError() if provider.context.oauth_metadata is None:
            return HelixError(_text("{host} doesn't say where to sign in.", host=host), fix=_ADD_KEY)
        case OAuthRegistrationError():
            what = _text("{host} doesn't let Helix Desktop sign in.", host=issuer)
            return HelixError(what, verbatim(as_sentence(details)), _ADD_KEY)
        case OAuthTokenError():  # what the server sent is left out: it may have tokens in it
            what = _text("{host} didn't return a token.", host=issuer)
            return HelixError(what, verbatim(as_sentence(details.partition(":")[0])), _text("Sign in again."))
    return HelixError(
        _text("The sign-in at {host} failed.", host=issuer),
        verbatim(as_sentence(details)),
        _text("Sign in again, or report this to the server's author."),
    )


async def check_target(target: str, server: str) -> None:
    """Raise ConnectionFailure if a server may not send a sign-in, or its tokens, to a URL."""
    origin = urlsplit(server)
    parts = urlsplit(target)
    if (parts.scheme, parts.netloc) == (origin.scheme, origin.netloc):
        return
    why = _text("That isn't a web address.")
    if parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc and "#" not in target:
        nearest = min(await _distances(target))
        server_distances = await _distances(server)
        # Of the server's own addresses the farthest: it may name this computer among them.
        if nearest < max(1, *server_distances):
            why = _text("That host is on a more private network than the server itself.")
        elif parts.scheme == "http" and nearest != _DISTANCES["loopback"]:
            why = _text("The connection wouldn't be encrypted.")
        else:
            return
    host = sanitize_text(parts.netloc or target, 100)
    raise ConnectionFailure(
        _text("{server} sends the sign-in to {host}.", server=origin.netloc.rpartition("@")[2], host=host),
        why,
        _text("Report this to the server's author."),
    )


async def _distances(url: str) -> list[int]:
    """Return how far from this computer the addresses of a URL's host are."""
    host = urlsplit(url).hostname or ""
    if ":" in host:
        return [_DISTANCES[address_zone(host)]]
    with suppress(OSError):  # numbers in any notation
        return [_DISTANCES[address_zone(socket.inet_ntoa(socket.inet_aton(host)))]]
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:  # a proxy may know it
        return [_DISTANCES["public"]]
    return [_DISTANCES[address_zone(str(address[0]))] for *_, address in addresses]


class _RedirectListener:
    """The address of this computer to which the browser comes back, with one answer."""

    def __init__(self, translate: Callable[[TranslatableText], str]) -> None:
        self._translate = translate
        self.url = self.state = ""
        self.answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self.writers: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        with suppress(OSError, ValueError, EOFError, asyncio.LimitOverrunError):  # what isn't a request
            async with asyncio.timeout(_REQUEST_S):
                request = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = request.partition(b"\r\n")[0].decode("ascii").split(" ")
            writer.write(self._reply(method, target).encode())
            await writer.drain()
        self.writers.discard(writer)
        writer.close()

    def _reply(self, method: str, target: str) -> str:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if (method, parts.path) != ("GET", _PATH) or not self.state or query.get("state") != self.state:
            # Anything on this computer can send this: the answer is still waited for.
            title = _text("This isn't the sign-in that Helix Desktop waits for")
            return self._page("400 Bad Request", title, _text("Start it again in Helix Desktop."))
        if not self.answer.done():
            if "code" in query:
                self.answer.set_result(
                    AuthorizationCodeResult(code=query["code"], state=self.state, iss=query.get("iss"))
                )
            else:
                self.answer.set_exception(
                    _browser_failure(query.get("error", ""), query.get("error_description", ""))
                )
        detail = _text("Helix Desktop continues from here.")
        return self._page("200 OK", _text("You can close this tab"), detail)

    def _page(self, status: str, title: TranslatableText, detail: TranslatableText) -> str:
        words = {"title": self._translate(title), "detail": self._translate(detail)}
        return _PAGE.format(status=status, **{name: html.escape(text) for name, text in words.items()})


def _browser_failure(error: str, description: str) -> HelixError:
    if error == "access_denied":
        return HelixError(_text("Access was denied in the browser."), fix=_text("Sign in again to allow it."))
    details = " ".join(sanitize_text(description or error, 200).split())
    return HelixError(
        _text("The sign-in was refused in the browser."),
        verbatim(as_sentence(details)) if details else "",
        _text("Sign in again."),
    )


@asynccontextmanager
async def _redirect_listener(
    translate: Callable[[TranslatableText], str],
) -> AsyncIterator[_RedirectListener]:
    listener = _RedirectListener(translate)
    server = await asyncio.start_server(listener.serve, "127.0.0.1", 0)
    listener.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{_PATH}"
    try:
        yield listener
    finally:
        server.close()
        for writer in tuple(listener.writers):  # browsers connect ahead, and send nothing
            writer.close()
        if listener.answer.done() and not listener.answer.cancelled():
            listener.answer.exception()  # it may have come too late for anybody to ask
