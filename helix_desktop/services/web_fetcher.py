"""Fetching pages for the agent's tool: names by the system, pages by the HTTP client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

from helix_desktop.providers.http import fetch_page
from helix_desktop.tools.web.fetch_url import HttpReply


class WebFetcher:
    """Fetches pages from machines of the open internet."""

    async def get(self, url: str, address: str, max_bytes: int) -> HttpReply:
        """Fetch a page from the machine at a numeric address. Raises OSError."""
        page = await fetch_page(url, address, max_bytes)
        return HttpReply(page.status, dict(page.headers), page.body, page.is_complete)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the numeric addresses of a host. Raises OSError."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in infos))
