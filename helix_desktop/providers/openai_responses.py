"""The OpenAI Responses dialect: requests, and answers from events. Nothing is stored there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from helix_desktop.domain.answer_bounds import AnswerBounds, AnswerPart, TextBuffer, byte_size
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.domain.request_extras import merge_fields
from helix_desktop.providers.answers import (
    ThinkingTags,
    empty_answer_error,
    missing_answer_error,
    split_thinking,
    stop_reason,
)
from helix_desktop.providers.dialect import (
    BREAKPOINT,
    NO_ARGUMENTS,
    PART_SEPARATOR,
    VARIANT_ERROR_STATUSES,
    AnswerDelta,
    CacheFields,
    NewId,
    RequestEffort,
    ToolCallIds,
    arguments_text,
    as_integer,
    encode_json,
    get_object,
    image_parts,
    join_text_parts,
    named_calls,
    reported_usage,
    unwrapped_arguments,
)
from helix_desktop.providers.plain_form import PlainPart, plain_request
from helix_desktop.providers.repeats import StreamedArguments, StreamedText
from helix_desktop.providers.streaming import streamed_error

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
    send_ids: bool = True,
    cache: CacheFields | None = None,
    effort: SentEffort = "",
) -> bytes:
    """Encode a request as JSON. The same request gives the same bytes; no sampling parameters are sent.

    `include_encrypted` requests encrypted reasoning; `send_reasoning` sends earlier reasoning back,
    `send_ids` the ids and statuses of items; `cache` is what is asked of the provider's cache, `effort` the
    level of reasoning.
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
    body["input"] = history.items if send_ids else [_plain_item(item) for item in history.items]
    return encode_json(merge_fields(body, info.extras.body))


def has_reasoning(request: ModelRequest, info: ModelInfo) -> bool:
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
    content = item.get("content")
    parts = content if isinstance(content, list) else ()
    return any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts)


class _MessageEncoder:
    def __init__(self, info: ModelInfo, image_data: Mapping[str, bytes], send_reasoning: bool) -> None:
        self._info = info
        self._image_data = image_data
        self._send_reasoning = send_reasoning
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
        return [*text, *image_parts(message.images, self._image_data, _text, _image)]

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
        while encoded and encoded[-1].get("type") == "reasoning":  # refused without an item behind it
            encoded.pop()
        return encoded

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


def _plain_item(item: Item) -> Item:
    """Return an item without its id and status: nothing is stored by which a server could look for it."""
    return {key: value for key, value in _drop_id(item).items() if key != "status"}


def _drop_id(item: Item) -> Item:
    if item.get("type") == "message":
        return _assistant_message(join_text_parts(part_texts(item)))
    return {key: value for key, value in item.items() if key != "id"}


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
    content = item.get("content")
    return [content] if isinstance(content, str) else part_texts(item)


def _is_assistant_message(item: Item) -> bool:
    return item.get("type") == "message" or item.get("role") == "assistant"


def _assistant_message(text: str) -> Item:
    return {"role": "assistant", "content": text}


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _image(media: str, data: str) -> Item:
    return {"type": "input_image", "image_url": f"data:{media};base64,{data}", "detail": "auto"}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    # If omitted, `strict` counts as true, and schemas with optional parameters are refused.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


_IDLE_EVENTS = frozenset(
    {
        *("keepalive", "ping", "response.created", "response.in_progress", "response.queued"),
        *("response.failed", "error"),
    }
)
"""Events without content of an answer."""

_END_EVENTS = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)

_TEXT_DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_REASONING_DELTAS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})


class ResponsesAssembler:
    """Assembles the events of one answer. `new_id` creates ids for calls whose server sent none."""

    def __init__(
        self, provider: str, model: str, new_id: Callable[[], str], cache_lifetime_s: int = 0
    ) -> None:
        self._provider = provider
        self._model = model
        self._new_id = new_id
        self._cache_lifetime_s = cache_lifetime_s
        self._items: dict[int, _Item] = {}
        self._index_by_id: dict[str, int] = {}
        self._tags = ThinkingTags()
        self._text = TextBuffer()
        self._reasoning = TextBuffer()
        self._status = ""
        self._is_refused = False  # by a part of that kind, in an answer that is complete
        self._incomplete_reason = ""
        self._usage: Usage | None = None
        self.progress = 0
        self.done = False
        self.bounds = AnswerBounds()

    @property
    def is_complete(self) -> bool:
        return self.done or bool(self._status)

    @property
    def is_settled(self) -> bool:
        return self.is_complete

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        kind = str(chunk.get("type"))
        self.progress += kind not in _IDLE_EVENTS
        if kind in _END_EVENTS:
            return self._end(get_object(chunk, "response"), kind.removeprefix("response."))
        if kind == "response.output_item.added":
            self._begin_item(chunk, get_object(chunk, "item"))
        elif kind == "response.output_item.done":
            return self._finish_item(self._item(chunk), get_object(chunk, "item"))
        elif kind == "response.function_call_arguments.delta":
            self._item(chunk).arguments.add(str(chunk.get("delta") or ""))
        elif kind == "response.function_call_arguments.done":
            self._set_arguments(self._item(chunk), chunk.get("arguments"))
        elif kind == "response.output_text.done":
            whole = chunk.get("text")
            index = as_integer(chunk.get("content_index")) or 0
            return self._append_rest(self._item(chunk).texts, {index: whole}, self._text, TextDelta)
        elif kind in _TEXT_DELTAS:
            self._is_refused = self._is_refused or "refusal" in kind
            index = as_integer(chunk.get("content_index")) or 0
            return self._append(self._item(chunk).texts, index, chunk.get("delta"), self._text, TextDelta)
        elif kind in _REASONING_DELTAS:
            index = as_integer(chunk.get("summary_index" if "summary" in kind else "content_index")) or 0
            parts = self._item(chunk).reasoning
            return self._append(parts, index, chunk.get("delta"), self._reasoning, ReasoningDelta)
        return []

    def add_full_response(self, response: Mapping[str, Any]) -> list[AnswerDelta]:
        return self._end(response, str(response.get("status") or "completed"))

    def answer(self) -> ModelResponse:
        """Return the answer. Raises InvalidModelResponse, or ModelRequestRejected if it was filtered."""
        self._append_held()
        items = [self._items[index] for index in sorted(self._items)]
        if not items:
            raise missing_answer_error(self._provider, "output")
        stop = self._stop()
        made = ((it.raw, it.arguments_json()) for it in items if it.raw.get("type") == "function_call")
        # Those beside a refusal must not run.
        calls = () if stop == "refusal" else named_calls(made, "call_id", self._new_id)
        text, thinking = split_thinking(str(self._text))
        if not text.strip() and not calls:
            reasoning = join_text_parts([str(self._reasoning), thinking])
            raise empty_answer_error(self._provider, stop, self._incomplete_reason, reasoning=reasoning)
        return ModelResponse(
            text=text,
            calls=calls,
            reasoning=join_text_parts([str(self._reasoning), thinking]),
            usage=self._usage,
            stop="calls" if calls and stop == "end" else stop,
            verbatim={
                "dialect": DIALECT,
                "provider": self._provider,
                "model": self._model,
                "items": [item.output_item() for item in items if item.raw],
            },
            cache_lifetime_s=self._cache_lifetime_s,
        )

    def _item(self, chunk: Mapping[str, Any]) -> _Item:
        """Return the item of an event; without an index that of its id, or the newest one."""
        index = as_integer(chunk.get("output_index"))
        item_id = chunk.get("item_id") or get_object(chunk, "item").get("id")
        begins = chunk.get("type") == "response.output_item.added"
        if index is None and not begins:
            index = self._index_by_id.get(str(item_id))
        if index is None:
            index = len(self._items) if begins or not self._items else max(self._items)
        if item_id:
            self._index_by_id.setdefault(str(item_id), index)
        return self._items.setdefault(index, _Item(self.bounds))

    def _begin_item(self, chunk: Mapping[str, Any], raw: Mapping[str, Any]) -> None:
        if raw.get("type") == "function_call" and not self.bounds.take_call():
            return
        if self.bounds.take_other(len(encode_json(raw))):
            self._item(chunk).raw = dict(raw)

    def _set_arguments(self, item: _Item, whole: Any) -> None:
        """Take the whole arguments of a call, of which most came in parts before."""
        if not isinstance(whole, str) or not whole.strip():
            return
        if not whole.startswith(str(item.arguments)):
            item.arguments = StreamedArguments("arguments", self.bounds)
        item.arguments.extend_to(whole)

    def _append(
        self,
        parts: dict[int, StreamedText],
        index: int,
        delta: Any,
        emitted: TextBuffer,
        delta_type: type[TextDelta] | type[ReasoningDelta],
    ) -> list[AnswerDelta]:
        """Append to a part; two parts are displayed as paragraphs."""
        if not isinstance(delta, str) or not delta:
            return []
        pieces = [] if index in parts else self._append_held()
        part = self._part(parts, index, delta_type)
        is_new = not part
        return pieces + self._emit(part.add(delta), emitted, delta_type, is_new=is_new)

    def _part(
        self, parts: dict[int, StreamedText], index: int, delta_type: type[TextDelta] | type[ReasoningDelta]
    ) -> StreamedText:
        if index not in parts:
            kind: AnswerPart = "text" if delta_type is TextDelta else "reasoning"
            parts[index] = StreamedText(kind, self.bounds)
        return parts[index]

    def _append_held(self) -> list[AnswerDelta]:
        """Append what the parts so far hold back, as no more of them comes."""
        pieces: list[AnswerDelta] = []
        for item in self._items.values():
            for text in item.texts.values():
                pieces += self._emit(text.extend_to(str(text)), self._text, TextDelta)
            for thought in item.reasoning.values():
                pieces += self._emit(thought.extend_to(str(thought)), self._reasoning, ReasoningDelta)
        return pieces

    def _emit(
        self,
        text: str,
        emitted: TextBuffer,
        delta_type: type[TextDelta] | type[ReasoningDelta],
        *,
        is_new: bool = False,
    ) -> list[AnswerDelta]:
        """Append text of a part to the answer; `is_new`: the part had none until now."""
        if not text:
            return []
        displayed = PART_SEPARATOR + text if emitted and is_new else text
        emitted.add(displayed)
        if delta_type is TextDelta:
            return list(self._tags.add_deltas(displayed))
        return [ReasoningDelta(displayed)]

    def _finish_item(self, item: _Item, raw: Mapping[str, Any]) -> list[AnswerDelta]:
        """Complete an item; return the deltas for text that was not streamed."""
        if raw.get("type") == "function_call":
            self._set_arguments(item, raw.get("arguments"))
            raw = {**raw, "arguments": str(item.arguments)} if item.arguments else raw
        streamed = sum(byte_size(str(text)) for text in (item.arguments, *item.texts.values()))
        streamed += sum(byte_size(str(text)) for text in item.reasoning.values())
        # What is no text of it; as JSON its text is longer, by what is escaped.
        self.bounds.take_other(len(encode_json(raw)) - 2 * streamed)
        item.raw = dict(raw)
        item.is_complete = True
        if raw.get("type") == "message":
            self._is_refused = self._is_refused or has_refusal(raw)
            return self._append_rest(item.texts, dict(enumerate(part_texts(raw))), self._text, TextDelta)
        if raw.get("type") == "reasoning":
            thoughts = dict(enumerate(_reasoning_texts(raw)))
            return self._append_rest(item.reasoning, thoughts, self._reasoning, ReasoningDelta)
        return []

    def _append_rest(
        self,
        parts: dict[int, StreamedText],
        whole_texts: Mapping[int, Any],
        emitted: TextBuffer,
        delta_type: type[TextDelta] | type[ReasoningDelta],
    ) -> list[AnswerDelta]:
        """Append what is missing of parts whose whole texts came."""
        pieces: list[AnswerDelta] = []
        for index, text in whole_texts.items():
            if isinstance(text, str) and text:
                part = self._part(parts, index, delta_type)
                is_new = not part
                pieces += self._emit(part.extend_to(text), emitted, delta_type, is_new=is_new)
        return pieces

    def _end(self, response: Mapping[str, Any], status: str) -> list[AnswerDelta]:
        if status in {"failed", "cancelled"} or response.get("error"):
            raise streamed_error(response.get("error") or {"message": f"the response was {status}"})
        self.progress += 1
        self._status = status
        self._incomplete_reason = str(get_object(response, "incomplete_details").get("reason") or "")
        self._usage = _usage(response.get("usage")) or self._usage
        output = response.get("output")
        pieces: list[AnswerDelta] = []
        for index, raw in enumerate(output if isinstance(output, list) else ()):
            item = self._items.setdefault(self._known_index(raw, index), _Item(self.bounds))
            if isinstance(raw, dict) and not item.is_complete:
                pieces += self._finish_item(item, raw)
        return pieces

    def _known_index(self, raw: Any, index: int) -> int:
        """Return where an item of the whole answer was streamed, by its id; else its own index."""
        item_id = raw.get("id") if isinstance(raw, dict) else None
        return self._index_by_id.get(str(item_id), index) if item_id else index

    def _stop(self) -> StopReason:
        if self._status != "incomplete":
            return "refusal" if self._is_refused else "end"
        reason = stop_reason(self._incomplete_reason, has_calls=False)
        return "length" if reason == "end" else reason


class _Item:
    """One output item while it arrives: first as announced, then complete."""

    def __init__(self, bounds: AnswerBounds) -> None:
        self.raw: dict[str, Any] = {}
        self.is_complete = False
        self.arguments = StreamedArguments("arguments", bounds)
        self.texts: dict[int, StreamedText] = {}
        self.reasoning: dict[int, StreamedText] = {}

    def arguments_json(self) -> str:
        final = self.raw.get("arguments")
        if isinstance(final, dict):
            return msgspec.json.encode(final).decode()
        streamed = str(self.arguments) or NO_ARGUMENTS
        text = final if isinstance(final, str) and final.strip() else streamed
        return unwrapped_arguments(text)

    def output_item(self) -> dict[str, Any]:
        if self.is_complete or self.raw.get("type") != "message":
            return self.raw
        texts = map(str, self.texts.values())
        parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
        return {**self.raw, "content": parts}


def _reasoning_texts(item: Mapping[str, Any]) -> list[str]:
    """Return the texts of a reasoning item: its summary, or the reasoning itself if the server sends it."""
    for key in ("summary", "content"):
        parts = item.get(key)
        texts = (
            [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        )
        if texts:
            return [text for text in texts if isinstance(text, str)]
    return []


def _usage(reported: Any) -> Usage | None:
    """Return the reported usage; None if absent or zero, as servers without counts report zeros."""
    if not isinstance(reported, dict):
        return None
    details = get_object(reported, "input_tokens_details")
    return reported_usage(
        reported.get("input_tokens"),
        reported.get("output_tokens"),
        [details.get("cached_tokens")],
        [details.get("cache_write_tokens")],
    )


_UNSUPPORTED_WORDS = ("not supported", "unsupported")
_INCLUDE = re.compile(r"\binclude\b")
_REASONING_WORDS = ("reasoning", "encrypted", "rs_")
_EFFORT_REFUSED = re.compile(r"reasoning[ _.]?effort|(unknown|unsupported)[^.]*\breasoning['\"`]")


class ResponsesDialect:
    """OpenAI Responses as one server accepts it; `supports_encrypted_reasoning`: it can be requested.

    `refused_cache_fields` are fields for its cache that it does not know, `effort_refusals` what it said
    against levels of effort.
    """

    path = "/responses"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info = info
        self.new_id = new_id
        self.supports_encrypted_reasoning = True
        self.refuses_reasoning = False  # of earlier answers
        self.refused_cache_fields: set[str] = set()
        self.effort_refusals: dict[str, str] = {}

    def exchange(self, request: ModelRequest) -> ResponsesExchange:
        return ResponsesExchange(self, request)


class ResponsesExchange:
    def __init__(self, dialect: ResponsesDialect, request: ModelRequest) -> None:
        self._dialect = dialect
        self._request = request
        self._include_encrypted = dialect.supports_encrypted_reasoning
        self._send_reasoning = not dialect.refuses_reasoning
        self._cache = CacheFields(dialect.info, request.cache, dialect.refused_cache_fields)
        self.effort = RequestEffort(request.effort, dialect.effort_refusals)
        self.left_out: frozenset[PlainPart] = frozenset()

    def body(self) -> bytes:
        has_reasoning = "reasoning" not in self.left_out
        cache = self._cache if "cache" not in self.left_out else None
        effort: SentEffort = self.effort.level if has_reasoning else ""
        return request_body(
            self._dialect.info,
            plain_request(self._request, self.left_out),
            include_encrypted=self._include_encrypted and has_reasoning,
            send_reasoning=self._send_reasoning and has_reasoning,
            send_ids="ids" not in self.left_out,
            cache=cache,
            effort=effort,
        )

    def new_assembler(self) -> ResponsesAssembler:
        info = self._dialect.info
        return ResponsesAssembler(info.provider, info.name, self._dialect.new_id, self._cache.lifetime_s)

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Leave out refused fields or reasoning, or stop requesting it if there is none; True if changed."""
        low = error_text.lower()
        if status not in VARIANT_ERROR_STATUSES:
            return False
        if self._cache.learn(low) or self.effort.learn(error_text, _EFFORT_REFUSED):
            return True
        about_reasoning = any(word in low for word in _REASONING_WORDS)
        unknown = about_reasoning and any(word in low for word in _UNSUPPORTED_WORDS)
        if self._include_encrypted and (unknown or _INCLUDE.search(low)):
            self._include_encrypted = self._dialect.supports_encrypted_reasoning = False
            return True
        if about_reasoning and self._send_reasoning and has_reasoning(self._request, self._dialect.info):
            self._send_reasoning = False
            self._dialect.refuses_reasoning = True
            return True
        return False
