"""Fetching one web page: each host asked for, no machine of a private network ever spoken to."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import ToolError
from helix_desktop.context.permission import fetch_offers
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult, unheard
from helix_desktop.tools.addresses import Address, is_public, joined, parsed
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.grants import Granted
from helix_desktop.tools.page_text import text_of

NAME = "fetch_url"
_LONGEST = 5 * 1024 * 1024  # bytes of a page
_TIMEOUT_S = 30.0
_MOST_REDIRECTS = 5
_MOST_ADDRESSES = 4  # of one host that are tried
_SUCCESS = 2  # hundred
_MOVED = frozenset({301, 302, 303, 307, 308})
_READ = re.compile(r"text/|application/(?:[\w.+-]*(?:json|xml|javascript|yaml|toml)|x-sh|sql)", re.IGNORECASE)
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_SNIFF = 2_048

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The numeric addresses of a host, for a port. Raises OSError."""


@dataclass(frozen=True)
class Reply:
    """What a server answered; header names are lower-case, the body is cut at the size asked for."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool = True


class Fetcher(Protocol):
    """Asks one machine for one page; follows nothing, sends nothing that identifies the person."""

    async def get(self, url: str, address: str, longest: int) -> Reply:
        """The reply of the machine at a numeric address. Raises OSError with words for people."""
        ...


class FetchUrlArguments(Arguments, frozen=True):
    """What fetch_url takes; `raw` leaves HTML as it is."""

    url: str
    raw: bool = False


class FetchUrl:
    """Gives a page as text."""

    def __init__(self, fetcher: Fetcher, resolve: Resolve, granted: Granted) -> None:
        self._fetcher, self._resolve, self._granted = fetcher, resolve, granted

    async def ask(self, call_id: str, given: FetchUrlArguments) -> ApprovalAsk:
        """May this host be spoken to? Raises ToolError."""
        self._check_on()
        address = parsed(given.url)
        offers = fetch_offers(NAME, address.url, address.host)
        shown = revealed_name(address.url)
        return ApprovalAsk(
            *(call_id, NAME, address.url, f"Fetch a page from {address.host}", shown, offers[0]),
            kind="fetch",
            offers=offers,
            host=address.host,
        )

    async def run(self, call_id: str, given: FetchUrlArguments, told: Progress = unheard) -> ToolResult:
        """Fetch it. Raises ToolError."""
        self._check_on()
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                address, reply = await self._followed(parsed(given.url))
        except TimeoutError as error:
            raise ToolError(f"{given.url} took over {_TIMEOUT_S:.0f} s.", "It was given up.") from error
        content = await asyncio.to_thread(_told, address, reply, given.raw)
        return ToolResult(content.encode(), reply.status // 100 == _SUCCESS, target=address.url)

    def _check_on(self) -> None:
        if not self._granted().fetch:
            raise ToolError(
                "Fetching pages is off in this workspace.",
                fix="The person can turn it on in Settings, under Permissions.",
            )

    async def _followed(self, address: Address) -> tuple[Address, Reply]:
        """The page, behind redirects on the host that was approved."""
        for _ in range(_MOST_REDIRECTS + 1):
            reply = await self._got(address)
            location = reply.headers.get("location", "")
            if reply.status not in _MOVED or not location:
                return address, reply
            address = _next(address, location)
        raise ToolError(f"{address.url} leads from one redirect to the next.", "It was given up.")

    async def _got(self, address: Address) -> Reply:
        numbers = await self._numbers(address)
        trouble = ""
        for number in numbers[:_MOST_ADDRESSES]:
            try:
                return await self._fetcher.get(address.url, number, _LONGEST)
            except OSError as error:
                trouble = str(error)
        raise ToolError(f"{address.host} could not be reached.", f"{trouble}.")

    async def _numbers(self, address: Address) -> Sequence[str]:
        """The machines behind a host, all of them public; these very ones are then spoken to."""
        try:
            numbers = await self._resolve(address.host, address.port)
        except OSError as error:
            raise ToolError(f"There is no host {address.host}.", f"{error.strerror or error}.") from error
        private = next((number for number in numbers if not is_public(number)), "")
        if private or not numbers:
            raise ToolError(
                f"{address.host} was refused: it leads to {private or 'no address'}.",
                "Only machines on the open internet are spoken to.",
                "Use run_command for a server on this machine, if the person allows it.",
            )
        return numbers


def _next(address: Address, location: str) -> Address:
    """Where a redirect leads, if that may be followed unasked. Raises ToolError."""
    target = joined(address, location)
    if target.host != address.host or target.port not in (address.port, 443):
        raise ToolError(
            f"{address.url} redirects to {target.url}, on another host.",
            fix="Call fetch_url with that address to ask for it.",
        )
    if (address.scheme, target.scheme) == ("https", "http"):
        raise ToolError(f"{address.url} redirects to an address without encryption.", "It was not followed.")
    return target


def _told(address: Address, reply: Reply, raw: bool) -> str:
    kind = reply.headers.get("content-type", "").split(";")[0].strip() or "no content type"
    size = size_text(len(reply.body))
    head = f"{address.url}: status {reply.status}, {kind}, {size}"
    if b"\0" in reply.body[:_SNIFF] or (reply.body and not _READ.match(kind) and kind != "no content type"):
        return f"{head}. It is not text, so its content is not shown.\n"
    text = _decoded(reply)
    is_page = kind in ("text/html", "application/xhtml+xml") and not raw
    cut = "" if reply.is_whole else f" (only the first {size_text(_LONGEST)} of it)"
    return f"{head}{cut}{', as text' if is_page else ''}:\n\n{text_of(text) if is_page else text}"


def _decoded(reply: Reply) -> str:
    start = reply.body[:_SNIFF].decode("ascii", "replace")
    named = _CHARSET.search(reply.headers.get("content-type", "")) or _CHARSET.search(start)
    try:
        return reply.body.decode(named.group(1) if named else "utf-8", "replace")
    except LookupError:
        return reply.body.decode("utf-8", "replace")
