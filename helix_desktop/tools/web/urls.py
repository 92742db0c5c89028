"""Validate URLs to fetch, and the addresses of the machines behind them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.unicode_safety import first_hidden

_MAX_LENGTH = 2_000  # characters
_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# The standard library of Python 3.11 takes these for public (RFC 3879, 6890, 7526, 9637).
_NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("fec0::/10", "3fff::/20", "5f00::/16", "192.0.0.0/24", "192.88.99.0/24"))
)
_FIX = "Give a whole address such as https://example.org/page."


@dataclass(frozen=True)
class CheckedUrl:
    """A valid URL; `host` is in ASCII and lower case, so that look-alikes are visible."""

    url: str
    scheme: str
    host: str
    port: int


def parse_url(url: str) -> CheckedUrl:
    """Parse a URL. Raises ToolError if it is invalid, or of a kind that is not fetched."""
    if len(url) > _MAX_LENGTH or any(sign.isspace() for sign in url) or first_hidden(url):
        raise ToolError(
            "The address was refused: it is too long, or holds spaces or invisible signs.", fix=_FIX
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"{url!r} is not an address.", f"{error}.", _FIX) from error
    if parts.scheme not in _PORTS:
        raise ToolError(
            f"{parts.scheme or 'no'} addresses are not fetched.", "Only http and https are.", _FIX
        )
    if parts.username or parts.password:
        raise ToolError("The address was refused: it holds a user name or password.", fix=_FIX)
    return CheckedUrl(
        _without_fragment(parts),
        parts.scheme,
        _ascii(parts.hostname or "", url),
        port or _PORTS[parts.scheme],
    )


def resolve_redirect(base: CheckedUrl, location: str) -> CheckedUrl:
    """Return the target of a redirect. Raises ToolError."""
    return parse_url(urljoin(base.url, location))


def is_public(address: str) -> bool:
    """Return True if a numeric address, and any IPv4 address embedded in it, is on the public internet."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inside = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inside = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inside is not None:
            return is_public(str(inside))
    if any(ip in network for network in _NOT_PUBLIC):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


def _without_fragment(parts: SplitResult) -> str:
    return parts._replace(fragment="").geturl()


def _ascii(host: str, url: str) -> str:
    try:
        name = host.rstrip(".").lower().encode("idna").decode()
    except UnicodeError:
        name = ""
    if not name:
        raise ToolError(f"{url!r} names no host.", fix=_FIX)
    return name
