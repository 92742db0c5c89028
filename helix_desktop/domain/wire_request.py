"""A request as it goes to a model server, with names where secrets stand."""

from __future__ import annotations

import msgspec

API_KEY = "api key"
"""The name of the secret that is the provider's key; the secret of any other header has the header's name."""


class WireHeader(msgspec.Struct, frozen=True):
    """A header: its value, and behind that the secret of this name (empty: none)."""

    name: str
    value: str
    secret: str = ""


class WireRequest(msgspec.Struct, frozen=True):
    """Address, headers and JSON body; without key, secret headers, and the name and password of an address.

    In place of an image's bytes stands the SHA-256 of these, which is valid Base64.
    """

    provider: str
    url: str
    headers: tuple[WireHeader, ...]
    body: bytes
