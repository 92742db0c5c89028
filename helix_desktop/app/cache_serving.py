"""The command that serves a workspace's cache to other programs, until they close or a signal ends it."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys

from helix_desktop import __version__
from helix_desktop.app.cache_sharing import SharedCache
from helix_desktop.app.desk import Desk
from helix_desktop.app.headless import at_desk, record_of
from helix_desktop.app.on_demand import OnDemand
from helix_desktop.app.voice import err, out
from helix_desktop.context.errors import InputUnusable

TOKEN_VARIABLE = "HELIX_MCP_TOKEN"
LEAST_TOKEN = 16  # characters: what a person types must not be guessed by trying


def serve_cache(given: argparse.Namespace) -> int:
    """Serve over standard input and output, or over HTTP. Raises HelixError."""

    async def work(desk: Desk) -> int:
        record = record_of(desk, given)
        store = OnDemand(lambda: desk.lend(record.id))
        try:
            async with store.held():  # what is wrong with it is said now, not at the first call
                pass
            await _serve(given, SharedCache(store, desk.counter.count), record.name)
        finally:
            await store.close()
        return 0

    return at_desk(given, work)


async def _serve(given: argparse.Namespace, tools: SharedCache, name: str) -> None:
    if given.http:
        await _serve_http(given.port, tools, name)
        return
    from helix_desktop.mcp.server import cache_server
    from helix_desktop.mcp.stdio_serving import serve_stdio

    await serve_stdio(cache_server(tools, name, __version__))


async def _serve_http(port: int, tools: SharedCache, name: str) -> None:
    token, made = _token()  # first: the protocol takes a second to import
    from helix_desktop.mcp.loopback import serve_loopback
    from helix_desktop.mcp.server import cache_server

    def ready(url: str) -> None:
        out(json.dumps({"url": url, "token": token} if made else {"url": url}))
        sys.stdout.flush()  # whoever started this waits for the line
        err(f"Serving the cache of {name} at {url}; Ctrl+C ends it.")

    await serve_loopback(cache_server(tools, name, __version__), token, port, ready)


def _token() -> tuple[str, bool]:
    """The token that requests must carry, and whether it was made now. Raises InputUnusable."""
    given = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not given:
        return secrets.token_urlsafe(32), True
    if len(given) < LEAST_TOKEN or not given.isascii():
        raise InputUnusable(
            f"The token in {TOKEN_VARIABLE} is too weak.",
            f"It needs {LEAST_TOKEN} ASCII characters or more.",
            "Leave the variable out, and one is made.",
        )
    return given, False
