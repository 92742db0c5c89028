"""Serve MCP over HTTP to programs on this machine that have the token.

Three gates stand before a request: the socket listens on the loopback address alone, the token must be right,
and Host and Origin must name this address, so that no web page can reach it by DNS rebinding.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, system_reason

text = TextContext("MCP")

HOST = "127.0.0.1"
PATH = "/mcp"
_MAX_SESSIONS = 64
_IDLE_S = 600.0
_SHUTDOWN_S = 1
_BEARER = b"bearer "


async def serve_loopback(server: Server[Any], token: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve until canceled; `on_ready` gets the URL. `port` 0 takes a free one.

    Raises InvalidInput if the port is taken.
    """
    with _bind_listener(port) as listener:
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            guarded_app(server, token, port),
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_SHUTDOWN_S,
        )
        http_server = _EmbeddedServer(config)
        await _serve_until_canceled(http_server, listener, lambda: on_ready(f"http://{HOST}:{port}{PATH}"))


def guarded_app(server: Server[Any], token: str, port: int) -> ASGIApp:
    names = [f"{host}:{port}" for host in (HOST, "localhost")]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=_IDLE_S,
        max_sessions=_MAX_SESSIONS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
        ),
    )
    return TokenGate(app, token)


class TokenGate:
    """Middleware that admits only requests with the token; others learn nothing, not even the paths."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401."""
        if scope["type"] == "lifespan" or self._is_authorized(scope):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _is_authorized(self, scope: Scope) -> bool:
        authorization = dict(scope["headers"]).get(b"authorization", b"")
        is_bearer = authorization[: len(_BEARER)].lower() == _BEARER
        return is_bearer and hmac.compare_digest(authorization[len(_BEARER) :].strip(), self._token)


class _EmbeddedServer(uvicorn.Server):
    """A server that leaves the process's signals alone and tells when it has started."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing: signals belong to the application."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.is_ready.set()


async def _serve_until_canceled(
    server: _EmbeddedServer, listener: socket.socket, on_ready: Callable[[], None]
) -> None:
    """Serve until canceled, or until `on_ready` fails; its error is raised as it is."""
    loop = asyncio.get_running_loop()
    serving = loop.create_task(server.serve([listener]), name="loopback MCP endpoint")
    serving.add_done_callback(lambda _: server.is_ready.set())
    try:
        await server.is_ready.wait()
        if not serving.done():
            on_ready()
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving


def _bind_listener(port: int) -> socket.socket:
    # Without the protocol's number asyncio leaves Nagle's algorithm on, and each call takes 40 ms more.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there it would let another program take the port too
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise InvalidInput(
            text("Port {port} can't be used on this computer.", port=str(port)),
            system_reason(error),
            text("Choose another port, or 0 for any free one."),
        ) from error
    return listener
