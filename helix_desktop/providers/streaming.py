"""A model behind a streaming server: its events, attempts, timeouts, and what it shows of its window."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.answer_bounds import AnswerBound
from helix_desktop.domain.errors import (
    ContextWindowExceeded,
    ImagesRejected,
    InvalidModelResponse,
    ModelError,
)
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RequestState,
    RetryScheduled,
    StreamItem,
    ToolRefusal,
    ToolSpec,
)
from helix_desktop.domain.model_spec import LEAST_WINDOW, LearnedWindow, with_smaller_window
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.providers.answers import (
    UnusableAnswer,
    bounded_answer_error,
    is_written_call,
    malformed_call_error,
    missing_call_error,
)
from helix_desktop.providers.dialect import (
    VARIANT_ERROR_STATUSES,
    AnswerAssembler,
    Dialect,
    Exchange,
    StreamedError,
    cut_calls,
    is_json_object,
)
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpError, HttpResponse
from helix_desktop.providers.plain_form import PARTS, PlainForm, PlainPart, without_tools
from helix_desktop.providers.refused_images import find_refused_images
from helix_desktop.providers.refused_tools import find_refused_tool
from helix_desktop.providers.retry import RetryPolicy, RetryState, TransientError
from helix_desktop.providers.server_errors import (
    body_excerpt,
    error_for_status,
    error_in,
    extract_error_text,
    is_form_refused,
    network_error,
    status_of_error,
    with_error_codes,
)

_text = TextContext("Providers")

_Path = tuple[str | int, ...]


class SurrogateDecoder:
    """Decodes the chunks of one stream; a high surrogate at the end of a text waits for its continuation."""

    def __init__(self) -> None:
        self._waiting: dict[_Path, str] = {}

    def decode(self, text: str) -> Any:
        """Decode one chunk of JSON. Raises ValueError if it is invalid."""
        try:
            return self._decode(text)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error

    def _decode(self, text: str) -> Any:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            # json.loads accepts lone surrogates, which msgspec refuses, and NaN, which servers write.
            return self._join_halves(json.loads(text, parse_constant=lambda _: None), ())
        return self._join_halves(value, ()) if self._waiting else value

    def _join_halves(self, value: Any, path: _Path) -> Any:
        if isinstance(value, dict):
            return {key: self._join_halves(part, (*path, key)) for key, part in value.items()}
        if isinstance(value, list):
            return [self._join_halves(part, (*path, index)) for index, part in enumerate(value)]
        return self._join_text(value, path) if isinstance(value, str) else value

    def _join_text(self, text: str, path: _Path) -> str:
        text = self._waiting.pop(path, "") + text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._waiting[path] = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Bytes of one event: above all that an answer may hold of one kind, below what would hurt."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """A server sent more bytes in one event than any answer needs."""


class SseEvent(msgspec.Struct, frozen=True):
    """One event; `name` is what its `event:` field says, `is_whole` that it is JSON in place of a stream."""

    data: str
    name: str = "message"
    is_whole: bool = False


class SseParser:
    """Turns a byte stream into events by the WHATWG standard, one chunk at a time.

    `feed` and `finish` raise EventTooLarge above `max_bytes` bytes in one event.
    """

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._data: list[str] = []
        self._name = ""
        self._size = 0
        self._skip_newline = False
        self._at_start = True
        self._is_json = False  # whatever the server calls it: its first line begins as JSON does
        self.stray_text = ""
        """The first line that is not part of an event: then the server sent something else."""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Add a chunk; return the events that end in it."""
        if self._skip_newline and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_newline = False
        events: list[SseEvent] = []
        start = 0
        for end in _LINE_END.finditer(chunk):
            self._line += chunk[start : end.start()]
            start = end.end()
            self._skip_newline = end.group() == b"\r" and start == len(chunk)
            event = self._take_line()
            if event is not None:
                events.append(event)
        self._line += chunk[start:]
        self._check_size()
        return events

    def finish(self) -> list[SseEvent]:
        """Return the event left open at the end of the stream: servers forget the last empty line."""
        last = [self._take_line() if self._line or self._is_json else None, self._dispatch()]
        return [event for event in last if event is not None]

    def _take_line(self) -> SseEvent | None:
        self._check_size()
        raw = bytes(self._line)
        self._line.clear()
        if self._at_start:
            raw = raw.removeprefix(_BOM)
            self._is_json = raw.lstrip()[:1] in (b"{", b"[")
            self._at_start = not raw.strip()
        self._size += len(raw)
        if self._is_json:
            self._data.append(raw.decode("utf-8", "replace"))
            return None
        if not raw:
            return self._dispatch()
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name not in ("", "id", "retry"):
            self.stray_text = self.stray_text or raw.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> SseEvent | None:
        data = self._data
        name = self._name
        self._data = []
        self._name = ""
        self._size = 0
        return SseEvent("\n".join(data), name or "message", self._is_json) if data else None

    def _check_size(self) -> None:
        if self._size + len(self._line) > self._max_bytes:
            raise EventTooLarge(f"one event is larger than {self._max_bytes} bytes")


async def _forget(_: LearnedWindow) -> None:
    """Keep what was learned for this run only."""


class WindowLimits:
    """The window of one model at one address, shared by all that call it.

    `learned` is what an error said; None: nothing. A window below `LEAST_WINDOW` is learned from the second
    error that says one: until then only the session that was refused keeps to it. `answered` are the tokens
    of the largest input that the model has answered: a smaller window can't be true. `save` stores what is
    learned.
    """

    def __init__(
        self, learned: LearnedWindow | None = None, save: Callable[[LearnedWindow], Awaitable[None]] = _forget
    ) -> None:
        self.learned = learned
        self.answered = 0
        self._save = save
        self._is_small_said = False  # an error has said one below `LEAST_WINDOW`

    def fit(self, info: ModelInfo) -> ModelInfo:
        """Return a model with the window that was learned, where that is smaller."""
        if self.learned is None or self.learned.tokens >= info.window:
            return info
        return with_smaller_window(info, self.learned.tokens)

    async def learn(self, error: ContextWindowExceeded, info: ModelInfo, answered: int) -> None:
        """Take the window that an error says, and note in the error what was believed until then.

        Never one above the window in use, nor below an input that the model has answered.
        """
        window = self.fit(info).window
        if error.is_rate or not error.window_size:
            return
        if error.window_size < max(self.answered, answered):
            error.window_size = error.request_tokens = 0  # it speaks of something else
            return
        if error.window_size >= window:
            return
        error.believed = window
        if error.window_size < LEAST_WINDOW and not self._is_small_said:
            self._is_small_said = True
            return
        self.learned = LearnedWindow(error.window_size, error.why)
        await self._save(self.learned)


USAGE_GRACE_S = 5.0
"""Seconds to wait for the usage and the end marker once the answer has its finish reason."""

END_GRACE_S = 0.2
"""Seconds to wait for the stream's end after its end marker: a connection read to its end is used again."""

STALL_S = 1_200.0
"""Seconds in which an answer must progress: twice what the most patient server (DeepSeek) takes.

Silence has its own limit (`http.Timeouts`); this one is for servers that only keep the connection open.
"""

_DONE = "[DONE]"
_JSON_SIGNS = frozenset('{}[]"')  # of a damaged event; without any it is a text for people
_MAX_VARIANTS = 8  # maximum number of variants tried for one request


class StreamedModel:
    """A model behind a server; implements the agent's `Model`. `stall_s` is the stall timeout.

    `limits` is what its errors and answers have shown of its window, `plain_form` what they have shown of the
    form in which it takes requests.
    """

    def __init__(
        self,
        info: ModelInfo,
        endpoint: Endpoint,
        dialect: Dialect,
        retry_policy: RetryPolicy | None = None,
        stall_s: float = STALL_S,
        limits: WindowLimits | None = None,
        plain_form: PlainForm | None = None,
    ) -> None:
        self._info = info
        self._fitted_info = info
        self._plain_form = plain_form or PlainForm()
        self._limits = limits or WindowLimits()
        self._endpoint = endpoint
        self._dialect = dialect
        self._retry_policy = retry_policy or RetryPolicy()
        self._stall_s = stall_s
        self._announces_falsely = False  # answers of this server end for a call that never comes
        self._marks_ends: bool | None = None  # if this server marks the end of an answer; None: not known

    @property
    def info(self) -> ModelInfo:
        """Its name and its limits; the same object until an error shows another window."""
        fitted = self._limits.fit(self._info)
        if fitted != self._fitted_info:
            self._fitted_info = fitted
        return self._fitted_info

    @property
    def refused_tools(self) -> tuple[ToolSpec, ...]:
        return self._plain_form.refused_tools

    def wire_body(self, request: ModelRequest) -> bytes:
        """Return the JSON that `stream` would send first, with digests in place of images' bytes.

        A key or another secret of the server, where a message quotes it, is replaced by its name.
        """
        digests = {image.digest for message in request.messages for image in message.images}
        # The base64 of these bytes is the digest itself.
        stand_ins = {digest: b64decode(digest) for digest in digests}
        request = msgspec.structs.replace(request, image_data=stand_ins)
        request = without_tools(request, self._plain_form.refused_tools)
        exchange = self._dialect.exchange(request)
        exchange.left_out = self._plain_form.left_out
        body = exchange.body()
        return self._endpoint.redact(body.decode()).encode()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Yield deltas as they arrive and a `ModelResponse` last. `RetryScheduled.attempt` counts from 2.

        Raises ModelUnreachable, ModelRequestRejected, ContextWindowExceeded, InvalidModelResponse. Closing
        the iterator, or canceling the task, closes the connection.
        """
        request = without_tools(request, self._plain_form.refused_tools)
        exchange = self._dialect.exchange(request)
        search = _FormSearch(self._plain_form, exchange)
        refusals: list[_ToolRefused] = []
        retry_state = RetryState(self._retry_policy)
        variants = 0
        can_ask_again = True
        had_no_mark = False
        while True:
            try:
                variants += 1
                can_adapt = variants < _MAX_VARIANTS
                async with aclosing(self._attempt(exchange, can_adapt, request, had_no_mark)) as items:
                    async for item in items:
                        if isinstance(item, ModelResponse):
                            await search.note_answer()
                            self._plain_form.refused_tools += tuple(refusal.tool for refusal in refusals)
                            yield self._checked(_with_refusals(item, refusals), request, can_ask_again)
                        else:
                            yield item
                return
            except _RequestAdapted:
                continue
            except _ToolRefused as refusal:
                variants -= 1
                refusals.append(refusal)
                request = without_tools(request, [refusal.tool])
                exchange = self._dialect.exchange(request)
                search = _FormSearch(self._plain_form, exchange)
                continue
            except _FormRefused as refusal:
                if search.goes_plain(refusal):
                    continue
                first = search.first_refusal or refusal
                search.restore()
                if not isinstance(first.error, TransientError):
                    raise first.error from refusal
                failure = first.error
                variants -= 1
                reason = failure.reason
                wait_s = retry_state.next_wait_s(failure.retry_after_s)
                if wait_s is None:
                    raise retry_state.final_error(failure.error, failure.retry_after_s) from failure
                remedies = failure.error.remedies
            except TransientError as failure:
                variants -= 1
                had_no_mark = isinstance(failure.__cause__, _NoEndMark)
                reason = failure.reason
                wait_s = retry_state.next_wait_s(failure.retry_after_s)
                if wait_s is None:
                    raise retry_state.final_error(failure.error, failure.retry_after_s) from failure
                remedies = failure.error.remedies
            except UnusableAnswer as error:
                if not can_ask_again:
                    raise
                can_ask_again = False
                wait_s = 0.0
                remedies = error.remedies
                reason = error.what
            except ContextWindowExceeded as error:
                await self._limits.learn(error, self._info, request.answered)
                raise
            skip = asyncio.Event()
            yield RetryScheduled(
                retry_state.failures + (1 if can_ask_again else 2),
                wait_s,
                reason,
                skip.set,
                retry_state.patience_s,
                remedies,
            )
            await self._retry_policy.pause(wait_s, skip)

    async def _attempt(
        self, exchange: Exchange, can_adapt: bool, request: ModelRequest, had_no_mark: bool
    ) -> AsyncGenerator[StreamItem, None]:
        """Make one call. Raises TransientError if a retry may succeed, _RequestAdapted if a variant may.

        `had_no_mark`: the attempt before this one ended without a mark.
        """
        body = exchange.body()
        assembler = exchange.new_assembler()

        def error_of(
            status: int, text: str, headers: Mapping[str, str], *, is_streamed: bool = False
        ) -> ModelError | TransientError:
            error = error_for_status(
                self._endpoint,
                status,
                text,
                headers,
                model=self._info.name,
                now_s=self._retry_policy.wall_clock(),
                has_images=bool(request.image_data),
                is_streamed=is_streamed,
                request_bytes=len(body),
            )
            if isinstance(error, ImagesRejected):
                error.refused = find_refused_images(body, str(extract_error_text(text)), request)
            return error

        try:
            on_sent = partial(_report, request, "sent")
            async with self._endpoint.send("POST", self._dialect.path, body, on_sent) as reply:
                if reply.status != HTTPStatus.OK:
                    await _report(request, "refused")
                    text = await reply.text()
                    if can_adapt and exchange.adapt_to_error(reply.status, text):
                        raise _RequestAdapted
                    _check_tools(request, reply.status, text)
                    error = error_of(reply.status, text, reply.headers)
                    if is_form_refused(reply.status, text, error):
                        raise _FormRefused(error, text)
                    raise error
                async with aclosing(self._read_answer(reply, assembler)) as items:
                    async for item in items:
                        yield item
        except StreamedError as sent:
            if not assembler.progress:
                await _report(request, "refused")
            if can_adapt and exchange.adapt_to_error(sent.status, sent.body):
                raise _RequestAdapted from sent
            if not assembler.progress:
                _check_tools(request, sent.status, sent.body)
            error = error_of(sent.status, sent.body, {}, is_streamed=True)
            if not assembler.progress and is_form_refused(sent.status, sent.body, error):
                raise _FormRefused(error, sent.body) from sent
            raise error from sent
        except HttpError as fault:
            # After its finish reason the answer is complete, even if the connection breaks.
            if not assembler.is_complete:
                raise network_error(self._endpoint, fault) from fault
        effort = exchange.effort
        yield msgspec.structs.replace(
            self._finished_answer(assembler, had_no_mark), effort=effort.level, effort_refusal=effort.refusal
        )

    async def _read_answer(
        self, response: HttpResponse, assembler: AnswerAssembler
    ) -> AsyncGenerator[StreamItem, None]:
        decoder = SurrogateDecoder()
        async with aclosing(self._events(response, assembler)) as events:
            async for event in events:
                if event.is_whole:
                    for delta in assembler.add_full_response(self._parse_object(event, decoder, False)):
                        yield delta
                    assembler.done = True
                elif _is_done(event):
                    assembler.done = True
                elif not assembler.done:
                    chunk = self._parse_event(event, decoder, assembler)
                    for delta in assembler.add(chunk) if chunk is not None else ():
                        yield delta
                if assembler.bounds.reached:
                    return

    async def _events(
        self, response: HttpResponse, assembler: AnswerAssembler
    ) -> AsyncGenerator[SseEvent, None]:
        parser = SseParser()
        patience = StallTimer(self._stall_s, assembler)
        try:
            async with aclosing(response.chunks()) as chunks:
                while (chunk := await patience.next_chunk(chunks)) is not None:
                    for event in parser.feed(chunk):
                        for part in _parts(event):
                            yield part
            for event in parser.finish():
                for part in _parts(event):
                    if part.is_whole or _is_done(part) or is_json_object(part.data):
                        yield part
            if parser.stray_text and not assembler.progress:
                raise self._invalid_response(body_excerpt(parser.stray_text))
        except EventTooLarge as error:
            if not assembler.progress:
                raise self._invalid_response(
                    _text("It sent too much at once ({detail}).", detail=str(error))
                ) from error
            assembler.bounds.take_other(MAX_EVENT_BYTES)

    def _parse_event(
        self, event: SseEvent, decoder: SurrogateDecoder, assembler: AnswerAssembler
    ) -> Mapping[str, Any] | None:
        """Parse one event of a stream; None for a damaged one after the answer is complete."""
        try:
            return self._parse_object(event, decoder, assembler.is_complete)
        except TransientError:
            if not assembler.is_complete:
                raise
            return None

    def _parse_object(
        self, event: SseEvent, decoder: SurrogateDecoder, is_complete: bool
    ) -> Mapping[str, Any]:
        """Parse one event, or a full response, as an object. Raises StreamedError for an error.

        A damaged event is like a broken connection: nothing of the answer was used, and a retry may succeed.
        `is_complete`: the answer is, so a mere text is none of its errors.
        """
        is_error = event.name == "error"
        try:
            value = decoder.decode(event.data)
        except ValueError as fault:
            if is_error or not (is_complete or event.is_whole or _JSON_SIGNS & {*event.data}):
                raise streamed_error(event.data) from fault
            invalid = self._invalid_response(body_excerpt(event.data))
            raise (
                invalid
                if event.is_whole
                else TransientError(_text("Part of the response was damaged"), invalid)
            ) from fault
        if not isinstance(value, dict):
            raise streamed_error(value) if is_error else self._invalid_response(body_excerpt(event.data))
        if event.name != "message":
            value.setdefault("type", event.name)  # some servers say it there alone
        error = error_in(value, is_complete=is_complete) or (value if is_error else None)
        if error is not None:
            raise streamed_error(error)
        return value

    def _checked(self, answer: ModelResponse, request: ModelRequest, can_ask_again: bool) -> ModelResponse:
        """Note what an answer shows of the window. Raises UnusableAnswer if it should be asked for again."""
        if answer.usage is not None and answer.usage.input <= self._limits.fit(self._info).window:
            self._limits.answered = max(self._limits.answered, answer.usage.input)
        if answer.calls or answer.stop not in ("end", "malformed", "no-call"):
            return answer
        if is_written_call(answer.text, frozenset(tool.name for tool in request.tools)):
            return msgspec.structs.replace(answer, stop="written-call")
        if answer.stop == "malformed" and can_ask_again:
            raise malformed_call_error(self._info.provider, answer.stop)
        if answer.stop == "no-call":
            return self._without_call(answer, request, can_ask_again)
        return answer

    def _without_call(
        self, answer: ModelResponse, request: ModelRequest, can_ask_again: bool
    ) -> ModelResponse:
        """Return a text that ended for a call, or ask for it again, once for a server that always says so."""
        if not request.tools:
            return msgspec.structs.replace(answer, stop="end")
        if can_ask_again and not self._announces_falsely:
            raise missing_call_error(self._info.provider)
        self._announces_falsely = True
        return answer

    def _finished_answer(self, assembler: AnswerAssembler, had_no_mark: bool) -> ModelResponse:
        """Return the answer of a stream that was read to its end, or to a bound of ours.

        Raises TransientError if it does not say that it is whole, unless this server never says so: it said
        it of no answer, and not of the same one when asked again (`had_no_mark`). To ask on would then give
        the same for minutes.
        """
        if assembler.bounds.reached:
            return self._bounded_answer(assembler, assembler.bounds.reached)
        if assembler.is_complete:
            self._marks_ends = True
            return assembler.answer()
        if assembler.progress and (self._marks_ends is False or (self._marks_ends is None and had_no_mark)):
            with suppress(InvalidModelResponse):
                answer = assembler.answer()
                if all(is_json_object(call.arguments) for call in answer.calls):
                    self._marks_ends = False
                    is_refused = answer.stop == "refusal"  # that says more
                    return answer if is_refused else msgspec.structs.replace(answer, stop="no-end-mark")
        fault = _NoEndMark("cut", "the stream ended without its end marker")
        raise network_error(self._endpoint, fault) from (fault if assembler.progress else None)

    def _bounded_answer(self, assembler: AnswerAssembler, bound: AnswerBound) -> ModelResponse:
        """Return what came of an answer until it reached a bound. Raises InvalidModelResponse for nothing."""
        try:
            answer = assembler.answer()
        except InvalidModelResponse as error:
            raise bounded_answer_error(self._info.provider, bound) from error
        return msgspec.structs.replace(answer, stop="length", bound=bound, cut_calls=cut_calls(answer.calls))

    def _invalid_response(self, why: TranslatableText) -> InvalidModelResponse:
        return InvalidModelResponse(
            _text("Invalid response from {provider}.", provider=self._info.provider),
            self._endpoint.redact_text(why),
            _text("Check the API type and the base URL {url}: most end in /v1.", url=self._endpoint.base_url),
            remedies=("provider_settings",),
        )


def _is_done(event: SseEvent) -> bool:
    return event.data.strip().upper() == _DONE


def _parts(event: SseEvent) -> Iterator[SseEvent]:
    """Yield an event, or those that a server wrote on lines of their own without an empty one in between."""
    lines = event.data.split("\n")
    if (
        event.is_whole
        or len(lines) == 1
        or not all(line.strip().upper() == _DONE or is_json_object(line) for line in lines)
    ):
        yield event
    else:
        yield from (replace(event, data=line) for line in lines)


async def _report(request: ModelRequest, state: RequestState) -> None:
    if request.report_state is not None:
        await request.report_state(state)


class _NoEndMark(HttpError):
    """A stream ended properly, and its answer did not say that it is whole."""


class _RequestAdapted(Exception):
    """The server refused a variant of the request; there is another one."""


class _ToolRefused(Exception):
    """The server refused a tool of an MCP server; `words` is what it said."""

    def __init__(self, tool: ToolSpec, words: str) -> None:
        super().__init__(words)
        self.tool = tool
        self.words = words


def _check_tools(request: ModelRequest, status: int, body: str) -> None:
    """Raise _ToolRefused if a refusal blames the schema of a tool of an MCP server."""
    words = str(extract_error_text(body))
    tool = find_refused_tool(request.tools, with_error_codes(words, body))
    if tool is not None and (not status or status in VARIANT_ERROR_STATUSES):
        raise _ToolRefused(tool, words)


def _with_refusals(answer: ModelResponse, refusals: Sequence[_ToolRefused]) -> ModelResponse:
    named = tuple(ToolRefusal(refusal.tool.name, refusal.words) for refusal in refusals)
    return msgspec.structs.replace(answer, tool_refusals=named) if named else answer


class _FormRefused(Exception):
    """The server refused a request, perhaps for its form; `error` is what is said without another one."""

    def __init__(self, error: ModelError | TransientError, body: str) -> None:
        super().__init__(body)
        self.error = error
        self.words = str(extract_error_text(body))


class _FormSearch:
    """One request in the search for what its server refuses: a part comes back, or all that can go do.

    `first_refusal` is the refusal that made the request plain; None: none did.
    """

    def __init__(self, form: PlainForm, exchange: Exchange) -> None:
        self._form = form
        self._exchange = exchange
        self._usual = form.left_out
        exchange.left_out = self._usual
        testable = [part for part in form.suspects if self._changes_body(part)]
        self._trial = form.next_trial(testable)
        exchange.left_out = self._usual - self._trial
        plainest: frozenset[PlainPart] = frozenset(PARTS)
        self._plainer = [self._usual, plainest] if self._trial else [plainest]  # forms still to try
        self.first_refusal: _FormRefused | None = None

    def _changes_body(self, part: PlainPart) -> bool:
        """Return True if the request is another one without a part, in the form in which it is now."""
        former = self._exchange.left_out
        self._exchange.left_out = former - {part}
        with_part = self._exchange.body()
        self._exchange.left_out = former | {part}
        without_part = self._exchange.body()
        self._exchange.left_out = former
        return with_part != without_part

    def goes_plain(self, refusal: _FormRefused) -> bool:
        """Go on in a plainer form after a refusal; return False if there is none."""
        self.first_refusal = self.first_refusal or refusal
        refused_body = self._exchange.body()
        while self._plainer:
            self._exchange.left_out = self._plainer.pop(0)
            if self._exchange.body() != refused_body:
                return True
        return False

    def restore(self) -> None:
        """Go back to the usual form: the plainest one was refused, too."""
        self._exchange.left_out = self._usual
        self._trial = frozenset()

    async def note_answer(self) -> None:
        """Note what an answer shows: which part is refused, which one is not, or that one of them is."""
        if self.first_refusal is None:
            self._form.clear(self._trial)
            return

        if self._trial and self._plainer:
            await self._form.blame(self._trial, self.first_refusal.words)
        elif self._exchange.left_out == frozenset(PARTS):
            self._exchange.left_out = self._form.left_out.intersection(self._form.refused)
            self._form.suspect([part for part in PARTS if self._changes_body(part)])


class StallTimer:
    """Waits for the next bytes: briefly once the answer is complete, else until it has stalled for `stall_s`.

    `clock` returns seconds; the default is the event loop's clock.
    """

    def __init__(
        self, stall_s: float, assembler: AnswerAssembler, clock: Callable[[], float] | None = None
    ) -> None:
        self._stall_s = stall_s
        self._assembler = assembler
        self._clock = clock or asyncio.get_running_loop().time
        self._last_progress = 0
        self._last_progress_s = self._clock()

    async def next_chunk(self, chunks: AsyncGenerator[bytes, None]) -> bytes | None:
        """Return the next chunk, or None at the end. Raises HttpError if the answer has stalled."""
        try:
            async with asyncio.timeout(self.remaining_s()):
                return await anext(chunks, None)
        except TimeoutError:
            if self._assembler.is_complete:
                return None
            raise HttpError("idle", f"for {self._stall_s / 60:.0f} min") from None

    def remaining_s(self) -> float:
        if self._assembler.is_settled:
            return END_GRACE_S
        if self._assembler.is_complete:
            return USAGE_GRACE_S
        now = self._clock()
        if self._assembler.progress != self._last_progress:
            self._last_progress = self._assembler.progress
            self._last_progress_s = now
        return max(0.0, self._last_progress_s + self._stall_s - now)


def streamed_error(error: Any) -> StreamedError:
    """Return the StreamedError for an error inside an answer: an object, or only its text."""
    error = {"message": error} if isinstance(error, str) else error
    return StreamedError(status_of_error(error), msgspec.json.encode({"error": error}).decode())
