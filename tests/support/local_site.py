"""A small web server on this machine, and names that lead to it: fetching without the open internet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from helix_desktop.providers.http import fetch_page
from helix_desktop.tools.fetch_url import HttpReply


@dataclass
class LocalSite:
    """Answers by path; records the requests with their headers."""

    pages: Mapping[str, bytes]
    port: int = 0
    requests: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, one answer."""
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(request)
            path = request.split(" ")[1]
            writer.write(self.pages.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def http_response(
    body: bytes,
    content_type: str = "text/html; charset=utf-8",
    status: str = "200 OK",
    extra_headers: str = "",
) -> bytes:
    sizes = f"Content-Length: {len(body)}\r\n{extra_headers}Connection: close\r\n\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{sizes}".encode() + body


def redirect(location: str) -> bytes:
    return http_response(b"", status="302 Found", extra_headers=f"Location: {location}\r\n")


@asynccontextmanager
async def serve_site(pages: Mapping[str, bytes]) -> AsyncIterator[LocalSite]:
    """A site that answers on loopback."""
    site = LocalSite(pages)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site


@dataclass
class FakeResolver:
    """Which addresses a host has, one answer after the other; the last one stays."""

    answers: Mapping[str, Sequence[Sequence[str]]]
    hosts: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host. Raise OSError for unknown hosts."""
        self.hosts.append(host)
        if host not in self.answers:
            raise OSError(-2, "Name or service not known")
        answers = self.answers[host]
        return answers[min(self.hosts.count(host), len(answers)) - 1]


@dataclass
class LoopbackFetcher:
    """The real client; a public test address leads to the site on this machine instead."""

    site: LocalSite
    addresses: list[str] = field(default_factory=list)

    async def get(self, url: str, address: str, max_bytes: int) -> HttpReply:
        self.addresses.append(address)
        head, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        name = host.partition(":")[0]
        got = await fetch_page(f"{head}://{name}:{self.site.port}/{path}", "127.0.0.1", max_bytes)
        return HttpReply(got.status, dict(got.headers), got.body, got.is_complete)
