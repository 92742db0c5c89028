"""Encode a request for Anthropic Messages, with the fields that say how much a model is to think."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.domain.request_extras import merge_fields
from helix_desktop.providers.json_wire import ToolCallIds, arguments_object, encode_json, join_text_parts
from helix_desktop.providers.thinking_tags import split_thinking

EffortForm = Literal["adaptive", "budget"]
"""A level with adaptive thinking (from Claude 4.6 on), or a number of tokens for thinking (before)."""

EFFORT_REFUSED = re.compile(
    r"output_config|\beffort\b|thinking\.|budget_tokens|disabled|not support thinking|level \S+ not supported"
)
"""How errors name these fields, in lower case; gateways say 'level "minimal" not supported'."""

OLDER_FORM = re.compile(r"adaptive|effort parameter")
"""How models from before adaptive thinking refuse it: "adaptive thinking is not supported on this model".

Newer ones name it too when they refuse a budget: 'Use "thinking.type.adaptive"'.
"""

BLOCK_REQUIRED = re.compile(r"must start with a thinking block|expected .?thinking.? or")
"""What older models answer when thinking is switched on between a call and its result."""

_MIN_BUDGET, _MAX_BUDGET = 1_024, 128_000  # tokens; Anthropic, "Extended thinking"; OpenRouter's upper limit
_SHARES: Mapping[str, float] = {"minimal": 0.1, "low": 0.2, "medium": 0.5, "high": 0.8}
"""Of the largest answer, as OpenRouter takes them ("Reasoning tokens"); levels above high: 0.95."""


def effort_fields(level: SentEffort, form: EffortForm, max_thinking: int) -> dict[str, Any]:
    """Return the fields for a level; `max_thinking` is what an answer leaves for thinking, in tokens."""
    if level == "":
        return {}
    if level == "none":
        return {"thinking": {"type": "disabled"}}
    if form == "adaptive":
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
    budget = min(max(int(max_thinking * _SHARES.get(level, 0.95)), _MIN_BUDGET), _MAX_BUDGET, max_thinking)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _MIN_BUDGET else {}


DIALECT = "anthropic"
"""Marks assistant messages that are stored verbatim in this dialect."""

Block = dict[str, Any]
_Place = tuple[int, int]
"""A message, and a block in it."""

ThinkingScope = Literal["all", "bound", "none"]
"""Which thinking is sent back: all of it, only after an unchanged prefix, or none.

Newer models accept thinking only if nothing before it has changed since ("Preserved thinking", 2026).
"""

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_THINKING_TYPES = ("thinking", "redacted_thinking")
_CACHE_LIFETIMES: Mapping[bool, Mapping[str, str]] = {
    False: {"type": "ephemeral"},  # five minutes
    True: {"type": "ephemeral", "ttl": "1h"},
}


class EncodedRequest(msgspec.Struct, frozen=True):
    """An encoded request; `prefix` is a digest of everything in it that an answer depends on.

    `has_thinking` says whether it contains any thinking.
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
    keep_long: bool = False,
    effort_fields: Mapping[str, Any] | None = None,
) -> EncodedRequest:
    """Encode a request as JSON with an answer of up to `max_output_tokens`. Deterministic to the byte.

    No sampling parameters are sent. With `keep_long` breakpoints ask for an hour instead of five minutes.
    `effort_fields` say how much the model is to think.
    """
    history = _MessageEncoder(info, request.image_data, thinking_scope)
    system = [_text(item.text) for item in request.messages if item.role == "system" and item.text.strip()]
    tools = [_tool(tool) for tool in request.tools]
    history.start(system, tools)
    places: list[_Place] = []
    for count, message in enumerate(request.messages, 1):
        history.add(message)
        if request.cache is not None and count in request.cache.ends and history.messages:
            places.append(history.end)
    if breakpoints:
        places = _usual_places(history.messages) if request.cache is None else [*places, history.end]
        _set_breakpoints(system, tools, history.messages, places, _CACHE_LIFETIMES[keep_long])
    body: dict[str, Any] = {"model": info.name, "max_tokens": max_output_tokens, "stream": True}
    body |= effort_fields or {}
    if system:
        body["system"] = system
    if tools:
        body["tools"] = tools
    body["messages"] = history.messages
    body = merge_fields(body, info.extras.body)
    return EncodedRequest(encode_json(body), history.prefix, history.has_thinking)


def has_bound_thinking(message: Message, info: ModelInfo) -> bool:
    """Return True if a message's model accepts thinking only after an unchanged prefix."""
    verbatim = message.verbatim or {}
    return bool(_is_own_message(verbatim, info) and verbatim.get("bound"))


class _MessageEncoder:
    """Encodes messages, merging consecutive ones of a role, and tracks the digest of what is encoded."""

    def __init__(
        self, info: ModelInfo, image_data: Mapping[str, bytes], thinking_scope: ThinkingScope
    ) -> None:
        self._info, self._image_data, self._thinking_scope = info, image_data, thinking_scope
        self._ids = ToolCallIds(_LEGAL_ID, unique=True)
        self._digest = blake2b(digest_size=16)  # half the time of SHA-256; not used for security
        self.messages: list[dict[str, Any]] = []
        self.has_thinking = False

    @property
    def end(self) -> _Place:
        """Where the newest block stands."""
        return len(self.messages) - 1, len(self.messages[-1]["content"]) - 1 if self.messages else 0

    @property
    def prefix(self) -> str:
        """The digest of everything encoded so far."""
        return self._digest.hexdigest()

    def start(self, system: list[Block], tools: list[Block]) -> None:
        """Start with what precedes all messages."""
        self._digest.update(encode_json([self._info.name, system, tools]))

    def add(self, message: Message) -> None:
        """Append one message."""
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
        return [*text, *(_image_block(image, self._image_data) for image in message.images)]

    def _result(self, message: Message) -> Block:
        content: str | list[Block] = self._content_blocks(message) if message.images else message.text
        return {"type": "tool_result", "tool_use_id": self._ids.wire_id(message.call_id), "content": content}

    def _assistant(self, message: Message) -> list[Block]:
        """Encode the original message; replace text and arguments that the window changed since."""
        verbatim = message.verbatim or {}
        original: list[Block] = list(verbatim["content"]) if _is_own_message(verbatim, self._info) else []
        if not self._keeps_thinking(verbatim):
            original = [block for block in original if block.get("type") not in _THINKING_TYPES]
        self.has_thinking = self.has_thinking or any(
            block.get("type") in _THINKING_TYPES for block in original
        )
        blocks = _with_text(original, message.text)
        calls = {call.id: call for call in message.calls}
        encoded: list[Block] = []
        for block in blocks:
            if block.get("type") != "tool_use":
                encoded.append(block)
            elif (call := calls.pop(str(block.get("id")), None)) is not None:
                encoded.append(self._call(call, block))
        return [*encoded, *(self._call(call, {}) for call in calls.values())]

    def _call(self, call: ToolCall, original: Block) -> Block:
        fields = {"type": "tool_use", "id": self._ids.wire_id(call.id), "name": call.name}
        return {**original, **fields, "input": arguments_object(call.arguments)}

    def _keeps_thinking(self, verbatim: Mapping[str, Any]) -> bool:
        """Return True if a message's thinking is still valid: only its own model can read it."""
        if self._thinking_scope == "none" or verbatim.get("model") != self._info.name:
            return False
        return self._thinking_scope == "all" or verbatim.get("prefix") == self.prefix


def _is_own_message(verbatim: Mapping[str, Any], info: ModelInfo) -> bool:
    return verbatim.get("dialect") == DIALECT and verbatim.get("provider") == info.provider


def _with_text(blocks: list[Block], text: str) -> list[Block]:
    """Return blocks with `text`: the original ones if unchanged, without empty ones, which servers refuse."""
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    if text in (joined := join_text_parts(texts), split_thinking(joined)[0]):
        return [block for block in blocks if block.get("type") != "text" or str(block.get("text")).strip()]
    others = [block for block in blocks if block.get("type") != "text"]
    if not text.strip():
        return others
    index = next(
        (n for n, block in enumerate(others) if block.get("type") not in _THINKING_TYPES), len(others)
    )
    return [*others[:index], _text(text), *others[index:]]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _tool(tool: ToolSpec) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _image_block(image: Image, image_data: Mapping[str, bytes]) -> Block:
    """Encode an image, or its marker if its bytes could not be read."""
    data = image_data.get(image.digest)
    if data is None:
        return _text(image.marker)
    source = {"type": "base64", "media_type": image.media, "data": b64encode(data).decode()}
    return {"type": "image", "source": source}


def _usual_places(messages: list[dict[str, Any]]) -> list[_Place]:
    """Return where a request that says nothing of its layers gets breakpoints.

    After the opening messages, which a sweep leaves alone; at the end of the previous request; at the end.
    """
    assistant_indexes = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
    ends = {
        len(messages) - 1,
        *((assistant_indexes[0] - 1, assistant_indexes[-1] - 1) if assistant_indexes else ()),
    }
    return [(n, len(messages[n]["content"]) - 1) for n in ends if n >= 0 and messages[n]["role"] == "user"]


def _set_breakpoints(
    system: list[Block],
    tools: list[Block],
    messages: list[dict[str, Any]],
    places: list[_Place],
    lifetime: Mapping[str, str],
) -> None:
    """Set up to four cache breakpoints: after the system prompt with the tools before it, and at `places`."""
    for opening in (system, tools):
        if opening:
            opening[-1] = {**opening[-1], "cache_control": lifetime}
            break
    for n, at in places:
        block = messages[n]["content"][at]
        if block.get("type") not in _THINKING_TYPES:
            messages[n]["content"][at] = {**block, "cache_control": lifetime}
