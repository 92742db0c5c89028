"""Arguments of calls that are removed by their hash: their texts, and what their markers say of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import msgspec

from helix_desktop.domain.digest import HEX_DIGITS, MARKER_START, MIN_PREFIX, digest_of
from helix_desktop.domain.messages import ToolCall

_DESCRIBED_MARKER = re.compile(
    rf'({re.escape(MARKER_START)}\\"([0-9a-f]{{{MIN_PREFIX},{HEX_DIGITS}}})\\"\) [\d.,]*\d \w+)'
    r', (?:[^"\\\n]|\\.)*'
)
"""A marker in a JSON string, to the end of what it says of its content."""


def cached_argument(value: msgspec.Raw) -> str:
    """Return the text as which an argument is cached: a string as it is, else the JSON the model wrote."""
    data = bytes(value)
    decoded: str = msgspec.json.decode(data) if data.startswith(b'"') else data.decode()
    return decoded


def removed_texts(call: ToolCall, digests: Collection[str]) -> list[str]:
    """Return the arguments of a call that are contents of these digests; they may be one as a whole."""
    try:
        values: Mapping[str, msgspec.Raw] = msgspec.json.decode(call.arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        values = {}
    texts = (call.arguments, *map(cached_argument, values.values()))
    return [text for text in texts if digest_of(text.encode("utf-8", "surrogatepass")) in digests]


def without_descriptions(text: str, digests: Collection[str]) -> str:
    """Return masked arguments, or an index with such, whose markers of these digests describe nothing."""

    def without_description(match: re.Match[str]) -> str:
        is_removed = any(digest.startswith(match[2]) for digest in digests)
        return match[1] if is_removed else match[0]

    return _DESCRIBED_MARKER.sub(without_description, text)
