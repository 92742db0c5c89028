"""A request as OpenAI Chat Completions wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helix_desktop.context.image import Image
from helix_desktop.context.message import Message, ModelInfo, Request, ToolCall, ToolSpec
from helix_desktop.providers.wire import arguments_text, data_url, encode

DIALECT = "openai-chat"
"""Marks assistant messages that are kept in this dialect's own form."""


def request_body(info: ModelInfo, request: Request, *, ask_usage: bool) -> bytes:
    """A request as JSON. The same request gives the same bytes; no sampling parameters are sent."""
    body: dict[str, Any] = {
        "model": info.name,
        "messages": _messages(request, info.provider),
        "stream": True,
    }
    if ask_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return encode(body)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _messages(request: Request, provider: str) -> list[dict[str, Any]]:
    """The messages; images in answers of tools follow the last of these answers, as the person's would."""
    written: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    for message in request.messages:
        if waiting and message.role != "tool":
            written.append({"role": "user", "content": waiting})
            waiting = []
        if message.role == "tool":
            waiting += _answered_images(message, request.pictures)
        written.append(_message(message, provider, request.pictures))
    return [*written, {"role": "user", "content": waiting}] if waiting else written


def _message(message: Message, provider: str, pictures: Mapping[str, bytes]) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.role == "assistant":
        return _assistant(message, provider)
    if not message.images:
        return {"role": message.role, "content": message.text}
    parts = [_text(message.text), *(_picture(one, pictures) for one in message.images)]
    return {"role": message.role, "content": parts}


def _answered_images(message: Message, pictures: Mapping[str, bytes]) -> list[dict[str, Any]]:
    if not message.images:
        return []
    head = _text(f"[Image in the answer to call {message.call_id}, {message.name}]")
    return [head, *(_picture(one, pictures) for one in message.images)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _picture(image: Image, pictures: Mapping[str, bytes]) -> dict[str, Any]:
    """The image itself, or the text that stands for it when its bytes could not be read."""
    data = pictures.get(image.digest)
    if data is None:
        return _text(image.marker)
    return {"type": "image_url", "image_url": {"url": data_url(image, data)}}


def _assistant(message: Message, provider: str) -> dict[str, Any]:
    """The message as this provider sent it; text and arguments that the window changed since are replaced."""
    kept = message.verbatim or {}
    ours = kept.get("dialect") == DIALECT and kept.get("provider") == provider
    raw: dict[str, Any] = dict(kept["message"]) if ours else {"role": "assistant", "content": None}
    if (raw.get("content") or "") != message.text:
        raw["content"] = message.text or None
    sent = {call["id"]: call for call in raw.pop("tool_calls", ())}
    if message.calls:
        raw["tool_calls"] = [_call(call, sent.get(call.id, {})) for call in message.calls]
    return raw


def _call(call: ToolCall, sent: Mapping[str, Any]) -> dict[str, Any]:
    function = {**sent.get("function", {}), "name": call.name, "arguments": arguments_text(call.arguments)}
    return {**sent, "id": call.id, "type": "function", "function": function}
