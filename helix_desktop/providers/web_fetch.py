"""Fetch web pages: one GET to an already resolved address, so that DNS cannot be rebound."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from helix_desktop import __version__
from helix_desktop.domain.body_decoding import ACCEPT_ENCODING, BodyUndecodable
from helix_desktop.providers.http import certificates as system_certificates
from helix_desktop.providers.http import unpacked_chunks

_CONNECT_S, _READ_S = 10.0, 20.0
_HEADERS = {
    "User-Agent": f"HelixDesktop/{__version__} (fetches single pages for a person)",
    "Accept": "text/html,text/plain,application/json;q=0.9,*/*;q=0.5",
    "Accept-Encoding": ACCEPT_ENCODING,
}


@dataclass(frozen=True)
class WebPage:
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

    certificates = await asyncio.to_thread(system_certificates)
    target = httpx.URL(url)
    client = httpx.AsyncClient(
        timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S), verify=certificates, trust_env=False
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


async def _read(response: object, max_bytes: int) -> WebPage:
    import httpx

    assert isinstance(response, httpx.Response)
    body = bytearray()
    async with aclosing(unpacked_chunks(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > max_bytes:
                break
    headers = {name.lower(): text for name, text in response.headers.items()}
    return WebPage(response.status_code, headers, bytes(body[:max_bytes]), len(body) <= max_bytes)
