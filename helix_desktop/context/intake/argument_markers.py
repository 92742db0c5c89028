"""Shortening: large arguments of a tool call become markers, and its JSON stays JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from helix_desktop.domain.digest import bare_marker, digest_of, format_bytes
from helix_desktop.domain.events.session import MaskedCall
from helix_desktop.domain.messages import ToolCall

MIN_CHARS = 500  # a shorter value cannot save what a marker must save
_WHOLE_KEY = "cached_arguments"  # the one key of arguments that are no JSON object


class MaskableCall(msgspec.Struct, frozen=True):
    """A call that can be shortened, and the texts that its markers stand for, in the order of its digests."""

    call: MaskedCall
    texts: tuple[str, ...]


def mask_arguments(call: ToolCall) -> MaskableCall | None:
    """The call with its large argument values as markers; None when it has none.

    Strings are cached as they are, other values as the JSON the model wrote; small ones stay verbatim. What
    is no JSON object, or has much outside its values, is cached whole.
    """
    if len(call.arguments) <= MIN_CHARS:
        return None
    given = _values(call.arguments)
    if given is None:
        return _mask_whole(call)
    kept: dict[str, Any] = {}
    taken: list[str] = []
    for key, value in given.items():
        text = _text(value)
        kept[key] = value
        if len(text) > MIN_CHARS:
            kept[key] = argument_marker(text)
            taken.append(text)
    return _maskable_call(call, kept, taken) if taken else None


def _mask_whole(call: ToolCall) -> MaskableCall:
    return _maskable_call(call, {_WHOLE_KEY: argument_marker(call.arguments)}, [call.arguments])


def argument_marker(text: str) -> str:
    """The marker that stands for an argument's value."""
    data = text.encode("utf-8", "surrogatepass")
    return f"{bare_marker(digest_of(data))} {format_bytes(len(data))}"


def _maskable_call(call: ToolCall, masked_values: dict[str, Any], cached_texts: list[str]) -> MaskableCall:
    data = [text.encode("utf-8", "surrogatepass") for text in cached_texts]
    digests, sizes = tuple(digest_of(one) for one in data), tuple(len(one) for one in data)
    arguments = msgspec.json.encode(masked_values).decode()
    return MaskableCall(MaskedCall(call.id, arguments, digests, sizes), tuple(cached_texts))


def _values(text: str) -> dict[str, msgspec.Raw] | None:
    """The values of a JSON object as they are written; None when more than these would be lost."""
    try:
        given = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        msgspec.json.decode(text)  # what is kept verbatim must be JSON that servers can read
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    around = len(text.encode()) - sum(len(bytes(value)) for value in given.values())
    return given if around <= MIN_CHARS else None  # else a key came twice, or is itself large


def _text(value: msgspec.Raw) -> str:
    data = bytes(value)
    decoded: str = msgspec.json.decode(data) if data.startswith(b'"') else data.decode()
    return decoded
