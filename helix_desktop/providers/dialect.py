"""What the dialects share: their interface, what a server refused of a request, and JSON on the wire."""

from __future__ import annotations

import json
import re
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from helix_desktop.domain.answer_bounds import AnswerBounds
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.errors import UNNAMED_CALL
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import (
    CacheHints,
    EffortRefusal,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from helix_desktop.providers.plain_form import PlainPart
from helix_desktop.providers.repeats import is_same_arguments, single_arguments
from helix_desktop.providers.server_errors import extract_error_text


class RequestEffort:
    """The level that one request asks for; `refusals` holds what the server said against levels, for all.

    `level` is empty where nothing is sent.
    """

    def __init__(self, level: SentEffort, refusals: dict[str, str]) -> None:
        self._requested = level
        self._refusals = refusals
        self.level: SentEffort = "" if level in refusals else level

    @property
    def refusal(self) -> EffortRefusal | None:
        """What the server said against the level; None if it did not refuse it."""
        reason = self._refusals.get(self._requested)
        return EffortRefusal(self._requested, reason) if reason is not None else None

    def learn(self, error_text: str, field_pattern: re.Pattern[str]) -> bool:
        """Leave the level out from now on if an error names its field; return True if it does.

        `field_pattern` finds the field in a text in lower case.
        """
        if not self.level or field_pattern.search(error_text.lower()) is None:
            return False
        self._refusals[self.level] = str(extract_error_text(error_text))
        self.level = ""
        return True


KEY = "prompt_cache_key"
RETENTION = "prompt_cache_retention"
BREAKPOINT = "prompt_cache_breakpoint"
CONTROL = "cache_control"
"""What gateways take over for Anthropic's models, which store nothing without being asked."""

_DAY_S = 86_400  # how long OpenAI stores with "24h"
_HOUR_S = 3_600  # how long Anthropic stores with "1h"
_HALF_HOUR_S = 1_800  # how long OpenAI stores from GPT-5.6 on


class CacheFields:
    """The cache fields of one request; `refused` holds what the server refuses, for all requests.

    Models whose writes have a price take breakpoints and no retention: OpenAI's from GPT-5.6 on.
    """

    def __init__(self, info: ModelInfo, hints: CacheHints | None, refused: set[str]) -> None:
        self._hints = hints or CacheHints()
        self._refused = refused
        self._has_paid_writes = bool(info.price_cache_write)
        self._is_anthropic = "claude" in info.name.lower()

    def body_fields(self) -> dict[str, Any]:
        values: dict[str, Any] = {KEY: self._hints.key}
        if self._is_anthropic and self._hints.key:
            long = {"ttl": "1h"} if self._hints.keep_long else {}
            values[CONTROL] = {"type": "ephemeral", **long}
        elif self._hints.keep_long and not self._has_paid_writes:
            values[RETENTION] = "24h"
        return {name: value for name, value in values.items() if value and name not in self._refused}

    @property
    def ends(self) -> Set[int]:
        """Return after how many messages a breakpoint is set."""
        takes = self._has_paid_writes and not self._is_anthropic and BREAKPOINT not in self._refused
        return frozenset(self._hints.ends if takes else ())

    @property
    def lifetime_s(self) -> int:
        """Return for how many seconds the server stores what the request begins with; 0: its default."""
        fields = self.body_fields()
        if RETENTION in fields:
            return _DAY_S
        if CONTROL in fields and self._hints.keep_long:
            return _HOUR_S
        return _HALF_HOUR_S if self.ends else 0

    def learn(self, error_text: str) -> bool:
        """Leave out a field that an error names; return True if that changes the request."""
        sent = [*self.body_fields(), *([BREAKPOINT] if self.ends else [])]
        refused = [name for name in sent if name in error_text]
        self._refused.update(refused)
        return bool(refused)


VARIANT_ERROR_STATUSES = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.INTERNAL_SERVER_ERROR,
    }
)
"""Statuses by which servers refuse the form of a request; another variant may succeed."""

NewId = Callable[[], str]
"""Creates the id of a tool call whose server sent none."""

AnswerDelta = TextDelta | ReasoningDelta
"""A part of an answer, displayed while it arrives."""


class StreamedError(Exception):
    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status = status
        self.body = body


class AnswerAssembler(Protocol):
    """Assembles the chunks of one answer.

    `progress` grows with every chunk that has content, not when a server only keeps the connection open.
    `done` is set when the server has sent its end marker. Once one of its `bounds` is reached, it takes no
    more.
    """

    progress: int
    done: bool
    bounds: AnswerBounds

    @property
    def is_complete(self) -> bool:
        """True once the server has reported the end of the answer."""
        ...

    @property
    def is_settled(self) -> bool:
        """True once nothing of interest is still to come."""
        ...

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        """Add one chunk; return the deltas to display. Raises StreamedError, or HttpError if it broke off."""
        ...

    def add_full_response(self, response: Mapping[str, Any]) -> list[AnswerDelta]:
        """Add a response that was not streamed. Raises StreamedError."""
        ...

    def answer(self) -> ModelResponse:
        """Return the answer. Raises InvalidModelResponse, ModelRequestRejected, ContextWindowExceeded."""
        ...


class Exchange(Protocol):
    """One request in a dialect, for all its attempts; `effort` is the level that it asks for.

    `left_out` are parts of the usual form that it goes without.
    """

    effort: RequestEffort
    left_out: frozenset[PlainPart]

    def body(self) -> bytes:
        """Return the request as JSON, in its current variant."""
        ...

    def new_assembler(self) -> AnswerAssembler: ...

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Adapt to an error; return True if the body has changed and is worth sending at once."""
        ...


class Dialect(Protocol):
    """One API of model servers; what it learns about its server applies to all later requests."""

    @property
    def path(self) -> str: ...

    def exchange(self, request: ModelRequest) -> Exchange: ...


def new_call_id() -> str:
    """Create an id for a tool call whose server sent none."""
    return f"call_{uuid.uuid4().hex[:24]}"


_MAX_DIGITS = 15
_MOST_TOKENS = 10**9  # of a request or an answer: more is an error of the server
PART_SEPARATOR = "\n\n"
"""The separator between parts of a text when they are joined."""


def encode_json(value: Any) -> bytes:
    """Encode a value as JSON; the same value gives the same bytes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # A file name that is not UTF-8 contains lone surrogates; no server could read them.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def as_integer(value: Any) -> int | None:
    """Return a whole number that a server may have written as text or with a fraction of 0, else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def as_count(value: Any) -> int | None:
    """Return a number of tokens in a server's reply; None for what can't be one, as a negative number."""
    count = as_integer(value)
    return count if count is not None and 0 <= count <= _MOST_TOKENS else None


def is_json_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def cut_calls(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """Return the ids of calls whose arguments have not all come, of an answer that was ended early."""
    last = calls[-1].id if calls else ""
    return tuple(
        call.id
        for call in calls
        if not is_json_object(call.arguments) or (call.id == last and call.arguments == NO_ARGUMENTS)
    )


NO_ARGUMENTS = "{}"
"""The arguments of a call for which its server sent none."""


def unwrapped_arguments(text: str) -> str:
    """Return the arguments of a call without what some servers add: a second encoding, or values beside."""
    return text if is_json_object(text) else single_arguments(text) or text


def arguments_text(text: str) -> str:
    """Return arguments that a server can parse: several refuse a whole request over one malformed call."""
    if is_json_object(text):
        return text
    # JSON cannot carry lone surrogates.
    return msgspec.json.encode({"malformed": text.encode("utf-8", "replace").decode()}).decode()


def arguments_object(text: str) -> dict[str, Any]:
    """Return the arguments as an object; an empty one if there are none."""
    args: dict[str, Any] = msgspec.json.decode(arguments_text(text)) if text.strip() else {}
    return args


def image_parts(
    images: Iterable[Image],
    image_data: Mapping[str, bytes],
    text_part: Callable[[str], dict[str, Any]],
    image_part: Callable[[str, str], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield images by their media types and bytes in Base64, or their markers if no bytes could be read."""
    for image in images:
        data = image_data.get(image.digest)
        if data is None:
            yield text_part(image.marker)
        else:
            yield image_part(image.media, b64encode(data).decode())


def join_text_parts(texts: Sequence[str]) -> str:
    return PART_SEPARATOR.join(text for text in texts if text)


def get_object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    item = value.get(key)
    return item if isinstance(item, dict) else {}


def reported_usage(
    input_tokens: Any, output_tokens: Any, cached: Sequence[Any], cache_writes: Sequence[Any]
) -> Usage | None:
    """Return the usage of counts in a server's reply; None if absent or zero, as servers without counts do.

    `cached` and `cache_writes` hold what stands where servers report them: the first count is valid.
    """
    input_tokens = as_count(input_tokens)
    output = as_count(output_tokens) or 0
    if not input_tokens:
        return None
    hits = _counts(cached)
    writes = _counts(cache_writes)
    hit = min(hits[0], input_tokens) if hits else 0
    stored = min(writes[0], input_tokens - hit) if writes else 0
    return Usage(input_tokens, output, hit, stored, reports_cache=bool(hits), reports_writes=bool(writes))


def _counts(values: Sequence[Any]) -> list[int]:
    return [count for value in values if (count := as_count(value)) is not None]


def named_calls(
    raws: Iterable[tuple[dict[str, Any], str]], id_field: str, new_id: Callable[[], str]
) -> tuple[ToolCall, ...]:
    """Return calls of an answer, each with its arguments; one without a name or an id of its own gets one.

    A call that comes again with its id counts once.
    """
    calls: list[ToolCall] = []
    for raw, arguments in raws:
        name = str(raw.get("name") or UNNAMED_CALL)
        raw["name"] = name
        call_id = str(raw.get(id_field) or "")
        if call_id and is_repeated_call(calls, ToolCall(call_id, name, arguments)):
            continue

        if not call_id or any(call.id == call_id for call in calls):
            call_id = raw[id_field] = new_id()
        calls.append(ToolCall(call_id, name, arguments))
    return tuple(calls)


def is_repeated_call(calls: Iterable[ToolCall], newest: ToolCall) -> bool:
    """Return True if one of the calls has the same id, name and arguments."""
    return any(
        call.id == newest.id
        and call.name == newest.name
        and is_same_arguments(call.arguments, newest.arguments)
        for call in calls
    )


class ToolCallIds:
    """Maps the calls of one request to ids that its dialect accepts; deterministic per request.

    Legal ids stay unchanged; others become `new_id` with digits of their hash. `unique`: the dialect requires
    each id only once in the whole request.
    """

    def __init__(
        self, pattern: re.Pattern[str], new_id: str = "call_{:.24}", *, unique: bool = False
    ) -> None:
        self._pattern = pattern
        self._new_id = new_id
        self._unique = unique
        self._used: set[str] = set()
        self._newest: dict[str, str] = {}

    def register(self, ids: Iterable[str]) -> None:
        self._newest = {call_id: self._unused_id(call_id) for call_id in ids}

    def wire_id(self, call_id: str) -> str:
        """Return the id to send for a call of the newest message with calls, and for its answer."""
        return self._newest.get(call_id) or self._unused_id(call_id)

    def _unused_id(self, call_id: str) -> str:
        candidate = call_id if self._pattern.fullmatch(call_id) else self._make_id(call_id)
        attempt = 1
        while self._unique and candidate in self._used:
            attempt += 1
            candidate = self._make_id(f"{call_id} {attempt}")
        self._used.add(candidate)
        return candidate

    def _make_id(self, call_id: str) -> str:
        return self._new_id.format(sha256(call_id.encode("utf-8", "replace")).hexdigest())
