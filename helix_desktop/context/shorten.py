"""Shortening: large arguments of a tool call become markers, and its JSON stays JSON (CONTEXT.md 3.1)."""

from __future__ import annotations

from typing import Any

import msgspec

from helix_desktop.context.digest import digest_of, handle, size_text
from helix_desktop.context.event import ShortCall
from helix_desktop.context.message import ToolCall

LEAST_CHARS = 500  # a shorter value cannot save what a marker must save
_WHOLE = "cached_arguments"  # the one key of arguments that are no JSON object


class Shortened(msgspec.Struct, frozen=True):
    """A call that can be shortened, and the texts that its markers stand for, in the order of its digests."""

    call: ShortCall
    texts: tuple[str, ...]


def shorten(call: ToolCall) -> Shortened | None:
    """The call with its large argument values as markers; None when it has none.

    Strings are cached as they are, other values as their JSON; small keys stay verbatim. Arguments that are
    no JSON object are cached whole.
    """
    if len(call.arguments) <= LEAST_CHARS:
        return None
    given = _object(call.arguments)
    if given is None:
        text = marked(call.arguments)
        return _shortened(call, {_WHOLE: text}, [call.arguments])
    kept: dict[str, Any] = {}
    taken: list[str] = []
    for key, value in given.items():
        raw = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        kept[key] = value
        if len(raw) > LEAST_CHARS:
            kept[key] = marked(raw)
            taken.append(raw)
    return _shortened(call, kept, taken) if taken else None


def marked(text: str) -> str:
    """The marker that stands for an argument's value."""
    data = text.encode("utf-8", "surrogatepass")
    return f"{handle(digest_of(data))} {size_text(len(data))}"


def _shortened(call: ToolCall, kept: dict[str, Any], taken: list[str]) -> Shortened:
    data = [text.encode("utf-8", "surrogatepass") for text in taken]
    digests, sizes = tuple(digest_of(one) for one in data), tuple(len(one) for one in data)
    arguments = msgspec.json.encode(kept).decode()
    return Shortened(ShortCall(call.id, arguments, digests, sizes), tuple(taken))


def _object(text: str) -> dict[str, Any] | None:
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return given if isinstance(given, dict) else None
