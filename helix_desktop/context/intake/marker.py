"""Markers: what replaces a cached output, or large arguments of a tool call, whose JSON stays valid."""

from __future__ import annotations

from typing import Any

import msgspec

from helix_desktop.context.intake.descriptions import describe_text
from helix_desktop.domain.digest import HEX_DIGITS, bare_marker, digest_of
from helix_desktop.domain.events.conversation import SweptCall
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.redaction import cached_argument
from helix_desktop.domain.text_format import ellipsize, format_bytes
from helix_desktop.domain.unicode_safety import without_direction_signs

MIN_CHARS = 500  # a shorter value cannot save what a marker must save
_TARGET_CAP = 60  # characters, in older logs
WHOLE_TARGET = 160  # characters: a path stands whole
WHOLE_KEY = "cached_arguments"  # the one key of arguments that are no JSON object
_KINDS = {b"[": "sent as a JSON array", b"{": "sent as a JSON object"}
"""What a marker, which is a string, says it stands for: else the model sends a string in its next call."""


def marker(
    digest: str, tool: str, target: str, size: int, line: str, about: str = "", digits: int = HEX_DIGITS
) -> str:
    """Return the marker with its one-line description, which replaces a cached output in the window.

    `about` says what the output holds; where nothing can be said, `line` is quoted, its first one. Of what
    was recalled there is no `tool`: the target names it, and `size` is that of the part, behind it.
    """
    if about:
        where = ellipsize(target, WHOLE_TARGET)
        what = f", {about}"
    else:
        where = target if len(target) <= _TARGET_CAP else target[:24] + "…" + target[-(_TARGET_CAP - 25) :]
        what = f', "{line}"' if line else ""
    call = " ".join(part for part in (tool, where) if part)
    size_text = format_bytes(size)
    described = f"{call}, {size_text}{what}" if tool else f"{call}{what} ({size_text})"
    text = f"{bare_marker(digest, digits)} {described}"
    return " ".join(without_direction_signs(text).split())


class SweepableCall(msgspec.Struct, frozen=True):
    """A call that can be swept, and the texts its markers replace, in the order of its digests.

    `about` says of each text what it holds.
    """

    call: SweptCall
    texts: tuple[str, ...]
    about: tuple[str, ...]


def large_arguments(call: ToolCall) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of a call's arguments, and by their names the texts as which large ones are cached.

    Strings are cached as they are, other values as the JSON the model wrote. Arguments that are no JSON
    object, or have much outside their values, are cached whole.
    """
    if len(call.arguments) <= MIN_CHARS:
        return {}, {}
    values = _values(call.arguments)
    if values is None:
        return {}, {WHOLE_KEY: call.arguments}
    texts = {key: cached_argument(value) for key, value in values.items()}
    return dict(values), {key: text for key, text in texts.items() if len(text) > MIN_CHARS}


def sweep_arguments(call: ToolCall, digits: int = HEX_DIGITS) -> SweepableCall | None:
    """Return the call with large argument values as markers of so many digits; None if it has none."""
    values, texts = large_arguments(call)
    if not texts:
        return None
    data = [text.encode("utf-8", "surrogatepass") for text in texts.values()]
    digests = tuple(map(digest_of, data))
    about = tuple(map(describe_text, texts.values()))
    for key, encoded, digest, what in zip(texts, data, digests, about, strict=True):
        kind = _KINDS.get(bytes(values[key])[:1], "") if key in values else ""
        description = ", ".join(filter(None, (format_bytes(len(encoded)), kind, what)))
        values[key] = f"{bare_marker(digest, digits)} {description}"
    arguments = msgspec.json.encode(values).decode()
    swept = SweptCall(call.id, arguments, digests, tuple(map(len, data)))
    return SweepableCall(swept, tuple(texts.values()), about)


def _values(text: str) -> dict[str, msgspec.Raw] | None:
    """Return the values of a JSON object as written; None if more than these would be lost."""
    try:
        values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        msgspec.json.decode(text)  # what is kept verbatim must be JSON that servers can read
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    outside_bytes = len(text.encode()) - sum(len(bytes(value)) for value in values.values())
    return values if outside_bytes <= MIN_CHARS else None  # else a key came twice, or is itself large
