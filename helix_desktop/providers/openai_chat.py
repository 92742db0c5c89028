"""The OpenAI Chat Completions dialect: requests, and answers assembled from chunks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from helix_desktop.domain.answer_bounds import AnswerBounds
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.errors import UNNAMED_CALL
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.domain.request_extras import merge_fields
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.providers.answers import (
    ThinkingTags,
    empty_answer_error,
    missing_answer_error,
    split_thinking,
    stop_reason,
)
from helix_desktop.providers.dialect import (
    NO_ARGUMENTS,
    VARIANT_ERROR_STATUSES,
    AnswerDelta,
    CacheFields,
    NewId,
    RequestEffort,
    ToolCallIds,
    arguments_text,
    as_count,
    as_integer,
    encode_json,
    get_object,
    image_parts,
    is_json_object,
    is_repeated_call,
    reported_usage,
    unwrapped_arguments,
)
from helix_desktop.providers.plain_form import PlainPart, plain_request
from helix_desktop.providers.repeats import StreamedArguments, StreamedText, is_same_arguments
from helix_desktop.providers.streaming import streamed_error


class RequestVariant(msgspec.Struct, frozen=True):
    """How a request is encoded.

    `asks_usage`: with the field that requests usage. `sends_server_fields`: with the extra fields of the
    server's own messages. `fills_reasoning`: with empty reasoning where there is none. `signs_calls`: with a
    signature for calls that have none. `uses_short_ids`: with call ids of nine characters.
    `cuts_descriptions`: with at most 1,024 characters of a tool's description. `fills_content`: with an empty
    text in place of null.
    """

    asks_usage: bool = True
    sends_server_fields: bool = True
    fills_reasoning: bool = False
    signs_calls: bool = False
    uses_short_ids: bool = False
    cuts_descriptions: bool = False
    fills_content: bool = False


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


def _names_server_field(error_text: str) -> bool:
    return any(field in error_text for field in _SERVER_FIELDS) and any(
        word in error_text for word in _UNSUPPORTED_WORDS
    )


_REMEDIES: tuple[tuple[Callable[[str], bool], Mapping[str, bool]], ...] = (
    (lambda low: "stream_options" in low or "include_usage" in low, {"asks_usage": False}),
    # Mistral: "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."
    (lambda low: "tool call id" in low and "length of 9" in low, {"uses_short_ids": True}),
    # Azure: "Invalid 'tools[5].function.description': string too long. […] maximum length 1024".
    (lambda low: "description" in low and "1024" in low, {"cuts_descriptions": True}),
    # Gemini: "Function call is missing a thought_signature in functionCall parts."
    (lambda low: "thought_signature" in low and "missing" in low, {"signs_calls": True}),
    (
        # DeepSeek: "Missing `reasoning_content` field in the assistant message", "must be passed back".
        lambda low: "reasoning_content" in low and ("missing" in low or "must be passed" in low),
        {"fills_reasoning": True},
    ),
    (_names_server_field, {"sends_server_fields": False, "fills_reasoning": False}),
)
"""Matchers of error texts in lower case, and the changes that resolve them."""


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
        body["tools"] = [_tool(tool, variant) for tool in request.tools]
    if cache is not None:
        body |= cache.body_fields()
    if effort:
        body["reasoning_effort"] = effort
    return encode_json(merge_fields(body, info.extras.body))


def _tool(tool: ToolSpec, variant: RequestVariant) -> dict[str, Any]:
    description = ellipsize(tool.description, 1_024) if variant.cuts_descriptions else tool.description
    function = {"name": tool.name, "description": description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


class _MessageEncoder:
    def __init__(self, info: ModelInfo, image_data: Mapping[str, bytes], variant: RequestVariant) -> None:
        self._info = info
        self._image_data = image_data
        self._variant = variant
        is_short = variant.uses_short_ids
        self._ids = ToolCallIds(_NINE_CHARS, "{:.9}") if is_short else ToolCallIds(_FORTY_CHARS)

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
        parts = [_text(message.text), *image_parts(message.images, self._image_data, _text, _image)]
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
        if self._variant.fills_content and raw.get("content") is None:
            raw["content"] = ""
        sent = {call["id"]: call for call in raw.pop("tool_calls", ())}
        if message.calls:
            raw["tool_calls"] = [self._call(call, sent.get(call.id, {})) for call in message.calls]
        return raw

    def _original_message(self, message: Message) -> dict[str, Any]:
        """Return the message with the server's extra fields, unless from another provider or model."""
        verbatim = message.verbatim or {}
        is_own = verbatim.get("dialect") == DIALECT and verbatim.get("provider") == self._info.provider
        is_own = is_own and verbatim.get("model") == self._info.name
        if is_own and self._variant.sends_server_fields:
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
    return [head, *image_parts(message.images, image_data, _text, _image)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(media: str, data: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{data}"}}


_FAILED_REASONS = frozenset({"error", "network_error", "insufficient_system_resource"})
"""Finish reasons that mean that the server failed."""

_CACHED_FIELDS = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
_WRITTEN_FIELDS = ("cache_creation_input_tokens",)
"""Counts beside OpenAI's own: of DeepSeek, Moonshot and gateways to Anthropic."""

_UNSPLIT_FIELDS = frozenset({"type", "id", "role", "format", "name", "index"})
"""Fields that a server repeats in full; all other text comes in parts."""


class ChatAssembler:
    """Assembles the chunks of one answer. `new_id` creates ids for calls whose server sent none.

    `tools` are the names of the tools that the request offered.
    """

    def __init__(
        self,
        provider: str,
        new_id: Callable[[], str],
        model: str = "",
        cache_lifetime_s: int = 0,
        tools: frozenset[str] = frozenset(),
    ) -> None:
        self._provider = provider
        self._new_id = new_id
        self._model = model
        self._cache_lifetime_s = cache_lifetime_s
        self._tools = tools
        self._tags = ThinkingTags()
        self.bounds = AnswerBounds()
        self._text = StreamedText("text", self.bounds)
        self._reasoning = StreamedText("reasoning", self.bounds)
        self._reasoning_fields: dict[str, StreamedText] = {}
        self._extras = _Deltas()
        self._has_deltas = False  # parts of a message, in the field for them
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._choices = 0
        self._choice: int | None = None  # the index of the first choice, if it has one
        self._finish = ""
        self._is_refused = False  # in the field for that, whatever the finish reason
        self._usage: Usage | None = None
        self.progress = 0
        self.done = False

    @property
    def is_complete(self) -> bool:
        return self.done or bool(self._finish)

    @property
    def is_settled(self) -> bool:
        return self.done or (bool(self._finish) and self._usage is not None)

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        reported = chunk.get("usage") or get_object(chunk, "x_groq").get("usage")
        self._usage = _usage(reported, get_object(chunk, "timings")) or self._usage
        choice = self._first_choice(chunk.get("choices"))
        if choice is None:
            return []
        if choice.get("error") or str(choice.get("finish_reason")) in _FAILED_REASONS:
            raise streamed_error(choice.get("error") or choice)
        self._choices += 1
        self._usage = _usage(choice.get("usage")) or self._usage
        self._finish = str(choice.get("finish_reason") or self._finish)
        delta = choice.get("delta")
        if delta:
            self._has_deltas = True
        else:
            delta = choice.get("message") or {"content": choice.get("text")}
        if not isinstance(delta, dict):
            return []
        if self._finish and self._has_deltas and not choice.get("delta"):
            return self._add_message(dict(delta))
        return self._add_delta(dict(delta))

    def add_full_response(self, response: Mapping[str, Any]) -> list[AnswerDelta]:
        return self.add(response)

    def answer(self) -> ModelResponse:
        """Return the answer. Raises InvalidModelResponse, or ModelRequestRejected if it was filtered."""
        content = str(self._text)
        if not self._choices:
            raise missing_answer_error(self._provider, "choices")
        raw_calls = self._merged_calls()
        text, thinking = split_thinking(content)
        stop = stop_reason(self._finish, has_calls=bool(raw_calls), has_text=bool(text.strip()))
        if self._is_refused and stop != "filter":
            stop = "refusal"
            raw_calls = []  # calls beside a refusal must not run
        if not text.strip() and not raw_calls:
            reasoning = str(self._reasoning) + thinking
            raise empty_answer_error(self._provider, stop, self._finish, reasoning=reasoning)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": content or None,
            **self._extras.merged(),
        }
        for field, streamed in self._reasoning_fields.items():
            if isinstance(message.get(field), str):
                message[field] = str(streamed)
        if raw_calls:
            message["tool_calls"] = raw_calls
        return ModelResponse(
            text=text,
            calls=tuple(
                ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
                for call in raw_calls
            ),
            reasoning=str(self._reasoning) + thinking,
            usage=self._usage,
            stop=stop,
            verbatim={
                "dialect": DIALECT,
                "provider": self._provider,
                "model": self._model,
                "message": message,
            },
            cache_lifetime_s=self._cache_lifetime_s,
        )

    def _first_choice(self, choices: Any) -> Mapping[str, Any] | None:
        """Return the part of the choice that came first; nobody asked for a second one."""
        for choice in choices if isinstance(choices, list) else ():
            index = as_integer(choice.get("index")) if isinstance(choice, dict) else None
            if isinstance(choice, dict) and (index is None or self._choice in (None, index)):
                self._choice = index if self._choice is None else self._choice
                return choice
        return None

    def _add_message(self, message: dict[str, Any]) -> list[AnswerDelta]:
        """Add the message that ends a stream of deltas: what they had is in it once more."""
        known = self._extras.merged()
        pieces = _call_deltas(message)
        new_pieces = [piece for index, piece in enumerate(pieces) if not self._has_call(index, piece)]
        rest = {
            key: value
            for key, value in message.items()
            if key in _TEXT_FIELDS or key not in known or known[key] != value
        }
        return self._add_delta({**rest, "tool_calls": new_pieces}, is_message=True)

    def _has_call(self, index: int, piece: Mapping[str, Any]) -> bool:
        """Return True if the call of a message has come: that with its id, or the one at its index."""
        call_id = str(piece.get("id") or "")
        same = [call for call in self._calls if call.id == call_id] if call_id else self._calls[index:][:1]
        arguments = _arguments_text(_function(piece).get("arguments"))
        return any(
            call.name == _name(piece) and is_same_arguments(call.arguments(), arguments) for call in same
        )

    def _add_delta(self, delta: dict[str, Any], *, is_message: bool = False) -> list[AnswerDelta]:
        deltas: list[AnswerDelta] = []
        delta.pop("role", None)
        self.progress += any(delta.values())
        content = delta.pop("content", None)
        text, thinking = _text_and_thinking(content)
        refusal = _text_and_thinking(delta.pop("refusal", None))[0] or _refusal_part(content)
        self._is_refused = self._is_refused or bool(refusal.strip())
        text += refusal
        reasoning = delta.get("reasoning_content") or delta.get("reasoning") or thinking
        if isinstance(reasoning, str) and reasoning:
            reasoning = _new_text(self._reasoning, reasoning, is_message=is_message)
            deltas += [ReasoningDelta(reasoning)] if reasoning else []
        for field in _REASONING_FIELDS & delta.keys():
            if isinstance(delta[field], str):
                streamed = self._reasoning_fields.setdefault(field, StreamedText())
                _new_text(streamed, delta[field], is_message=is_message)
                delta[field] = ""  # joined there; here its place is kept
        if text:
            text = _new_text(self._text, text, is_message=is_message)
            deltas += self._tags.add_deltas(text)
        for call_delta in _call_deltas(delta):
            call = self._call_for(call_delta)
            if call is not None:
                call.add(call_delta, self.bounds)
        if delta and self.bounds.take_other(_unread_bytes(delta)):
            self._extras.add(delta)
        return deltas

    def _call_for(self, delta: Mapping[str, Any]) -> _Call | None:
        """Return the call that a delta belongs to; servers omit, repeat or cut index, id and name.

        None: it would be one too many.
        """
        index = as_integer(delta.get("index"))
        call_id = str(delta.get("id") or "")
        name = _name(delta)
        last = self._calls[-1] if self._calls else None
        target = last
        if index is not None:
            is_new = bool(call_id or name)
            target = self._by_index.get(index, None if is_new else last)
        arguments = _function(delta).get("arguments")
        if target is None or target.is_followed_by(call_id, name, arguments, self._tools):
            same = next((call for call in self._calls if call_id and call.id == call_id), None)
            if same and not same.is_followed_by("", name, arguments, self._tools):
                target = same
            elif self.bounds.take_call():
                target = _Call()
                self._calls.append(target)
            else:
                return None
            if index is not None:
                self._by_index[index] = target
        target.id = target.id or call_id
        target.extend_name(name)
        return target

    def _merged_calls(self) -> list[dict[str, Any]]:
        merged: list[dict[str, Any]] = []
        calls: list[ToolCall] = []
        for call in self._calls:
            newest = ToolCall(call.id, call.name, call.arguments())
            if call.id and is_repeated_call(calls, newest):
                continue

            is_own_id = call.id and all(call.id != former.id for former in calls)
            call_id = call.id if is_own_id else self._new_id()
            calls.append(newest)
            raw = call.deltas.merged()
            raw.pop("index", None)
            function = {
                **get_object(raw, "function"),
                "name": self._known_name(call.name) or UNNAMED_CALL,
                "arguments": unwrapped_arguments(call.arguments()) or NO_ARGUMENTS,
            }
            for moved in ("name", "arguments"):
                raw.pop(moved, None)
            merged.append({**raw, "id": call_id, "type": "function", "function": function})
        return merged

    def _known_name(self, name: str) -> str:
        """Return a name without what Kimi's template puts around it: `functions.read_file:0`."""
        inner = name.removeprefix("functions.").partition(":")[0]
        return inner if name not in self._tools and inner in self._tools else name


class _Call:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.deltas = _Deltas()  # but for their arguments
        self._arguments: StreamedArguments | None = None

    def add(self, delta: Mapping[str, Any], bounds: AnswerBounds) -> None:
        """Add a delta of the call."""
        function = _function(delta)
        if self._arguments is None:
            self._arguments = StreamedArguments("arguments", bounds)
        self._arguments.add(_arguments_text(function.get("arguments")))
        rest = {key: value for key, value in function.items() if key != "arguments"}
        if function is not delta:
            rest = {**delta, "function": rest}
        if bounds.take_other(_unread_bytes(rest)):
            self.deltas.add(rest)

    def is_followed_by(self, call_id: str, name: str, arguments: Any, tools: frozenset[str]) -> bool:
        """Return True if a delta with this id, name (empty: it has none) and arguments starts another call.

        `tools` are the names that there are: they tell whether a name came in pieces.
        """
        is_new_id = bool(call_id and self.id and call_id != self.id)
        if not name or not self.name:
            # An id of its own in every delta says nothing, as long as the arguments go on.
            begins = not isinstance(arguments, str) or arguments.lstrip().startswith("{")
            return is_new_id and bool(arguments) and begins and is_json_object(self.arguments())
        if call_id and self.id and not is_new_id:
            return False
        so_far = self.arguments()
        if name == self.name:
            if is_new_id:
                return is_json_object(so_far) or not (so_far or arguments)
            return bool(call_id) or is_json_object(so_far)
        if so_far.strip():
            return True
        return not self._continues(name, tools, is_new_id=is_new_id)

    def _continues(self, name: str, tools: frozenset[str], *, is_new_id: bool) -> bool:
        """Return True if a name goes on with the one so far, as a piece of it or grown by one."""
        if self.name in tools and name in tools:
            return False
        grown = name if name.startswith(self.name) else self.name + name
        return any(tool.startswith(grown) for tool in tools) or not (is_new_id or self.name in tools)

    def extend_name(self, name: str) -> None:
        """Take the name of a delta that belongs to this call: the first, a piece, or the same again."""
        if name.startswith(self.name):
            self.name = name
        elif name and len(self.name) < _MAX_NAME_CHARS and not self.arguments().strip() and name != self.name:
            self.name += name

    def arguments(self) -> str:
        """Return the arguments so far as text."""
        return str(self._arguments or "")


_MAX_NAME_CHARS = 1_000  # no tool has a longer one
_MAX_DELTAS = 256
_REASONING_FIELDS = frozenset({"reasoning_content", "reasoning"})
_TEXT_FIELDS = _REASONING_FIELDS | {"role", "content", "refusal"}
_READ_FIELDS = _REASONING_FIELDS | {"index", "id", "type", "role", "name"}
"""Fields of a delta that are no more than read elsewhere, or the same in each."""


class _Deltas:
    """Deltas of one object, merged some hundred at a time: a long answer has millions."""

    def __init__(self) -> None:
        self._merged: list[Mapping[str, Any]] = []
        self._newest: list[Mapping[str, Any]] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        self._newest.append(delta)
        if len(self._newest) >= _MAX_DELTAS:
            self._merged.append(_merge_deltas(self._newest))
            self._newest = []

    def merged(self) -> dict[str, Any]:
        return _merge_deltas([*self._merged, *self._newest])


def _unread_bytes(delta: Mapping[str, Any]) -> int:
    """Return the bytes of what a delta has beside what every answer has; 0 for empty fields."""
    unread = {key: value for key, value in delta.items() if value and key not in _READ_FIELDS}
    function = unread.get("function")
    if isinstance(function, dict):
        unread["function"] = {key: value for key, value in function.items() if key not in _READ_FIELDS}
    unread = {key: value for key, value in unread.items() if value}
    return len(encode_json(unread)) if unread else 0


def _merge_deltas(deltas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge deltas to one object: text is joined, list items are matched by type and index."""
    values: dict[str, list[Any]] = {}
    for delta in deltas:
        for key, value in delta.items():
            if value is not None:
                values.setdefault(key, []).append(value)
    return {key: _merge_values(key, parts) for key, parts in values.items()}


def _merge_values(key: str, values: Sequence[Any]) -> Any:
    if key in _UNSPLIT_FIELDS:
        return next((value for value in values if value != ""), "")
    if all(isinstance(value, str) for value in values):
        return "".join(values)
    if all(isinstance(value, dict) for value in values):
        return _merge_deltas(values)
    if all(isinstance(value, list) for value in values):
        return _merge_items(chain.from_iterable(values))
    return values[-1]


def _merge_items(items: Iterable[Any]) -> list[Any]:
    groups: dict[tuple[Any, Any] | int, list[Any]] = {}
    for position, item in enumerate(items):
        indexed = isinstance(item, dict) and as_integer(item.get("index")) is not None
        groups.setdefault((item.get("type"), item["index"]) if indexed else position, []).append(item)
    return [_merge_deltas(group) if isinstance(key, tuple) else group[0] for key, group in groups.items()]


def _text_and_thinking(content: Any) -> tuple[str, str]:
    """Return text and thinking of a content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content, ""
    content = [content] if isinstance(content, dict) else content
    text = ""
    thinking = ""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") in ("text", "output_text", None):
            text += str(part.get("text") or "")
        elif isinstance(part, dict) and part.get("type") == "thinking":
            thinking += _text_and_thinking(part.get("thinking"))[0]
    return text, thinking


def _refusal_part(content: Any) -> str:
    parts = content if isinstance(content, list) else ()
    refusals = [part for part in parts if isinstance(part, dict) and part.get("type") == "refusal"]
    return "".join(str(part.get("refusal") or part.get("text") or "") for part in refusals)


def _call_deltas(delta: dict[str, Any]) -> list[Mapping[str, Any]]:
    """Remove and return the tool calls of a delta; the older single `function_call` counts as the first."""
    pieces = delta.pop("tool_calls", None)
    if isinstance(pieces, dict):
        pieces = [pieces]
    elif not isinstance(pieces, list):
        pieces = []
    legacy = delta.pop("function_call", None)
    if legacy:
        pieces = [*pieces, {"index": 0, "function": legacy}]
    return [piece for piece in pieces if isinstance(piece, dict)]


def _new_text(streamed: StreamedText, text: str, *, is_message: bool) -> str:
    """Add text of a delta, or that of the message at the end; return what is new of it."""
    return streamed.add_whole(text) if is_message else streamed.add(text)


def _arguments_text(arguments: Any) -> str:
    """Return the arguments of a delta as text; some servers send them as an object."""
    if isinstance(arguments, str):
        return arguments
    return encode_json(arguments).decode() if arguments else ""


def _function(delta: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the name and the arguments of a call; some servers put them beside its id."""
    function = delta.get("function")
    return function if isinstance(function, dict) else delta


def _name(delta: Mapping[str, Any]) -> str:
    return str(_function(delta).get("name") or "")


def _usage(reported: Any, timings: Mapping[str, Any] | None = None) -> Usage | None:
    """Return the reported usage; None if absent or zero, as servers without counts report zeros.

    `timings` are llama.cpp's, whose older versions count there what they had cached.
    """
    if not isinstance(reported, dict):
        return None
    details = get_object(reported, "prompt_tokens_details")
    return reported_usage(
        reported.get("prompt_tokens"),
        _output_tokens(reported),
        [
            details.get("cached_tokens"),
            *(reported.get(name) for name in _CACHED_FIELDS),
            (timings or {}).get("cache_n"),
        ],
        [details.get("cache_write_tokens"), *(reported.get(name) for name in _WRITTEN_FIELDS)],
    )


def _output_tokens(reported: Mapping[str, Any]) -> Any:
    """Return the reported tokens of an answer with its reasoning, which xAI counts beside it, not in it."""
    prompt = reported.get("prompt_tokens")
    output = reported.get("completion_tokens")
    reasoning = get_object(reported, "completion_tokens_details").get("reasoning_tokens")
    prompt = as_count(prompt)
    output = as_count(output)
    reasoning = as_count(reasoning)
    if prompt is None or output is None or reasoning is None:
        return output
    is_added = as_integer(reported.get("total_tokens")) == prompt + output + reasoning
    return output + reasoning if is_added else output


_EFFORT_REFUSED = re.compile(
    r"reasoning[ _.]?effort|thinking[ _](level|budget|mode)|not support (thinking|reasoning)|thinking is not"
    r"|reasoning (value|is (mandatory|required|not))|level \S+ not supported"
)
"""How errors name it: OpenAI, Mistral, Groq; xAI ("reasoningEffort"); Gemini; Ollama; OpenRouter."""


class ChatDialect:
    """Chat Completions as one server accepts it: `variant` is the one it has accepted.

    That is learned from refusals, never from the server's name. `refused_cache_fields` are fields for its
    cache that it does not know, `effort_refusals` what it said against levels of effort.
    """

    path = "/chat/completions"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info = info
        self.new_id = new_id
        self.variant = DEFAULT_VARIANT
        self.refused_cache_fields: set[str] = set()
        self.effort_refusals: dict[str, str] = {}

    def exchange(self, request: ModelRequest) -> ChatExchange:
        return ChatExchange(self, request)


class ChatExchange:
    def __init__(self, dialect: ChatDialect, request: ModelRequest) -> None:
        self._dialect = dialect
        self._request = request
        self._variant = dialect.variant
        self._cache = CacheFields(dialect.info, request.cache, dialect.refused_cache_fields)
        self.effort = RequestEffort(request.effort, dialect.effort_refusals)
        self.left_out: frozenset[PlainPart] = frozenset()

    def body(self) -> bytes:
        has_reasoning = "reasoning" not in self.left_out
        variant = msgspec.structs.replace(
            self._variant,
            asks_usage=self._variant.asks_usage and "usage" not in self.left_out,
            sends_server_fields=self._variant.sends_server_fields and has_reasoning,
            fills_content="null" in self.left_out,
        )
        cache = self._cache if "cache" not in self.left_out else None
        effort: SentEffort = self.effort.level if has_reasoning else ""
        request = plain_request(self._request, self.left_out)
        return request_body(self._dialect.info, request, variant, cache, effort)

    def new_assembler(self) -> ChatAssembler:
        info = self._dialect.info
        tools = frozenset(tool.name for tool in self._request.tools)
        return ChatAssembler(info.provider, self._dialect.new_id, info.name, self._cache.lifetime_s, tools)

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Leave out a refused field, or switch to the variant that an error asks for; True if changed."""
        if status not in VARIANT_ERROR_STATUSES:
            return False
        low = error_text.lower()
        if self._cache.learn(low) or self.effort.learn(error_text, _EFFORT_REFUSED):
            return True
        for matches, changes in _REMEDIES:
            variant = msgspec.structs.replace(self._variant, **changes)
            if variant != self._variant and matches(low):
                self._variant = self._dialect.variant = variant
                return True
        return False
