"""A request as Anthropic Messages wants it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from helix_desktop.context.image import Image
from helix_desktop.context.message import Message, ModelInfo, Request, ToolCall, ToolSpec
from helix_desktop.providers.call_ids import CallIds
from helix_desktop.providers.wire import arguments_object, encode, joined

DIALECT = "anthropic"
"""Marks assistant messages that are kept in this dialect's own form."""

Block = dict[str, Any]

Thoughts = Literal["all", "bound", "none"]
"""Which thinking goes back: all of it, what stands behind an unchanged prefix, or none.

Newer models take thinking back only where nothing before it has changed since ("Preserved thinking", 2026).
"""

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_THINKING = ("thinking", "redacted_thinking")
_BREAKPOINT = {"type": "ephemeral"}


class Written(msgspec.Struct, frozen=True):
    """A request in this dialect; `prefix` stands for everything in it that an answer depends on.

    `thinking` says whether any thinking goes back with it.
    """

    body: bytes
    prefix: str
    thinking: bool


def written(
    info: ModelInfo,
    request: Request,
    *,
    most: int,
    thoughts: Thoughts = "all",
    breakpoints: bool = True,
) -> Written:
    """A request as JSON, with room for `most` tokens of an answer. The same request gives the same bytes.

    No sampling parameters are sent.
    """
    history = _History(info, request.pictures, thoughts)
    system = [_text(one.text) for one in request.messages if one.role == "system" and one.text.strip()]
    tools = [_tool(tool) for tool in request.tools]
    history.opens(system, tools)
    for message in request.messages:
        history.add(message)
    if breakpoints:
        _set_breakpoints(system, tools, history.messages)
    body: dict[str, Any] = {"model": info.name, "max_tokens": most, "stream": True}
    if system:
        body["system"] = system
    if tools:
        body["tools"] = tools
    body["messages"] = history.messages
    return Written(encode(body), history.prefix, history.thinking)


def is_bound(message: Message, info: ModelInfo) -> bool:
    """Whether a message came from a model that takes thinking back only behind an unchanged prefix."""
    kept = message.verbatim or {}
    return bool(_is_ours(kept, info) and kept.get("bound"))


class _History:
    """Writes messages one by one, those of one role together, and knows the digest of what it wrote."""

    def __init__(self, info: ModelInfo, pictures: Mapping[str, bytes], thoughts: Thoughts) -> None:
        self._info, self._pictures, self._thoughts = info, pictures, thoughts
        self._ids = CallIds(_LEGAL_ID, unique=True)
        self._digest = blake2b(digest_size=16)  # half the time of SHA-256, and nobody is kept out by it
        self.messages: list[dict[str, Any]] = []
        self.thinking = False

    @property
    def prefix(self) -> str:
        """Stands for everything written so far."""
        return self._digest.hexdigest()

    def opens(self, system: list[Block], tools: list[Block]) -> None:
        """What stands before all messages."""
        self._digest.update(encode([self._info.name, system, tools]))

    def add(self, message: Message) -> None:
        """Write one message behind the others."""
        if message.role == "system":
            return
        if message.role == "assistant":
            self._ids.called(call.id for call in message.calls)
            blocks = self._assistant(message)
        elif message.role == "tool":
            blocks = [self._result(message)]
        else:
            blocks = self._seen(message)
        role = "assistant" if message.role == "assistant" else "user"
        self._digest.update(encode([role, blocks]))
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += blocks
        elif blocks:
            self.messages.append({"role": role, "content": blocks})

    def _seen(self, message: Message) -> list[Block]:
        text = [_text(message.text)] if message.text.strip() else []
        return [*text, *(_picture(one, self._pictures) for one in message.images)]

    def _result(self, message: Message) -> Block:
        content: str | list[Block] = self._seen(message) if message.images else message.text
        return {"type": "tool_result", "tool_use_id": self._ids.of(message.call_id), "content": content}

    def _assistant(self, message: Message) -> list[Block]:
        """The message as it came; text and arguments that the window changed since are replaced."""
        kept = message.verbatim or {}
        came: list[Block] = list(kept["content"]) if _is_ours(kept, self._info) else []
        if not self._keeps_thinking(kept):
            came = [block for block in came if block.get("type") not in _THINKING]
        self.thinking = self.thinking or any(block.get("type") in _THINKING for block in came)
        blocks = _with_text(came, message.text)
        calls = {call.id: call for call in message.calls}
        told: list[Block] = []
        for block in blocks:
            if block.get("type") != "tool_use":
                told.append(block)
            elif (call := calls.pop(str(block.get("id")), None)) is not None:
                told.append(self._call(call, block))
        return [*told, *(self._call(call, {}) for call in calls.values())]

    def _call(self, call: ToolCall, came: Block) -> Block:
        made = {"type": "tool_use", "id": self._ids.of(call.id), "name": call.name}
        return {**came, **made, "input": arguments_object(call.arguments)}

    def _keeps_thinking(self, kept: Mapping[str, Any]) -> bool:
        """Whether a message's thinking is as valid now as when it came: only its own model can read it."""
        if self._thoughts == "none" or kept.get("model") != self._info.name:
            return False
        return self._thoughts == "all" or kept.get("prefix") == self.prefix


def _is_ours(kept: Mapping[str, Any], info: ModelInfo) -> bool:
    return kept.get("dialect") == DIALECT and kept.get("provider") == info.provider


def _with_text(came: list[Block], text: str) -> list[Block]:
    """Blocks that say `text`: as they came when they do; empty ones, which no server takes back, left out."""
    texts = [str(block.get("text") or "") for block in came if block.get("type") == "text"]
    if joined(texts) == text:
        return [block for block in came if block.get("type") != "text" or str(block.get("text")).strip()]
    others = [block for block in came if block.get("type") != "text"]
    if not text.strip():
        return others
    at = next((n for n, block in enumerate(others) if block.get("type") not in _THINKING), len(others))
    return [*others[:at], _text(text), *others[at:]]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _tool(tool: ToolSpec) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _picture(image: Image, pictures: Mapping[str, bytes]) -> Block:
    """The image itself, or the text that stands for it when its bytes could not be read."""
    data = pictures.get(image.digest)
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
