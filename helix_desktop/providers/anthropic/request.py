"""A request as Anthropic Messages wants it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.providers.json_wire import arguments_object, encode_json, join_text_parts
from helix_desktop.providers.tool_call_ids import ToolCallIds

DIALECT = "anthropic"
"""Marks assistant messages that are kept in this dialect's own form."""

Block = dict[str, Any]

ThinkingScope = Literal["all", "bound", "none"]
"""Which thinking goes back: all of it, what stands behind an unchanged prefix, or none.

Newer models take thinking back only where nothing before it has changed since ("Preserved thinking", 2026).
"""

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_THINKING_TYPES = ("thinking", "redacted_thinking")
_BREAKPOINT = {"type": "ephemeral"}


class EncodedRequest(msgspec.Struct, frozen=True):
    """A request in this dialect; `prefix` stands for everything in it that an answer depends on.

    `thinking` says whether any thinking goes back with it.
    """

    body: bytes
    prefix: str
    has_thinking: bool


def encode_request(
    info: ModelInfo,
    request: ModelRequest,
    *,
    max_output_tokens: int,
    thinking_scope: ThinkingScope = "all",
    breakpoints: bool = True,
) -> EncodedRequest:
    """A request as JSON, with room for `most` tokens of an answer. The same request gives the same bytes.

    No sampling parameters are sent.
    """
    history = _MessageEncoder(info, request.image_data, thinking_scope)
    system = [_text(one.text) for one in request.messages if one.role == "system" and one.text.strip()]
    tools = [_tool(tool) for tool in request.tools]
    history.start(system, tools)
    for message in request.messages:
        history.add(message)
    if breakpoints:
        _set_breakpoints(system, tools, history.messages)
    body: dict[str, Any] = {"model": info.name, "max_tokens": max_output_tokens, "stream": True}
    if system:
        body["system"] = system
    if tools:
        body["tools"] = tools
    body["messages"] = history.messages
    return EncodedRequest(encode_json(body), history.prefix, history.has_thinking)


def has_bound_thinking(message: Message, info: ModelInfo) -> bool:
    """Whether a message came from a model that takes thinking back only behind an unchanged prefix."""
    kept = message.verbatim or {}
    return bool(_is_own_message(kept, info) and kept.get("bound"))


class _MessageEncoder:
    """Writes messages one by one, those of one role together, and knows the digest of what it wrote."""

    def __init__(
        self, info: ModelInfo, image_data: Mapping[str, bytes], thinking_scope: ThinkingScope
    ) -> None:
        self._info, self._image_data, self._thinking_scope = info, image_data, thinking_scope
        self._ids = ToolCallIds(_LEGAL_ID, unique=True)
        self._digest = blake2b(digest_size=16)  # half the time of SHA-256, and nobody is kept out by it
        self.messages: list[dict[str, Any]] = []
        self.has_thinking = False

    @property
    def prefix(self) -> str:
        """Stands for everything written so far."""
        return self._digest.hexdigest()

    def start(self, system: list[Block], tools: list[Block]) -> None:
        """What stands before all messages."""
        self._digest.update(encode_json([self._info.name, system, tools]))

    def add(self, message: Message) -> None:
        """Write one message behind the others."""
        if message.role == "system":
            return
        if message.role == "assistant":
            self._ids.register(call.id for call in message.calls)
            blocks = self._assistant(message)
        elif message.role == "tool":
            blocks = [self._result(message)]
        else:
            blocks = self._content_blocks(message)
        role = "assistant" if message.role == "assistant" else "user"
        self._digest.update(encode_json([role, blocks]))
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += blocks
        elif blocks:
            self.messages.append({"role": role, "content": blocks})

    def _content_blocks(self, message: Message) -> list[Block]:
        text = [_text(message.text)] if message.text.strip() else []
        return [*text, *(_image_block(one, self._image_data) for one in message.images)]

    def _result(self, message: Message) -> Block:
        content: str | list[Block] = self._content_blocks(message) if message.images else message.text
        return {"type": "tool_result", "tool_use_id": self._ids.wire_id(message.call_id), "content": content}

    def _assistant(self, message: Message) -> list[Block]:
        """The message as it came; text and arguments that the window changed since are replaced."""
        kept = message.verbatim or {}
        came: list[Block] = list(kept["content"]) if _is_own_message(kept, self._info) else []
        if not self._keeps_thinking(kept):
            came = [block for block in came if block.get("type") not in _THINKING_TYPES]
        self.has_thinking = self.has_thinking or any(block.get("type") in _THINKING_TYPES for block in came)
        blocks = _with_text(came, message.text)
        calls = {call.id: call for call in message.calls}
        told: list[Block] = []
        for block in blocks:
            if block.get("type") != "tool_use":
                told.append(block)
            elif (call := calls.pop(str(block.get("id")), None)) is not None:
                told.append(self._call(call, block))
        return [*told, *(self._call(call, {}) for call in calls.values())]

    def _call(self, call: ToolCall, original: Block) -> Block:
        made = {"type": "tool_use", "id": self._ids.wire_id(call.id), "name": call.name}
        return {**original, **made, "input": arguments_object(call.arguments)}

    def _keeps_thinking(self, verbatim: Mapping[str, Any]) -> bool:
        """Whether a message's thinking is as valid now as when it came: only its own model can read it."""
        if self._thinking_scope == "none" or verbatim.get("model") != self._info.name:
            return False
        return self._thinking_scope == "all" or verbatim.get("prefix") == self.prefix


def _is_own_message(verbatim: Mapping[str, Any], info: ModelInfo) -> bool:
    return verbatim.get("dialect") == DIALECT and verbatim.get("provider") == info.provider


def _with_text(blocks: list[Block], text: str) -> list[Block]:
    """Blocks that say `text`: as they came when they do; empty ones, which no server takes back, left out."""
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    if join_text_parts(texts) == text:
        return [block for block in blocks if block.get("type") != "text" or str(block.get("text")).strip()]
    others = [block for block in blocks if block.get("type") != "text"]
    if not text.strip():
        return others
    at = next((n for n, block in enumerate(others) if block.get("type") not in _THINKING_TYPES), len(others))
    return [*others[:at], _text(text), *others[at:]]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _tool(tool: ToolSpec) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _image_block(image: Image, image_data: Mapping[str, bytes]) -> Block:
    """The image itself, or the text that stands for it when its bytes could not be read."""
    data = image_data.get(image.digest)
    if data is None:
        return _text(image.marker)
    source = {"type": "base64", "media_type": image.media, "data": b64encode(data).decode()}
    return {"type": "image", "source": source}


def _set_breakpoints(system: list[Block], tools: list[Block], messages: list[dict[str, Any]]) -> None:
    """Mark up to four places where the provider may keep what it has read.

    The system prompt with the tools before it; the opening messages, which a sweep leaves alone; where the
    former request ended; and the end.
    """
    for opening in (system, tools):
        if opening:
            opening[-1] = {**opening[-1], "cache_control": _BREAKPOINT}
            break
    spoke = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
    ends = {len(messages) - 1, *((spoke[0] - 1, spoke[-1] - 1) if spoke else ())}
    for n in ends:
        if n >= 0 and messages[n]["role"] == "user":
            blocks = messages[n]["content"]
            blocks[-1] = {**blocks[-1], "cache_control": _BREAKPOINT}
