"""Encode a request for OpenAI Responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.domain.request_extras import merge_fields
from helix_desktop.providers.dialect import BREAKPOINT, CacheFields
from helix_desktop.providers.json_wire import (
    PART_SEPARATOR,
    ToolCallIds,
    arguments_text,
    data_url,
    encode_json,
    join_text_parts,
)
from helix_desktop.providers.thinking_tags import split_thinking

DIALECT = "openai-responses"
"""Marks assistant messages that are stored verbatim in this dialect."""

ENCRYPTED_REASONING = "reasoning.encrypted_content"
"""The value of `include` that makes reasoning resendable without being stored at the server."""

Item = dict[str, Any]

_LEGAL_ID = re.compile(r"[!-~]{1,64}")
_TEXT_OF = {"output_text": "text", "refusal": "refusal"}


def request_body(
    info: ModelInfo,
    request: ModelRequest,
    *,
    include_encrypted: bool = True,
    send_reasoning: bool = True,
    cache: CacheFields | None = None,
    effort: SentEffort = "",
) -> bytes:
    """Encode a request as JSON. The same request gives the same bytes; no sampling parameters are sent.

    `include_encrypted` requests encrypted reasoning; `send_reasoning` sends earlier reasoning back; `cache`
    is what is asked of the provider's cache, `effort` the level of reasoning.
    """
    history = _MessageEncoder(info, request.image_data, send_reasoning)
    ends = cache.ends if cache is not None else frozenset()
    for count, message in enumerate(request.messages, 1):
        history.add(message)
        if count in ends:
            history.set_breakpoint()
    body: dict[str, Any] = {"model": info.name, "store": False, "stream": True}
    if cache is not None:
        body |= cache.body_fields()
    if effort:
        body["reasoning"] = {"effort": effort}
    if include_encrypted:
        body["include"] = [ENCRYPTED_REASONING]
    instructions = [item.text for item in request.messages if item.role == "system" and item.text.strip()]
    if instructions:
        body["instructions"] = PART_SEPARATOR.join(instructions)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body["input"] = history.items
    return encode_json(merge_fields(body, info.extras.body))


def has_reasoning(request: ModelRequest, info: ModelInfo) -> bool:
    """Return True if a request would contain reasoning."""
    return any(
        item.get("type") == "reasoning"
        for message in request.messages
        for item in _original_items(message, info, send_reasoning=True)
    )


def part_texts(item: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message's parts, including refusals."""
    content = item.get("content")
    parts = content if isinstance(content, list) else ()
    texts = [part.get(_TEXT_OF.get(str(part.get("type")), "")) for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def has_refusal(item: Mapping[str, Any]) -> bool:
    """Return True if a message has a part by which the model refuses."""
    content = item.get("content")
    parts = content if isinstance(content, list) else ()
    return any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts)


class _MessageEncoder:
    """Encodes messages as items."""

    def __init__(self, info: ModelInfo, image_data: Mapping[str, bytes], send_reasoning: bool) -> None:
        self._info, self._image_data, self._send_reasoning = info, image_data, send_reasoning
        self._ids = ToolCallIds(_LEGAL_ID, unique=True)
        self.items: list[Item] = []

    def add(self, message: Message) -> None:
        """Append one message; the system prompt is sent separately."""
        if message.role == "assistant":
            self._ids.register(call.id for call in message.calls)
            self.items += self._assistant(message)
        elif message.role == "tool":
            output = self._content_parts(message) if message.images else message.text
            call_id = self._ids.wire_id(message.call_id)
            self.items.append({"type": "function_call_output", "call_id": call_id, "output": output})
        elif message.role == "user":
            self.items.append({"role": "user", "content": self._content_parts(message)})

    def set_breakpoint(self) -> None:
        """Mark the end of the newest message, if it is the user's: later requests begin with all up to it."""
        if self.items and self.items[-1].get("role") == "user":
            parts = self.items[-1]["content"]
            parts[-1] = {**parts[-1], BREAKPOINT: {"mode": "explicit"}}

    def _content_parts(self, message: Message) -> list[Item]:
        text = [_text(message.text)] if message.text.strip() else []
        return [*text, *(_image_part(image, self._image_data) for image in message.images)]

    def _assistant(self, message: Message) -> list[Item]:
        """Encode the original items; replace text and arguments that the window changed since."""
        original = _original_items(message, self._info, self._send_reasoning)
        items = _with_text(original, message.text)
        calls = {call.id: call for call in message.calls}
        encoded: list[Item] = []
        for item in items:
            if item.get("type") != "function_call":
                encoded.append(item)
            elif (call := calls.pop(str(item.get("call_id")), None)) is not None:
                encoded.append(self._call(call, item))
        encoded += [self._call(call, {}) for call in calls.values()]
        return _drop_trailing_reasoning(encoded)

    def _call(self, call: ToolCall, original: Item) -> Item:
        fields = {"type": "function_call", "call_id": self._ids.wire_id(call.id), "name": call.name}
        return {**original, **fields, "arguments": arguments_text(call.arguments)}


def _original_items(message: Message, info: ModelInfo, send_reasoning: bool) -> list[Item]:
    """Return the original items of a message from this provider; none for other providers.

    Reasoning is sent back to its own model only, and only with its content: nothing is stored there.
    Without it the other items lose their ids, by which a server would look for it.
    """
    verbatim = message.verbatim or {}
    if verbatim.get("dialect") != DIALECT or verbatim.get("provider") != info.provider:
        return []
    items: list[Item] = [
        {key: value for key, value in item.items() if value is not None} for item in verbatim["items"]
    ]
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    has_content = all(item.get("encrypted_content") or item.get("content") for item in thoughts)
    if send_reasoning and has_content and verbatim.get("model") == info.name:
        return items
    others = [item for item in items if item.get("type") != "reasoning"]
    return [_drop_id(item) for item in others] if thoughts else others


def _drop_id(item: Item) -> Item:
    if item.get("type") == "message":
        return _assistant_message(join_text_parts(part_texts(item)))
    return {key: value for key, value in item.items() if key != "id"}


def _drop_trailing_reasoning(items: list[Item]) -> list[Item]:
    """Drop reasoning at the end of a message: servers refuse it without a following item."""
    while items and items[-1].get("type") == "reasoning":
        items = items[:-1]
    return items


def _with_text(items: list[Item], text: str) -> list[Item]:
    """Return items with `text`: the original ones if unchanged."""
    joined = join_text_parts(
        [part for item in items if _is_assistant_message(item) for part in _item_texts(item)]
    )
    if text in (joined, split_thinking(joined)[0]):
        return [
            item
            for item in items
            if not _is_assistant_message(item) or any(part.strip() for part in _item_texts(item))
        ]
    others = [item for item in items if not _is_assistant_message(item)]
    if not text.strip():
        return others
    index = next((n for n, item in enumerate(others) if item.get("type") != "reasoning"), len(others))
    return [*others[:index], _assistant_message(text), *others[index:]]


def _item_texts(item: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message in either of its forms."""
    content = item.get("content")
    return [content] if isinstance(content, str) else part_texts(item)


def _is_assistant_message(item: Item) -> bool:
    return item.get("type") == "message" or item.get("role") == "assistant"


def _assistant_message(text: str) -> Item:
    return {"role": "assistant", "content": text}


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _image_part(image: Image, image_data: Mapping[str, bytes]) -> Item:
    """Encode an image, or its marker if its bytes could not be read."""
    data = image_data.get(image.digest)
    if data is None:
        return _text(image.marker)
    return {"type": "input_image", "image_url": data_url(image, data), "detail": "auto"}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    # If omitted, `strict` counts as true, and schemas with optional parameters are refused.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }
