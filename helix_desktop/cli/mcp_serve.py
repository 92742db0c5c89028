"""The command `mcp`: serve a workspace's cache to other programs until they close or a signal comes."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys

from helix_desktop import __version__
from helix_desktop.cli.output import print_err, print_notice, print_out
from helix_desktop.cli.workspace_command import resolve_workspace, with_services
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.cache_server import CacheServerTools
from helix_desktop.services.closed_workspaces import LazyStore
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
text = TextContext("Command line")

TOKEN_VARIABLE = "HELIX_MCP_TOKEN"
MIN_TOKEN_CHARS = 16  # characters: what a user types must not be guessed by trying


def serve_cache(args: argparse.Namespace) -> int:
    """Serve over standard input and output, or over HTTP. Raises HelixError."""
    if args.port and not args.http:
        raise InvalidInput(
            text("{option} goes with {http} only.", option="--port", http="--http"),
            text("Without it, the cache is shared over standard input and output."),
            text("Add {http}, or leave {option} out.", option="--port", http="--http"),
        )

    async def work(services: AppServices) -> int:
        record = resolve_workspace(services, args)
        store = LazyStore(lambda: services.borrow_store(record.id))
        try:
            async with store.acquire():  # what is wrong with it is said now, not at the first call
                pass
            await _serve(args, CacheServerTools(store, services.counter.count), record.name)
        finally:
            await store.close()
        return 0

    return with_services(args, work)


async def _serve(args: argparse.Namespace, tools: CacheServerTools, name: str) -> None:
    if args.http:
        await _serve_http(args.port, tools, name)
        return
    from helix_desktop.mcp.cache_server import cache_server, serve_stdio

    await serve_stdio(cache_server(tools, name, __version__))


async def _serve_http(port: int, tools: CacheServerTools, name: str) -> None:
    token, is_generated = _token()  # first: the protocol takes a second to import
    from helix_desktop.mcp.cache_server import cache_server
    from helix_desktop.mcp.http_server import serve_loopback

    def ready(url: str) -> None:
        try:
            print_out(json.dumps({"url": url, "token": token} if is_generated else {"url": url}))
            sys.stdout.flush()  # whoever started this waits for the line
        except BrokenPipeError:
            print_notice(tr("The server's address can't be printed: standard output is closed."))
            raise
        print_err(tr("Sharing the cache of {name} at {url}. Press Ctrl+C to stop.", name=name, url=url))

    await serve_loopback(cache_server(tools, name, __version__), token, port, ready)


def _token() -> tuple[str, bool]:
    """Return the token for requests, and True if it was generated now. Raises InvalidInput."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        return secrets.token_urlsafe(32), True
    if len(token) < MIN_TOKEN_CHARS or not token.isascii():
        raise InvalidInput(
            text("The token in {variable} is too weak.", variable=TOKEN_VARIABLE),
            text("It must have at least {count} ASCII characters.", count=MIN_TOKEN_CHARS),
            text("Use a longer one, or unset the variable to have one generated."),
        )
    return token, False
