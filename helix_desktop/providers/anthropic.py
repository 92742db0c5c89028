"""The Anthropic Messages dialect: requests, and answers assembled from events."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from helix_desktop.domain.answer_bounds import AnswerBounds, AnswerPart
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.errors import ContextWindowExceeded
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    StopReason,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.domain.request_extras import merge_fields
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.providers.answers import (
    ThinkingTags,
    empty_answer_error,
    missing_answer_error,
    split_thinking,
    stop_reason,
)
from helix_desktop.providers.dialect import (
    NO_ARGUMENTS,
    PART_SEPARATOR,
    VARIANT_ERROR_STATUSES,
    AnswerDelta,
    NewId,
    RequestEffort,
    ToolCallIds,
    arguments_object,
    as_count,
    as_integer,
    encode_json,
    get_object,
    image_parts,
    is_json_object,
    join_text_parts,
    named_calls,
    unwrapped_arguments,
)
from helix_desktop.providers.http import HttpError
from helix_desktop.providers.plain_form import PlainPart, plain_request
from helix_desktop.providers.repeats import StreamedArguments, StreamedText

_text = TextContext("Providers")

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

_MIN_BUDGET = 1_024  # tokens; Anthropic, "Extended thinking"
_MAX_BUDGET = 128_000  # tokens; OpenRouter's upper limit
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
    system = [
        _text_block(item.text) for item in request.messages if item.role == "system" and item.text.strip()
    ]
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


class _MessageEncoder:
    """Encodes messages, merging consecutive ones of a role, and tracks the digest of what is encoded."""

    def __init__(
        self, info: ModelInfo, image_data: Mapping[str, bytes], thinking_scope: ThinkingScope
    ) -> None:
        self._info = info
        self._image_data = image_data
        self._thinking_scope = thinking_scope
        self._ids = ToolCallIds(_LEGAL_ID, unique=True)
        self._digest = blake2b(digest_size=16)  # half the time of SHA-256; not used for security
        self.messages: list[dict[str, Any]] = []
        self.has_thinking = False

    @property
    def end(self) -> _Place:
        return len(self.messages) - 1, len(self.messages[-1]["content"]) - 1 if self.messages else 0

    @property
    def prefix(self) -> str:
        """The digest of everything encoded so far."""
        return self._digest.hexdigest()

    def start(self, system: list[Block], tools: list[Block]) -> None:
        self._digest.update(encode_json([self._info.name, system, tools]))

    def add(self, message: Message) -> None:
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
        text = [_text_block(message.text)] if message.text.strip() else []
        return [*text, *image_parts(message.images, self._image_data, _text_block, _image_block)]

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
    return [*others[:index], _text_block(text), *others[index:]]


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def _tool(tool: ToolSpec) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _image_block(media: str, data: str) -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


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


_FIELD_OF = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The block's field that a delta extends; `input_json_delta` is collected separately."""

_IDLE_EVENTS = ("ping", "message_start")
"""Events without content of an answer."""

_CACHE_FIELDS = ("cache_creation_input_tokens", "cache_read_input_tokens")
_COUNT_FIELDS = ("input_tokens", *_CACHE_FIELDS, "output_tokens")


class MessagesAssembler:
    """Assembles the events of one answer. `new_id` creates ids for calls whose server sent none.

    `verbatim_fields` are stored with the original message, for when it is sent back.
    """

    def __init__(
        self,
        provider: str,
        new_id: Callable[[], str],
        verbatim_fields: Mapping[str, Any],
        cache_lifetime_s: int = 0,
    ) -> None:
        self._provider = provider
        self._new_id = new_id
        self._verbatim_fields = verbatim_fields
        self._cache_lifetime_s = cache_lifetime_s
        self._tags = ThinkingTags()
        self._blocks: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}
        self._stored_1h: int | None = None
        self._stop = ""
        self._refusal_text = ""
        self.progress = 0
        self.done = False
        self.bounds = AnswerBounds()

    @property
    def is_complete(self) -> bool:
        return self.done or bool(self._stop)

    @property
    def is_settled(self) -> bool:
        return self.done

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        """Add one event; return the deltas to display. Raises HttpError if the message begins again."""
        kind = chunk.get("type")
        self.progress += kind not in _IDLE_EVENTS
        match kind:
            case "message_start" if self.is_complete:
                self.done = True  # another message belongs to no request of ours
            case "message_start" if self._blocks:
                raise HttpError("cut", "the message began again")
            case "message_start":
                self._count(get_object(chunk, "message").get("usage"))
            case "content_block_start":
                return self._start_block(_index(chunk, len(self._blocks)), get_object(chunk, "content_block"))
            case "content_block_delta":
                return self._add_delta(_index(chunk, len(self._blocks) - 1), get_object(chunk, "delta"))
            case "message_delta":
                self._end(get_object(chunk, "delta"))
                self._count(chunk.get("usage"))
            case "message_stop":
                self.done = True
        return []

    def add_full_response(self, response: Mapping[str, Any]) -> list[AnswerDelta]:
        content = response.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        pieces: list[AnswerDelta] = []
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                pieces += self._start_block(len(self._blocks), block)
        self._end(response)
        self._count(response.get("usage"))
        return pieces

    def answer(self) -> ModelResponse:
        if not self._blocks and not self._stop:
            raise missing_answer_error(self._provider, "content")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text, thinking = split_thinking(
            join_text_parts([block.text for block in blocks if block.kind == "text"])
        )
        uses = ((block.raw, block.arguments()) for block in blocks if block.kind == "tool_use")
        calls = named_calls(uses, "id", self._new_id)
        stop = stop_reason(self._stop, has_calls=bool(calls), has_text=bool(text.strip()))
        is_refused = stop in ("filter", "refusal")
        calls = () if is_refused else calls  # those before a refusal must not be executed
        thoughts = [block.text for block in blocks if block.kind == "thinking"]
        reasoning = join_text_parts([*thoughts, thinking])
        if not text.strip() and not calls:
            raise self._empty_error(stop, reasoning)
        return ModelResponse(
            text=text,
            calls=calls,
            reasoning=reasoning,
            usage=self._usage(),
            stop=stop,
            verbatim=None if is_refused else self._verbatim(blocks),
            cache_lifetime_s=self._lifetime_s(),
        )

    def _start_block(self, index: int, raw: Mapping[str, Any]) -> list[AnswerDelta]:
        if not isinstance(raw.get("type"), str):
            return []
        if raw["type"] == "tool_use" and not self.bounds.take_call():
            return []
        block = _Block({**raw}, self.bounds)
        first = ""
        if block.field:
            first = str(block.raw.get(block.field) or "")
            block.raw[block.field] = ""
        if isinstance(block.raw.get("input"), dict | str) and block.raw["input"]:
            whole = block.arguments()
            if self.bounds.take("arguments", whole) != whole:
                block.raw["input"] = {}
        rest = {key: value for key, value in block.raw.items() if key != "input"}
        if not self.bounds.take_other(len(encode_json(rest))):
            return []
        self._blocks[index] = block
        begins = self._begins_paragraph(block)
        return self._displayed(block, block.begin_text(first), begins=begins)

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> list[AnswerDelta]:
        block = self._blocks.get(index)
        kind = str(delta.get("type"))
        if block is None:  # a server forgot to start it
            if kind not in ("text_delta", "thinking_delta"):
                return []
            block = self._blocks[max(index, 0)] = _Block({"type": _FIELD_OF[kind]}, self.bounds)
        if kind == "input_json_delta":
            part = delta.get("partial_json") or ""
            text = part if isinstance(part, str) else encode_json(part).decode()
            block.input_json.add(text)
        elif kind == "citations_delta":
            citation = delta.get("citation")
            if self.bounds.take_other(len(encode_json(citation))):
                block.citations.append(citation)
        elif kind in _FIELD_OF:
            field = _FIELD_OF[kind]
            text = str(delta.get(field) or "")
            begins = self._begins_paragraph(block)
            text = block.text_of(field).add(text)
            if field == block.field:
                return self._displayed(block, text, begins=begins)
        return []

    def _begins_paragraph(self, block: _Block) -> bool:
        """Return True if text of a block without any follows another block of its kind."""
        others = (other for other in self._blocks.values() if other is not block and other.kind == block.kind)
        return not block.has_text and any(other.has_text for other in others)

    def _displayed(self, block: _Block, text: str, *, begins: bool) -> list[AnswerDelta]:
        if not text:
            return []
        displayed = PART_SEPARATOR + text if begins else text
        if block.kind == "text":
            return list(self._tags.add_deltas(displayed))
        return [ReasoningDelta(displayed)] if block.kind == "thinking" else []

    def _end(self, delta: Mapping[str, Any]) -> None:
        self._stop = str(delta.get("stop_reason") or self._stop)
        self._refusal_text = str(get_object(delta, "stop_details").get("explanation") or self._refusal_text)

    def _count(self, usage: Any) -> None:
        """Update the counts, which are cumulative: the newest of each is valid."""
        if isinstance(usage, dict):
            counts = {key: as_count(usage.get(key)) for key in _COUNT_FIELDS}
            self._counts.update({key: count for key, count in counts.items() if count is not None})
            for_an_hour = as_count(get_object(usage, "cache_creation").get("ephemeral_1h_input_tokens"))
            if for_an_hour is not None:
                self._stored_1h = for_an_hour

    def _usage(self) -> Usage | None:
        """Return the usage; input is the sum of uncached, cache-written and cache-read tokens."""
        fresh, stored, cached, output = (self._counts.get(key, 0) for key in _COUNT_FIELDS)
        input_tokens = fresh + stored + cached
        if not input_tokens:
            return None
        stored_1h = min(self._stored_1h or 0, stored)
        writes, reads = (key in self._counts for key in _CACHE_FIELDS)
        return Usage(input_tokens, output, cached, stored, stored_1h, reads, writes)

    def _lifetime_s(self) -> int:
        """Return the lifetime that was asked for, unless the server reports that it stored for less."""
        stored = self._counts.get("cache_creation_input_tokens", 0)
        return 0 if stored and self._stored_1h == 0 else self._cache_lifetime_s

    def _verbatim(self, blocks: list[_Block]) -> dict[str, Any]:
        content = [
            {**block.content(), "input": arguments_object(block.arguments())}
            if block.kind == "tool_use"
            else block.content()
            for block in blocks
        ]
        return {"dialect": DIALECT, "provider": self._provider, **self._verbatim_fields, "content": content}

    def _empty_error(self, stop: StopReason, reasoning: str) -> Exception:
        if self._stop == "model_context_window_exceeded":
            return ContextWindowExceeded(
                _text("The request leaves {provider} no room to answer.", provider=self._provider),
                _text("The context window was full before the first word."),
                _text("Compact the conversation, or correct the context window in Settings → Providers."),
            )
        return empty_answer_error(self._provider, stop, self._stop, self._refusal_text, reasoning=reasoning)


class _Block:
    def __init__(self, raw: dict[str, Any], bounds: AnswerBounds) -> None:
        self.raw = raw
        self._bounds = bounds
        self.kind = str(raw.get("type") or "")
        self.field = self.kind if self.kind in ("text", "thinking") else ""
        self.input_json = StreamedArguments("arguments", bounds)
        self.texts: dict[str, StreamedText] = {}  # of the fields that arrive in parts
        self.citations: list[Any] = []

    def begin_text(self, text: str) -> str:
        """Take the text that the block begins with; return what fits."""
        if not text:
            return ""
        streamed = StreamedText(self._part(self.field), self._bounds, opening=text)
        self.texts[self.field] = streamed
        return str(streamed)

    def text_of(self, field: str) -> StreamedText:
        """Return the text of a field, which begins as the block said."""
        if field not in self.texts:
            streamed = StreamedText(self._part(field), self._bounds, str(self.raw.get(field) or ""))
            self.texts[field] = streamed
        return self.texts[field]

    def _part(self, field: str) -> AnswerPart:
        if field != self.field:
            return "other"
        return "text" if self.kind == "text" else "reasoning"

    @property
    def has_text(self) -> bool:
        return bool(self.texts.get(self.field))

    @property
    def text(self) -> str:
        return str(self.texts.get(self.field) or "")

    def content(self) -> dict[str, Any]:
        """Return the block as its server would have sent it at once."""
        texts = {field: str(text) for field, text in self.texts.items()}
        whole = {**self.raw, **texts}
        if self.citations:
            whole["citations"] = [*(self.raw.get("citations") or ()), *self.citations]
        return whole

    def arguments(self) -> str:
        """Return a call's arguments as JSON text: the streamed ones, or those from the start of the block."""
        streamed = str(self.input_json)
        if streamed.strip():
            return unwrapped_arguments(streamed)
        initial = self.raw.get("input")
        if isinstance(initial, str) and is_json_object(initial):
            return initial
        return encode_json(initial).decode() if isinstance(initial, dict) else NO_ARGUMENTS


def _index(chunk: Mapping[str, Any], default: int) -> int:
    index = as_integer(chunk.get("index"))
    return default if index is None else index


MIN_ANSWER_TOKENS = 256
"""Minimum tokens for an answer: with less the window is too full to ask."""

LONG_LIFETIME_S = 3_600
"""Seconds for which the longer breakpoints hold; the others hold for 300."""

_EXCEEDS_CONTEXT = re.compile(r"max_tokens\W+exceed context limit: (\d+) \+ (\d+) > (\d+)")
_EXCEEDS_OUTPUT_LIMIT = re.compile(r"max_tokens: (\d+) > (\d+)")


class MessagesDialect:
    """Anthropic Messages as one server accepts it.

    `max_output_tokens` is the maximum of an answer in tokens; `requires_same_prefix`: thinking is refused
    after a changed prefix; `supports_breakpoints`: the server knows cache breakpoints,
    `supports_long_lifetime`: also those that hold for an hour. `effort_form` is how its model takes a level
    of effort, `effort_refusals` what the server said against levels.
    """

    path = "/messages"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info = info
        self.new_id = new_id
        self.max_output_tokens = info.output or info.reserve
        self.requires_same_prefix = False
        self.refuses_thinking = False  # also with the same prefix, of earlier answers
        self.supports_breakpoints = self.supports_long_lifetime = True
        self.effort_form: EffortForm = "adaptive"
        self.effort_refusals: dict[str, str] = {}

    def exchange(self, request: ModelRequest) -> MessagesExchange:
        return MessagesExchange(self, request)


class MessagesExchange:
    def __init__(self, dialect: MessagesDialect, request: ModelRequest) -> None:
        self._dialect = dialect
        self._request = request
        self._max_output_tokens = dialect.max_output_tokens
        bound = dialect.requires_same_prefix or any(
            _is_own_message(verbatim, dialect.info) and verbatim.get("bound")
            for verbatim in (message.verbatim or {} for message in request.messages)
        )
        self._thinking_scope: ThinkingScope = "bound" if bound else "all"
        if dialect.refuses_thinking:
            self._thinking_scope = "none"
        self._breakpoints = dialect.supports_breakpoints
        wants_long = request.cache is not None and request.cache.keep_long
        self._keep_long = wants_long and dialect.supports_long_lifetime and self._breakpoints
        self._prefix = ""
        self._sent_thinking = False
        self.effort = RequestEffort(request.effort, dialect.effort_refusals)
        self.left_out: frozenset[PlainPart] = frozenset()

    def body(self) -> bytes:
        has_thinking = "reasoning" not in self.left_out
        has_hints = "cache" not in self.left_out
        scope: ThinkingScope = self._thinking_scope if has_thinking else "none"
        level: SentEffort = self.effort.level if has_thinking else ""
        encoded = encode_request(
            self._dialect.info,
            # Messages of a role in a row are one in this dialect, whatever is left out.
            plain_request(self._request, self.left_out - {"roles"}),
            max_output_tokens=self._max_output_tokens,
            thinking_scope=scope,
            breakpoints=self._breakpoints and has_hints,
            keep_long=self._keep_long and has_hints,
            effort_fields=effort_fields(
                level, self._dialect.effort_form, self._max_output_tokens - MIN_ANSWER_TOKENS
            ),
        )
        self._prefix = encoded.prefix
        self._sent_thinking = encoded.has_thinking
        return encoded.body

    def new_assembler(self) -> MessagesAssembler:
        """Return an assembler for the answer that records what the answer's thinking is bound to."""
        verbatim_fields = {
            "model": self._dialect.info.name,
            "prefix": self._prefix,
            "bound": self._thinking_scope != "all",
        }
        lifetime_s = LONG_LIFETIME_S if self._keep_long else 0
        return MessagesAssembler(
            self._dialect.info.provider, self._dialect.new_id, verbatim_fields, lifetime_s
        )

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Lower the answer's maximum, or leave out invalid thinking or breakpoints; True if changed."""
        if status not in VARIANT_ERROR_STATUSES:
            return False
        return (
            self._reduce_max_tokens(error_text)
            or self._adapt_effort(error_text)
            or self._drop_thinking(error_text)
            or self._drop_long_lifetime(error_text)
            or self._drop_breakpoints(error_text)
        )

    def _reduce_max_tokens(self, error_text: str) -> bool:
        if (match := _EXCEEDS_CONTEXT.search(error_text)) is not None:
            input_tokens, _, window = (int(number) for number in match.groups())
            max_tokens = window - input_tokens
        elif (match := _EXCEEDS_OUTPUT_LIMIT.search(error_text)) is not None:
            max_tokens = self._dialect.max_output_tokens = int(match.group(2))
        else:
            return False
        if not MIN_ANSWER_TOKENS <= max_tokens < self._max_output_tokens:
            return False
        self._max_output_tokens = max_tokens
        return True

    def _adapt_effort(self, error_text: str) -> bool:
        """Say it in the older form, else leave it out: of this request where its history forbids it."""
        low = error_text.lower()
        if not self.effort.level:
            return False
        if BLOCK_REQUIRED.search(low):
            self.effort.level = ""
            return True
        form = self._dialect.effort_form
        if self.effort.level != "none" and OLDER_FORM.search(low):
            self._dialect.effort_form = "budget" if form == "adaptive" else "adaptive"
            if form == "adaptive":
                return True
        return self.effort.learn(error_text, EFFORT_REFUSED)

    def _drop_thinking(self, error_text: str) -> bool:
        if not self._sent_thinking or "thinking" not in error_text:
            return False
        if self._thinking_scope == "all":
            self._thinking_scope = "bound"
            self._dialect.requires_same_prefix = True
        else:
            self._thinking_scope = "none"
            self._dialect.refuses_thinking = True
        return True

    def _drop_long_lifetime(self, error_text: str) -> bool:
        if not self._keep_long or "ttl" not in error_text:
            return False
        self._keep_long = self._dialect.supports_long_lifetime = False
        return True

    def _drop_breakpoints(self, error_text: str) -> bool:
        if not self._breakpoints or "cache_control" not in error_text:
            return False
        self._breakpoints = self._dialect.supports_breakpoints = self._keep_long = False
        return True
