"""A small authorization server on loopback, and an MCP server that takes its tokens only."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

from tests.support.local_site import http_response
from tests.support.mcp.raw_http_server import RawHttpServer


@dataclass
class AuthorizationServer:
    """Registers clients, and gives codes and tokens; what a test sets makes it misbehave."""

    port: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    """What its metadata say instead."""
    token_status: str = ""
    """An error status for all requests of tokens."""
    life_s: int = 3600
    consent: dict[str, str] | None = None
    """What the browser is sent back with instead of a code."""
    registered: dict[str, Any] | None = None
    """What a client gets instead of its registration."""
    requests: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    scopes: dict[str, str] = field(default_factory=dict)
    """What tokens are for, by the token in lower case."""
    refresh_tokens: set[str] = field(default_factory=set)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close the connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # a sign-in was canceled
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next((line[16:] for line in head.lower().splitlines() if "content-length" in line), "0")
            body = (await reader.readexactly(int(length))).decode()
            target = urlsplit(head.split(" ")[1])
            self.requests.append(target.path)
            writer.write(self._answer(target.path, parse_qs(target.query), body))
            await writer.drain()
        writer.close()

    def _answer(self, path: str, query: dict[str, list[str]], body: str) -> bytes:
        match path:
            case "/.well-known/oauth-authorization-server":
                return _json({
                    "issuer": self.url,
                    "authorization_endpoint": f"{self.url}/authorize",
                    "token_endpoint": f"{self.url}/token",
                    "registration_endpoint": f"{self.url}/register",
                    "code_challenge_methods_supported": ["S256"],
                    **self.metadata,
                })  # fmt: skip
            case "/register":
                client = {**json.loads(body), "client_id": secrets.token_urlsafe(8)}
                return _json(self.registered or client, "201 Created")
            case "/authorize":
                request = {name: values[0] for name, values in query.items()}
                code = secrets.token_urlsafe(8)
                self._codes[code] = request
                answer = {"state": request["state"], **(self.consent or {"code": code, "iss": self.url})}
                location = f"Location: {request['redirect_uri']}?{urlencode(answer)}\r\n"
                return http_response(b"", status="302 Found", extra_headers=location)
            case "/token":
                return self._give_tokens({name: values[0] for name, values in parse_qs(body).items()})
        return http_response(b"", status="404 Not Found")

    def _give_tokens(self, form: dict[str, str]) -> bytes:
        if self.token_status:
            return _json({"error": "server_error"}, self.token_status)
        scope = ""
        if form["grant_type"] == "refresh_token":
            is_valid = form["refresh_token"] in self.refresh_tokens
            self.refresh_tokens.discard(form["refresh_token"])  # each is good once
        else:
            query = self._codes.pop(form["code"], {})
            scope = query.get("scope", "")
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            is_valid = (query.get("code_challenge"), query.get("redirect_uri"), query.get("client_id")) == (
                challenge, form["redirect_uri"], form["client_id"],
            )  # fmt: skip
        if not is_valid:
            return _json({"error": "invalid_grant"}, "400 Bad Request")
        token = secrets.token_urlsafe(16)
        refresh = secrets.token_urlsafe(16)
        self.tokens.add(token)
        self.scopes[token.lower()] = scope
        self.refresh_tokens.add(refresh)
        words = {"access_token": token, "token_type": "Bearer", "refresh_token": refresh}
        words |= {"scope": scope} if scope else {}
        return _json({**words, "expires_in": self.life_s})


class GuardedServer(RawHttpServer):
    """An MCP server at a URL that says where to sign in, and answers who has a token from there."""

    def __init__(self, authorization: AuthorizationServer) -> None:
        super().__init__()
        self.authorization = authorization
        self.authorization_url = ""
        """Where a test sets it, what the server names as its authorization server."""
        self.moved_to = ""
        """Where a test sets it, requests of the protocol are redirected there."""
        self.needed_scope = ""
        """Where a test sets it, each request needs a token for this scope."""
        self.is_newest_only = False
        """Where a test sets it, a request that begins an older protocol is refused as wrong."""
        self.offered: list[str] = []
        """The tokens that it was sent."""

    def refusal(self, head: str) -> bytes | None:
        if head.startswith("get /.well-known/oauth-protected-resource/mcp"):
            servers = [self.authorization_url or self.authorization.url]
            return _json({"resource": f"http://{self.host}/mcp", "authorization_servers": servers})
        if self.moved_to:
            location = f"Location: {self.moved_to}\r\n"
            return http_response(b"", status="307 Temporary Redirect", extra_headers=location)
        if self.is_newest_only and "mcp-protocol-version:" not in head:
            error = {"code": -32600, "message": "Missing MCP-Protocol-Version header."}
            return _json({"jsonrpc": "2.0", "id": None, "error": error}, "400 Bad Request")
        token = head.partition("authorization: bearer ")[2].partition("\r\n")[0]
        if token:
            self.offered.append(token)
        if token in {token.lower() for token in self.authorization.tokens}:
            scopes = self.authorization.scopes.get(token, "").split()
            if self.needed_scope and self.needed_scope not in scopes:
                challenge = f'Bearer error="insufficient_scope", scope="{self.needed_scope}"'
                words = f"WWW-Authenticate: {challenge}\r\n"
                return http_response(b"", status="403 Forbidden", extra_headers=words)
            return None
        return http_response(b"", status="401 Unauthorized", extra_headers="WWW-Authenticate: Bearer\r\n")


@asynccontextmanager
async def serve_guarded() -> AsyncIterator[GuardedServer]:
    """Both servers, each on a port of its own."""
    authorization = AuthorizationServer()
    listening = await asyncio.start_server(authorization.serve, "127.0.0.1", 0)
    authorization.port = listening.sockets[0].getsockname()[1]
    server = GuardedServer(authorization)
    await server.start()
    yield server
    await server.close()
    listening.close()


async def browse(address: str) -> tuple[int, str]:
    """Open an address as a browser does; return the status and the text of the page at its end."""
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        page = await client.get(address)
        return page.status_code, page.text


def _json(value: dict[str, Any], status: str = "200 OK") -> bytes:
    return http_response(json.dumps(value).encode(), "application/json", status)
