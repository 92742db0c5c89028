"""JSON as model servers take and give it: whole requests, a call's arguments, images, texts in parts."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.image import Image

PART_SEPARATOR = "\n\n"
"""What stands between two parts of a text when they are read as one."""


def encode_json(value: Any) -> bytes:
    """A value as JSON; the same value gives the same bytes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # A file name that is no UTF-8 brings half characters along; no server could read them.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def is_json_object(text: str) -> bool:
    """Whether a text is one JSON object."""
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False


def arguments_text(text: str) -> str:
    """Arguments that a server can read again: several refuse a whole request over one malformed call."""
    return (
        text
        if is_json_object(text)
        else msgspec.json.encode({"malformed": _replace_surrogates(text)}).decode()
    )


def arguments_object(text: str) -> dict[str, Any]:
    """The same as an object; no arguments at all are an empty one."""
    found: dict[str, Any] = msgspec.json.decode(arguments_text(text)) if text.strip() else {}
    return found


def data_url(image: Image, data: bytes) -> str:
    """An image as an address that carries it."""
    return f"data:{image.media};base64,{b64encode(data).decode()}"


def join_text_parts(texts: Sequence[str]) -> str:
    """Several parts of a text as one text."""
    return PART_SEPARATOR.join(text for text in texts if text)


def get_object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key; an empty one where there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _replace_surrogates(text: str) -> str:
    """A text without half characters, which no JSON can carry."""
    return text.encode("utf-8", "replace").decode()
