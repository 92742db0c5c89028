"""Encode a request for OpenAI Chat Completions, in the variants that compatible servers accept."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.domain.request_extras import merge_fields
from helix_desktop.providers.dialect import CacheFields
from helix_desktop.providers.json_wire import ToolCallIds, arguments_text, data_url, encode_json, hash_id
from helix_desktop.providers.thinking_tags import split_thinking


class RequestVariant(msgspec.Struct, frozen=True):
    """How a request is encoded.

    `asks_usage`: with the field that requests usage. `sends_server_fields`: with the extra fields of the
    server's own messages. `fills_reasoning`: with empty reasoning where there is none. `signs_calls`: with a
    signature for calls that have none. `uses_short_ids`: with call ids of nine characters.
    """

    asks_usage: bool = True
    sends_server_fields: bool = True
    fills_reasoning: bool = False
    signs_calls: bool = False
    uses_short_ids: bool = False


DEFAULT_VARIANT = RequestVariant()
"""The variant that is tried first."""

_UNSUPPORTED_WORDS = (
    "not permitted",
    "unsupported",
    "not supported",
    "unknown",
    "unrecognized",
    "unexpected",
    "extra",
)
_SERVER_FIELDS = ("reasoning", "annotations", "audio", "extra_content")


def variant_for_error(variant: RequestVariant, error_text: str) -> RequestVariant | None:
    """Return the variant that an error text asks for; None if it asks for none that we know."""
    low = error_text.lower()
    for matches, change in _REMEDIES:
        changed_variant = change(variant)
        if changed_variant != variant and matches(low):
            return changed_variant
    return None


def _names_unknown_field(error_text: str, *fields: str) -> bool:
    return any(field in error_text for field in fields) and any(
        word in error_text for word in _UNSUPPORTED_WORDS
    )


_REMEDIES: tuple[tuple[Callable[[str], bool], Callable[[RequestVariant], RequestVariant]], ...] = (
    (
        lambda low: "stream_options" in low or "include_usage" in low,
        lambda form: msgspec.structs.replace(form, asks_usage=False),
    ),
    (
        # Mistral: "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."
        lambda low: "tool call id" in low and "length of 9" in low,
        lambda form: msgspec.structs.replace(form, uses_short_ids=True),
    ),
    (
        # Gemini: "Function call is missing a thought_signature in functionCall parts."
        lambda low: "thought_signature" in low and "missing" in low,
        lambda form: msgspec.structs.replace(form, signs_calls=True),
    ),
    (
        # DeepSeek: "Missing `reasoning_content` field in the assistant message", "must be passed back".
        lambda low: "reasoning_content" in low and ("missing" in low or "must be passed" in low),
        lambda form: msgspec.structs.replace(form, fills_reasoning=True),
    ),
    (
        lambda low: _names_unknown_field(low, *_SERVER_FIELDS),
        lambda form: msgspec.structs.replace(form, sends_server_fields=False, fills_reasoning=False),
    ),
)
"""Matchers of error texts, and the changes that resolve them."""


DIALECT = "openai-chat"
"""Marks assistant messages that are stored verbatim in this dialect."""

PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini accepts as the signature of a call that another model made (Google, "Thought signatures")."""

_FORTY_CHARS = re.compile(r".{1,40}", re.DOTALL)  # OpenAI's limit
_NINE_CHARS = re.compile(r"[a-zA-Z0-9]{9}")  # Mistral's rule


def request_body(
    info: ModelInfo,
    request: ModelRequest,
    variant: RequestVariant = DEFAULT_VARIANT,
    cache: CacheFields | None = None,
    effort: SentEffort = "",
) -> bytes:
    """Encode a request as JSON. The same request gives the same bytes; no sampling parameters are sent.

    `cache` is what is asked of the provider's cache, `effort` the level of reasoning.
    """
    body: dict[str, Any] = {
        "model": info.name,
        "messages": _MessageEncoder(info, request.image_data, variant).messages(request),
        "stream": True,
    }
    if variant.asks_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if cache is not None:
        body |= cache.body_fields()
    if effort:
        body["reasoning_effort"] = effort
    return encode_json(merge_fields(body, info.extras.body))


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


class _MessageEncoder:
    """Encodes the messages of one request."""

    def __init__(self, info: ModelInfo, image_data: Mapping[str, bytes], variant: RequestVariant) -> None:
        self._info, self._image_data, self._variant = info, image_data, variant
        legal, make_id = (_NINE_CHARS, _nine_char_id) if variant.uses_short_ids else (_FORTY_CHARS, None)
        self._ids = ToolCallIds(legal, make_id)

    def messages(self, request: ModelRequest) -> list[dict[str, Any]]:
        """Encode the messages; images of tool results follow the last result, as a user message."""
        encoded: list[dict[str, Any]] = []
        pending_images: list[dict[str, Any]] = []
        for message in request.messages:
            if pending_images and message.role != "tool":
                encoded.append({"role": "user", "content": pending_images})
                pending_images = []
            if message.role == "tool":
                pending_images += _tool_image_parts(message, self._image_data)
            encoded.append(self._message(message))
        return [*encoded, {"role": "user", "content": pending_images}] if pending_images else encoded

    def _message(self, message: Message) -> dict[str, Any]:
        if message.role == "tool":
            call_id = self._ids.wire_id(message.call_id)
            return {"role": "tool", "tool_call_id": call_id, "content": message.text}
        if message.role == "assistant":
            self._ids.register(call.id for call in message.calls)
            return self._assistant(message)
        if not message.images:
            return {"role": message.role, "content": message.text}
        parts = [_text(message.text), *(_image_part(image, self._image_data) for image in message.images)]
        return {"role": message.role, "content": parts}

    def _assistant(self, message: Message) -> dict[str, Any]:
        """Encode the original message; replace text and arguments that the window changed."""
        raw = self._original_message(message)
        content = raw.get("content") or ""
        # Thinking between tags goes back as it came: what templates do with it is theirs to know.
        if content != message.text and split_thinking(content)[0] != message.text:
            raw["content"] = message.text or None
        if self._variant.fills_reasoning:
            raw.setdefault("reasoning_content", "")
        sent = {call["id"]: call for call in raw.pop("tool_calls", ())}
        if message.calls:
            raw["tool_calls"] = [self._call(call, sent.get(call.id, {})) for call in message.calls]
        return raw

    def _original_message(self, message: Message) -> dict[str, Any]:
        """Return the message with the server's extra fields, unless from another provider or model."""
        verbatim = message.verbatim or {}
        is_own = verbatim.get("dialect") == DIALECT and verbatim.get("provider") == self._info.provider
        # Messages of earlier versions do not say which model they came from.
        if (
            is_own
            and self._variant.sends_server_fields
            and (verbatim.get("model") or self._info.name) == self._info.name
        ):
            return dict(verbatim["message"])
        return {"role": "assistant", "content": None}

    def _call(self, call: ToolCall, original: Mapping[str, Any]) -> dict[str, Any]:
        fields = {"name": call.name, "arguments": arguments_text(call.arguments)}
        function = {**original.get("function", {}), **fields}
        raw = {**original, "id": self._ids.wire_id(call.id), "type": "function", "function": function}
        if self._variant.signs_calls and "extra_content" not in raw:
            raw["extra_content"] = {"google": {"thought_signature": PLACEHOLDER_SIGNATURE}}
        return raw


def _tool_image_parts(message: Message, image_data: Mapping[str, bytes]) -> list[dict[str, Any]]:
    if not message.images:
        return []
    head = _text(f"[Image in the answer to call {message.call_id}, {message.name}]")
    return [head, *(_image_part(image, image_data) for image in message.images)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image_part(image: Image, image_data: Mapping[str, bytes]) -> dict[str, Any]:
    """Encode an image, or its marker if its bytes could not be read."""
    data = image_data.get(image.digest)
    if data is None:
        return _text(image.marker)
    return {"type": "image_url", "image_url": {"url": data_url(image, data)}}


def _nine_char_id(call_id: str) -> str:
    return hash_id(call_id)[:9]
