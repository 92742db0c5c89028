"""A request as OpenAI Responses wants it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from helix_desktop.context.image import Image
from helix_desktop.context.message import Message, ModelInfo, Request, ToolCall, ToolSpec
from helix_desktop.providers.call_ids import CallIds
from helix_desktop.providers.wire import JOINT, arguments_text, data_url, encode, joined

DIALECT = "openai-responses"
"""Marks assistant messages that are kept in this dialect's own form."""

ENCRYPTED = "reasoning.encrypted_content"
"""What a server is asked to include, so that reasoning can go back without being stored there."""

Item = dict[str, Any]

_LEGAL_ID = re.compile(r"[!-~]{1,64}")
_TEXT_OF = {"output_text": "text", "refusal": "refusal"}


def request_body(info: ModelInfo, request: Request, *, include: bool = True, reasoning: bool = True) -> bytes:
    """A request as JSON. The same request gives the same bytes; no sampling parameters are sent.

    `include` asks for encrypted reasoning; `reasoning` sends earlier reasoning back.
    """
    history = _History(info, request.pictures, reasoning)
    for message in request.messages:
        history.add(message)
    body: dict[str, Any] = {"model": info.name, "store": False, "stream": True}
    if include:
        body["include"] = [ENCRYPTED]
    told = [one.text for one in request.messages if one.role == "system" and one.text.strip()]
    if told:
        body["instructions"] = JOINT.join(told)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body["input"] = history.items
    return encode(body)


def has_reasoning(request: Request, info: ModelInfo) -> bool:
    """Whether reasoning would go back with a request."""
    return any(
        item.get("type") == "reasoning"
        for message in request.messages
        for item in _own_items(message, info, reasoning=True)
    )


def text_of(item: Mapping[str, Any]) -> list[str]:
    """The texts of a message's parts, refusals among them."""
    content = item.get("content")
    parts = content if isinstance(content, list) else ()
    found = [part.get(_TEXT_OF.get(str(part.get("type")), "")) for part in parts if isinstance(part, dict)]
    return [text for text in found if isinstance(text, str)]


class _History:
    """Writes messages as items, one behind the other."""

    def __init__(self, info: ModelInfo, pictures: Mapping[str, bytes], reasoning: bool) -> None:
        self._info, self._pictures, self._reasoning = info, pictures, reasoning
        self._ids = CallIds(_LEGAL_ID, unique=True)
        self.items: list[Item] = []

    def add(self, message: Message) -> None:
        """Write one message behind the others; the system prompt stands elsewhere."""
        if message.role == "assistant":
            self._ids.called(call.id for call in message.calls)
            self.items += self._assistant(message)
        elif message.role == "tool":
            output = self._seen(message) if message.images else message.text
            call_id = self._ids.of(message.call_id)
            self.items.append({"type": "function_call_output", "call_id": call_id, "output": output})
        elif message.role == "user":
            self.items.append({"role": "user", "content": self._seen(message)})

    def _seen(self, message: Message) -> list[Item]:
        text = [_text(message.text)] if message.text.strip() else []
        return [*text, *(_picture(one, self._pictures) for one in message.images)]

    def _assistant(self, message: Message) -> list[Item]:
        """The items as they came; text and arguments that the window changed since are replaced."""
        came = _own_items(message, self._info, self._reasoning)
        items = _with_text(came, message.text)
        calls = {call.id: call for call in message.calls}
        told: list[Item] = []
        for item in items:
            if item.get("type") != "function_call":
                told.append(item)
            elif (call := calls.pop(str(item.get("call_id")), None)) is not None:
                told.append(self._call(call, item))
        told += [self._call(call, {}) for call in calls.values()]
        return _without_loose_reasoning(told)

    def _call(self, call: ToolCall, came: Item) -> Item:
        made = {"type": "function_call", "call_id": self._ids.of(call.id), "name": call.name}
        return {**came, **made, "arguments": arguments_text(call.arguments)}


def _own_items(message: Message, info: ModelInfo, reasoning: bool) -> list[Item]:
    """The items of a message that this provider sent.

    Reasoning goes back to its own model only, and only if it brings its content: nothing is stored there.
    Without it the other items lose their ids, by which a server would look for it.
    """
    kept = message.verbatim or {}
    if kept.get("dialect") != DIALECT or kept.get("provider") != info.provider:
        return []
    items: list[Item] = [
        {key: value for key, value in item.items() if value is not None} for item in kept["items"]
    ]
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    whole = all(item.get("encrypted_content") or item.get("content") for item in thoughts)
    if reasoning and whole and kept.get("model") == info.name:
        return items
    others = [item for item in items if item.get("type") != "reasoning"]
    return [_unnamed(item) for item in others] if thoughts else others


def _unnamed(item: Item) -> Item:
    if item.get("type") == "message":
        return _said(joined(text_of(item)))
    return {key: value for key, value in item.items() if key != "id"}


def _without_loose_reasoning(items: list[Item]) -> list[Item]:
    """Reasoning is refused without what followed it; at the end of a message nothing did."""
    while items and items[-1].get("type") == "reasoning":
        items = items[:-1]
    return items


def _with_text(came: list[Item], text: str) -> list[Item]:
    """Items that say `text`: as they came when they do."""
    if joined([part for item in came if _says(item) for part in _texts_of(item)]) == text:
        return [item for item in came if not _says(item) or any(part.strip() for part in _texts_of(item))]
    others = [item for item in came if not _says(item)]
    if not text.strip():
        return others
    at = next((n for n, item in enumerate(others) if item.get("type") != "reasoning"), len(others))
    return [*others[:at], _said(text), *others[at:]]


def _texts_of(item: Mapping[str, Any]) -> list[str]:
    """The texts of a message in either of its forms."""
    content = item.get("content")
    return [content] if isinstance(content, str) else text_of(item)


def _says(item: Item) -> bool:
    return item.get("type") == "message" or item.get("role") == "assistant"


def _said(text: str) -> Item:
    return {"role": "assistant", "content": text}


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _picture(image: Image, pictures: Mapping[str, bytes]) -> Item:
    """The image itself, or the text that stands for it when its bytes could not be read."""
    data = pictures.get(image.digest)
    if data is None:
        return _text(image.marker)
    return {"type": "input_image", "image_url": data_url(image, data), "detail": "auto"}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    # Left out, `strict` would count as true, and a schema with optional parameters be refused.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }
