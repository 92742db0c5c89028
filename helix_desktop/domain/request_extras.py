"""Request extras: headers and body fields that the user adds to every request of a provider or a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from helix_desktop.domain.dialects import DIALECTS
from helix_desktop.domain.translatable_text import OptionalText, TextContext

text = TextContext("Providers")

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, 5.6.2
_VALUE = re.compile(r"[\x20-\x7e]{0,4000}")
_KEY_HEADERS = frozenset(
    {"authorization", "proxy-authorization", *filter(None, (it.key_header for it in DIALECTS.values()))}
)
_OWN_HEADERS = frozenset(
    {"host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection",
     "accept-encoding", "upgrade", "expect", "te", "trailer",
     *(name for it in DIALECTS.values() for name in it.headers)}
)  # fmt: skip
_OWN_FIELDS = frozenset(
    {"model", "messages", "input", "system", "instructions", "tools", "stream", "stream_options", "store",
     "include", "n", "background", "previous_response_id", "conversation"}
)  # fmt: skip
"""What a request is made of, and what would keep its answer from being read or store it at the provider."""


class RequestExtras(msgspec.Struct, frozen=True, omit_defaults=True):
    """Headers, the names of headers whose values are in the keychain alone, and fields of the body."""

    headers: dict[str, str] = {}
    secret_headers: tuple[str, ...] = ()
    body: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self.headers or self.secret_headers or self.body)

    def with_narrower(self, other: RequestExtras) -> RequestExtras:
        """Return these extras and other ones; of two headers or fields of a name the other one counts."""
        names = {name.lower() for name in (*other.headers, *other.secret_headers)}
        headers = {name: value for name, value in self.headers.items() if name.lower() not in names}
        secrets = tuple(name for name in self.secret_headers if name.lower() not in names)
        return RequestExtras(
            headers | other.headers, (*secrets, *other.secret_headers), merge_fields(self.body, other.body)
        )

    def fault(self, dialect: str) -> OptionalText:
        """Return what keeps these extras from being sent, and why; empty if nothing does."""
        names = [*self.headers, *self.secret_headers]
        doubled = next((name for name in names if [n.lower() for n in names].count(name.lower()) > 1), "")
        if doubled:
            return text("The header {name} is listed twice.", name=doubled)
        faults = [
            *(header_fault(name, value) for name, value in self.headers.items()),
            *(header_fault(name) for name in self.secret_headers),
            *(_field_fault(name, value, dialect) for name, value in self.body.items()),
        ]
        return next((fault for fault in faults if fault), "")


NO_EXTRAS = RequestExtras()


def header_fault(name: str, value: str = "") -> OptionalText:
    """Return why a header can't be added; empty if it can."""
    low = name.lower()
    if low in _KEY_HEADERS:
        return text(
            "The header {name} can't be added: it carries the API key. Enter the key instead.", name=name
        )
    if low in _OWN_HEADERS:
        return text("The header {name} can't be added: Helix sets it for every request.", name=name)
    if _TOKEN.fullmatch(name) is None:
        return text("{name} isn't a header name: use letters, digits and hyphens.", name=repr(name))
    if _VALUE.fullmatch(value) is None:
        return text("The value of {name} has characters that headers can't have.", name=name)
    return ""


def _field_fault(name: str, value: object, dialect: str) -> OptionalText:
    """Return why a field can't be added to the body; empty if it can."""
    if name in _OWN_FIELDS:
        return text("The field {name} can't be added: Helix sets it.", name=name)
    if dialect in DIALECTS and name in DIALECTS[dialect].fields:
        return text("The field {name} can't be added: set the model's output instead.", name=name)
    if _has_null(value):
        return text("The field {name} can't be null: leave it out instead.", name=name)
    return ""


def merge_fields(fields: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of two objects; of two of a name the second counts, objects are merged."""
    merged = dict(fields)
    for name, value in more.items():
        old = merged.get(name)
        are_objects = isinstance(old, dict) and isinstance(value, dict)
        merged[name] = merge_fields(old or {}, value) if are_objects else value
    return merged


def _has_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return value is None or (isinstance(value, list) and any(map(_has_null, value)))
