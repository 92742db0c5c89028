"""What a server asks the user during a call: a flat form or a page to open, checked and cleaned."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import mcp_types as types
from msgspec.structs import replace

from helix_desktop.domain.question import FieldValue, FormField, ServerQuestion, ServerReply
from helix_desktop.mcp.client.exposed_tool import sanitize_text

MAX_FIELDS, MAX_CHOICES, MAX_MESSAGE = 30, 200, 2_000
_MAX_TITLE, _MAX_DESCRIPTION, _MAX_URL = 120, 300, 2_000  # characters
_FORMATS: Mapping[str, Literal["email", "uri", "date", "date-time"]] = {
    "email": "email", "uri": "uri", "date": "date", "date-time": "date-time",
}  # fmt: skip
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_SECRET = re.compile(
    r"(?i)pass(word|phrase|code|wort)|passwd|secret|api.?key|private.?key|credential|access.?token"
    r"|token\b|\bpin\b|\bcvv\b|card.?number"
)


def read_question(server: str, params: types.ElicitRequestParams) -> ServerQuestion:
    """Return what a server asks. Raises ValueError with the reason if it can't be shown to the user."""
    text = sanitize_text(params.message, MAX_MESSAGE)
    if isinstance(params, types.ElicitRequestURLParams):
        url = params.url
        parts = urlsplit(url)  # raises ValueError
        if parts.scheme not in ("https", "http") or not parts.hostname or len(url) > _MAX_URL:
            raise ValueError("only a web address can be opened")
        if parts.username is not None or re.search(r"[^\x21-\x7e]", url):
            raise ValueError("the address has a user name, spaces or characters beyond ASCII")
        if not _HOST.fullmatch(parts.hostname):  # a browser would read %78 and a backslash as something else
            raise ValueError("the host has characters that no name has")
        return ServerQuestion("", text, server=server, url=url)
    properties = params.requested_schema.get("properties", {})
    required = params.requested_schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list) or len(properties) > MAX_FIELDS:
        raise ValueError(f"a form has at most {MAX_FIELDS} fields")
    fields = tuple(_read_field(name, schema, name in required) for name, schema in properties.items())
    return ServerQuestion("", text, server=server, fields=fields)


def _read_field(name: str, schema: Any, is_required: bool) -> FormField:
    if not isinstance(schema, dict):
        raise ValueError(f"the field {name[:80]!r} has no schema")
    title = sanitize_text(str(schema.get("title") or name), _MAX_TITLE)
    description = sanitize_text(str(schema.get("description") or ""), _MAX_DESCRIPTION)
    default, kind = schema.get("default"), schema.get("type")
    match kind:
        case "array":
            items = schema.get("items")
            choices = _choices(items if isinstance(items, dict) else {})
            least, most, default = schema.get("minItems"), schema.get("maxItems"), _string_tuple(default)
        case "string":
            choices = _choices(schema)
            least, most = schema.get("minLength"), schema.get("maxLength")
        case "number" | "integer" | "boolean":
            choices, least, most = (), schema.get("minimum"), schema.get("maximum")
        case _:
            raise ValueError(f"the field {name[:80]!r} is not flat: it is of the type {str(kind)[:40]!r}")
    if kind == "array" and not choices:
        raise ValueError(f"the field {name[:80]!r} is a list without choices")
    field = FormField(
        name,
        "choices" if kind == "array" else "choice" if choices else "text" if kind == "string" else kind,
        title,
        description,
        is_required,
        choices=choices,
        least=least if _is_number(least) else None,
        most=most if _is_number(most) else None,
        format=_FORMATS.get(str(schema.get("format")), ""),
        is_secret=bool(_SECRET.search(f"{name.replace('_', ' ')} {title}")),
    )
    return _with_default(field, default)


def _with_default(field: FormField, default: Any) -> FormField:
    """Return a field with the default that the server offers, if it can have that value."""
    values = {value for value, _ in field.choices}
    is_usable = {
        "text": isinstance(default, str),
        "number": _is_number(default),
        "integer": _is_number(default) and default == int(default),
        "boolean": isinstance(default, bool),
        "choice": isinstance(default, str) and default in values,
        "choices": isinstance(default, tuple) and values.issuperset(default),
    }[field.kind]
    return replace(field, default=default) if is_usable and not field.is_secret else field


def _choices(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the values to choose from, each with its title; none for a text. Raises ValueError."""
    titled = schema.get("oneOf") or schema.get("anyOf")
    pairs: Sequence[tuple[Any, Any]]
    if isinstance(titled, list):
        pairs = [(part.get("const"), part.get("title")) for part in titled if isinstance(part, dict)]
    elif isinstance(values := schema.get("enum"), list):
        names = schema.get("enumNames")
        names = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(values, names, strict=True))
    else:
        return ()
    if len(pairs) > MAX_CHOICES:
        raise ValueError(f"a field has at most {MAX_CHOICES} choices")
    texts = [(value, str(title or value)) for value, title in pairs if isinstance(value, str)]
    return tuple((value, sanitize_text(title, _MAX_TITLE)) for value, title in texts)


def _string_tuple(default: Any) -> FieldValue:
    is_list = isinstance(default, list) and all(isinstance(name, str) for name in default)
    return tuple(default) if is_list else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def to_result(reply: ServerReply | None) -> types.ElicitResult:
    """Return a reply as the server gets it; None, without a user, declines."""
    if reply is None:
        return types.ElicitResult(action="decline")
    if reply.action != "accept" or reply.url:
        return types.ElicitResult(action=reply.action)
    content = {name: list(value) if isinstance(value, tuple) else value for name, value in reply.content}
    return types.ElicitResult(action="accept", content=content)
