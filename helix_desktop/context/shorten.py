"""Shortening: large arguments of a tool call become markers, and its JSON stays JSON."""

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

    Strings are cached as they are, other values as the JSON the model wrote; small ones stay verbatim. What
    is no JSON object, or has much outside its values, is cached whole.
    """
    if len(call.arguments) <= LEAST_CHARS:
        return None
    given = _values(call.arguments)
    if given is None:
        return _whole(call)
    kept: dict[str, Any] = {}
    taken: list[str] = []
    for key, value in given.items():
        text = _text(value)
        kept[key] = value
        if len(text) > LEAST_CHARS:
            kept[key] = marked(text)
            taken.append(text)
    return _shortened(call, kept, taken) if taken else None


def _whole(call: ToolCall) -> Shortened:
    return _shortened(call, {_WHOLE: marked(call.arguments)}, [call.arguments])


def marked(text: str) -> str:
    """The marker that stands for an argument's value."""
    data = text.encode("utf-8", "surrogatepass")
    return f"{handle(digest_of(data))} {size_text(len(data))}"


def _shortened(call: ToolCall, kept: dict[str, Any], taken: list[str]) -> Shortened:
    data = [text.encode("utf-8", "surrogatepass") for text in taken]
    digests, sizes = tuple(digest_of(one) for one in data), tuple(len(one) for one in data)
    arguments = msgspec.json.encode(kept).decode()
    return Shortened(ShortCall(call.id, arguments, digests, sizes), tuple(taken))


def _values(text: str) -> dict[str, msgspec.Raw] | None:
    """The values of a JSON object as they are written; None when more than these would be lost."""
    try:
        given = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        msgspec.json.decode(text)  # what is kept verbatim must be JSON that servers can read
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    around = len(text.encode()) - sum(len(bytes(value)) for value in given.values())
    return given if around <= LEAST_CHARS else None  # else a key came twice, or is itself large


def _text(value: msgspec.Raw) -> str:
    data = bytes(value)
    decoded: str = msgspec.json.decode(data) if data.startswith(b'"') else data.decode()
    return decoded
