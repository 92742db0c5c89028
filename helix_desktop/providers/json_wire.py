"""JSON on the wire of model servers: requests, arguments and ids of calls, images, texts in parts."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from helix_desktop.domain.errors import UNNAMED_CALL
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import ToolCall, Usage

_MAX_DIGITS = 15
PART_SEPARATOR = "\n\n"
"""The separator between parts of a text when they are joined."""


def encode_json(value: Any) -> bytes:
    """Encode a value as JSON; the same value gives the same bytes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # A file name that is not UTF-8 contains lone surrogates; no server could read them.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def as_integer(value: Any) -> int | None:
    """Return a whole number that a server may have written as text or with a fraction of 0, else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def is_json_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def unwrapped_arguments(text: str) -> str:
    """Return the arguments of a call without a second encoding as JSON, which some servers add."""
    if not text.lstrip().startswith('"'):
        return text
    try:
        inner = msgspec.json.decode(text, type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text
    return inner if is_json_object(inner) else text


def arguments_text(text: str) -> str:
    """Return arguments that a server can parse: several refuse a whole request over one malformed call."""
    if is_json_object(text):
        return text
    # JSON cannot carry lone surrogates.
    return msgspec.json.encode({"malformed": text.encode("utf-8", "replace").decode()}).decode()


def arguments_object(text: str) -> dict[str, Any]:
    """Return the arguments as an object; an empty one if there are none."""
    args: dict[str, Any] = msgspec.json.decode(arguments_text(text)) if text.strip() else {}
    return args


def image_parts(
    images: Iterable[Image],
    image_data: Mapping[str, bytes],
    text_part: Callable[[str], dict[str, Any]],
    image_part: Callable[[str, str], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield images by their media types and bytes in Base64, or their markers if no bytes could be read."""
    for image in images:
        data = image_data.get(image.digest)
        if data is None:
            yield text_part(image.marker)
        else:
            yield image_part(image.media, b64encode(data).decode())


def join_text_parts(texts: Sequence[str]) -> str:
    return PART_SEPARATOR.join(text for text in texts if text)


def get_object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    item = value.get(key)
    return item if isinstance(item, dict) else {}


def reported_usage(
    input_tokens: Any, output_tokens: Any, cached: Sequence[Any], cache_writes: Sequence[Any]
) -> Usage | None:
    """Return the usage of counts in a server's reply; None if absent or zero, as servers without counts do.

    `cached` and `cache_writes` hold what stands where servers report them: the first count is valid.
    """
    input_tokens, output = as_integer(input_tokens), as_integer(output_tokens) or 0
    if input_tokens is None or input_tokens <= 0:
        return None
    hits, writes = _counts(cached), _counts(cache_writes)
    hit = min(hits[0], input_tokens) if hits else 0
    stored = min(writes[0], input_tokens - hit) if writes else 0
    return Usage(input_tokens, output, hit, stored, reports_cache=bool(hits), reports_writes=bool(writes))


def _counts(values: Sequence[Any]) -> list[int]:
    return [max(0, count) for value in values if (count := as_integer(value)) is not None]


def named_calls(
    raws: Iterable[tuple[dict[str, Any], str]], id_field: str, new_id: Callable[[], str]
) -> tuple[ToolCall, ...]:
    """Return calls of an answer, each with its arguments; one without a name or an id of its own gets one."""
    calls: list[ToolCall] = []
    for raw, arguments in raws:
        raw["name"], call_id = str(raw.get("name") or UNNAMED_CALL), str(raw.get(id_field) or "")
        if not call_id or any(call.id == call_id for call in calls):
            call_id = raw[id_field] = new_id()
        calls.append(ToolCall(call_id, raw["name"], arguments))
    return tuple(calls)


class ToolCallIds:
    """Maps the calls of one request to ids that its dialect accepts; deterministic per request.

    Legal ids stay unchanged; others become `new_id` with digits of their hash. `unique`: the dialect requires
    each id only once in the whole request.
    """

    def __init__(
        self, pattern: re.Pattern[str], new_id: str = "call_{:.24}", *, unique: bool = False
    ) -> None:
        self._pattern, self._new_id, self._unique = pattern, new_id, unique
        self._used: set[str] = set()
        self._newest: dict[str, str] = {}

    def register(self, ids: Iterable[str]) -> None:
        self._newest = {call_id: self._unused_id(call_id) for call_id in ids}

    def wire_id(self, call_id: str) -> str:
        """Return the id to send for a call of the newest message with calls, and for its answer."""
        return self._newest.get(call_id) or self._unused_id(call_id)

    def _unused_id(self, call_id: str) -> str:
        candidate = call_id if self._pattern.fullmatch(call_id) else self._make_id(call_id)
        attempt = 1
        while self._unique and candidate in self._used:
            attempt += 1
            candidate = self._make_id(f"{call_id} {attempt}")
        self._used.add(candidate)
        return candidate

    def _make_id(self, call_id: str) -> str:
        return self._new_id.format(sha256(call_id.encode("utf-8", "replace")).hexdigest())
