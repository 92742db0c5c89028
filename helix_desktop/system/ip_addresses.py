"""Which numeric addresses are on the public internet, and which are near this computer."""

from __future__ import annotations

import ipaddress
from typing import Literal

AddressZone = Literal["public", "private", "loopback", "special"]
"""Special: link-local (where clouds answer for a machine), multicast, reserved."""

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# The standard library of Python 3.11 takes these for public (RFC 3879, 6890, 7526, 9637).
_NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("fec0::/10", "3fff::/20", "5f00::/16", "192.0.0.0/24", "192.88.99.0/24"))
)


def address_zone(address: str) -> AddressZone:
    """Return the zone of a numeric address; that of an IPv4 address embedded in it."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "special"
    if isinstance(ip, ipaddress.IPv6Address):
        inside = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inside = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inside is not None:
            return address_zone(str(inside))
    if ip.is_loopback:
        return "loopback"
    if ip.is_link_local or ip.is_multicast or ip.is_reserved or ip.is_unspecified:
        return "special"
    return "public" if ip.is_global and not any(ip in network for network in _NOT_PUBLIC) else "private"
