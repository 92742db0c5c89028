"""A request as OpenAI Chat Completions wants it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from helix_desktop.context.image import Image
from helix_desktop.context.message import Message, ModelInfo, Request, ToolCall, ToolSpec
from helix_desktop.providers.call_ids import CallIds, digest_of_id
from helix_desktop.providers.openai_chat_form import USUAL, Form
from helix_desktop.providers.wire import arguments_text, data_url, encode

DIALECT = "openai-chat"
"""Marks assistant messages that are kept in this dialect's own form."""

UNSIGNED = "skip_thought_signature_validator"
"""What Gemini takes for the signature of a call that another model made (Google, "Thought signatures")."""

_FORTY_SIGNS = re.compile(r".{1,40}", re.DOTALL)  # OpenAI's limit
_NINE_SIGNS = re.compile(r"[a-zA-Z0-9]{9}")  # Mistral's rule


def request_body(info: ModelInfo, request: Request, form: Form = USUAL) -> bytes:
    """A request as JSON. The same request gives the same bytes; no sampling parameters are sent."""
    body: dict[str, Any] = {
        "model": info.name,
        "messages": _History(info, request.pictures, form).messages(request),
        "stream": True,
    }
    if form.asks_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return encode(body)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


class _History:
    """Writes the messages of one request."""

    def __init__(self, info: ModelInfo, pictures: Mapping[str, bytes], form: Form) -> None:
        self._info, self._pictures, self._form = info, pictures, form
        legal, made = (_NINE_SIGNS, _nine_signs) if form.short_ids else (_FORTY_SIGNS, None)
        self._ids = CallIds(legal, made)

    def messages(self, request: Request) -> list[dict[str, Any]]:
        """The messages; images in answers of tools follow the last of these, as the person's would."""
        written: list[dict[str, Any]] = []
        waiting: list[dict[str, Any]] = []
        for message in request.messages:
            if waiting and message.role != "tool":
                written.append({"role": "user", "content": waiting})
                waiting = []
            if message.role == "tool":
                waiting += _answered_images(message, self._pictures)
            written.append(self._message(message))
        return [*written, {"role": "user", "content": waiting}] if waiting else written

    def _message(self, message: Message) -> dict[str, Any]:
        if message.role == "tool":
            call_id = self._ids.of(message.call_id)
            return {"role": "tool", "tool_call_id": call_id, "content": message.text}
        if message.role == "assistant":
            self._ids.called(call.id for call in message.calls)
            return self._assistant(message)
        if not message.images:
            return {"role": message.role, "content": message.text}
        parts = [_text(message.text), *(_picture(one, self._pictures) for one in message.images)]
        return {"role": message.role, "content": parts}

    def _assistant(self, message: Message) -> dict[str, Any]:
        """The message as this model sent it; text and arguments that the window changed are replaced."""
        raw = self._kept(message)
        if (raw.get("content") or "") != message.text:
            raw["content"] = message.text or None
        if self._form.fills_reasoning:
            raw.setdefault("reasoning_content", "")
        sent = {call["id"]: call for call in raw.pop("tool_calls", ())}
        if message.calls:
            raw["tool_calls"] = [self._call(call, sent.get(call.id, {})) for call in message.calls]
        return raw

    def _kept(self, message: Message) -> dict[str, Any]:
        """What came beside the text; other providers and models get none of it."""
        kept = message.verbatim or {}
        ours = kept.get("dialect") == DIALECT and kept.get("provider") == self._info.provider
        # Messages of earlier versions do not say which model they came from.
        if ours and self._form.own_fields and (kept.get("model") or self._info.name) == self._info.name:
            return dict(kept["message"])
        return {"role": "assistant", "content": None}

    def _call(self, call: ToolCall, sent: Mapping[str, Any]) -> dict[str, Any]:
        named = {"name": call.name, "arguments": arguments_text(call.arguments)}
        function = {**sent.get("function", {}), **named}
        raw = {**sent, "id": self._ids.of(call.id), "type": "function", "function": function}
        if self._form.signs_calls and "extra_content" not in raw:
            raw["extra_content"] = {"google": {"thought_signature": UNSIGNED}}
        return raw


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


def _nine_signs(call_id: str) -> str:
    return digest_of_id(call_id)[:9]
