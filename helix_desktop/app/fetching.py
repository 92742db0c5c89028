"""Fetching pages for the agent's tool: names by the system, pages by the HTTP client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

from helix_desktop.providers.web import get_page
from helix_desktop.tools.fetch import Reply


class WebFetcher:
    """Asks machines of the open internet for pages."""

    async def get(self, url: str, address: str, longest: int) -> Reply:
        """The reply of the machine at a numeric address. Raises OSError."""
        page = await get_page(url, address, longest)
        return Reply(page.status, dict(page.headers), page.body, page.is_whole)


async def resolve(host: str, port: int) -> Sequence[str]:
    """The numeric addresses of a host, as this system knows them. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(where[0]) for *_, where in found))
