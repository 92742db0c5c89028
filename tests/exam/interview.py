"""One question, asked in a conversation of its own, with the real recall tools or without."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from helix_desktop.agent.model_roles import stream_with_retry_limit
from helix_desktop.agent.ports import Model, Tools
from helix_desktop.context.window.window import NO_OUTPUT
from helix_desktop.domain.cost import call_cost
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import (
    CacheHints,
    Message,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    TextDelta,
    ToolCall,
    Usage,
)
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.exam.prompts import NO_ROOM, OUT_OF_CALLS

MAX_CALLS = 8
"""Maximum number of tool calls for a question. One more is refused; then the answer counts as it is."""
MAX_ANSWER_CHARS = 8_000
"""An answer that grows beyond this ends there."""
_KEY_DIGITS = 16


class ExamCall(msgspec.Struct, frozen=True):
    """A tool call that was answered; `tokens` is the size of its output."""

    name: str
    arguments: str
    tokens: int


class ExamAnswer(msgspec.Struct, frozen=True):
    """An answer, the calls that it took, and what all its requests used; `cost` is in US dollars."""

    text: str
    calls: tuple[ExamCall, ...] = ()
    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


def request_tokens(request: ModelRequest, counter: MessageTokenCounter) -> int:
    schemas = sum(counter.text_tokens(msgspec.json.encode(tool).decode()) for tool in request.tools)
    return schemas + sum(map(counter.message_tokens, request.messages))


class Interview:
    """One conversation about one question."""

    def __init__(
        self, model: Model, messages: Sequence[Message], tools: Tools | None, counter: MessageTokenCounter
    ) -> None:
        """`messages` end with the question; without `tools` the answer comes from them alone."""
        self._model, self._tools, self._counter = model, tools, counter
        self._messages = list(messages)
        self._specs = tools.specs if tools else ()
        self._calls: list[ExamCall] = []
        self._usages: list[Usage] = []
        self._prefix_length = len(self._messages) - 1
        self._cache_key = _cache_key(self._messages[:-1])
        self._calls_refused = False

    async def run(self) -> ExamAnswer:
        """Return the answer. Raises ModelError."""
        while True:
            may_call = self._tools is not None and not self._calls_refused
            response = await self._respond()
            if not (response.calls and may_call):
                return self._answer(response.text)
            self._messages.append(
                Message("assistant", response.text, response.calls, verbatim=response.verbatim)
            )
            for call in response.calls:
                output = await self._output(call)
                self._messages.append(Message("tool", output, call_id=call.id, name=call.name))

    def _answer(self, text: str) -> ExamAnswer:
        return ExamAnswer(
            text,
            tuple(self._calls),
            requests=len(self._usages),
            input_tokens=sum(usage.input for usage in self._usages),
            cached_tokens=sum(usage.cached for usage in self._usages),
            output_tokens=sum(usage.output for usage in self._usages),
            cost=sum(call_cost(self._model.info, usage) for usage in self._usages),
        )

    async def _respond(self) -> ModelResponse:
        # All questions about a window begin alike: what the provider has cached of it is paid for once.
        hints = CacheHints(self._cache_key, (self._prefix_length, len(self._messages)))
        request = ModelRequest(tuple(self._messages), self._specs, cache=hints)
        response = await self._stream(request)
        usage = response.usage
        if usage is None or usage.input <= 0:
            answer = Message("assistant", response.text, response.calls)
            usage = Usage(request_tokens(request, self._counter), self._counter.message_tokens(answer))
        self._usages.append(usage)
        return response

    async def _stream(self, request: ModelRequest) -> ModelResponse:
        text = ""
        async with aclosing(stream_with_retry_limit(self._model, request)) as items:
            async for item in items:
                match item:
                    case ModelResponse():
                        return item
                    case RetryScheduled():
                        text = ""
                    case TextDelta(text=piece):
                        text += piece
                        if len(text) > MAX_ANSWER_CHARS:
                            break
        return ModelResponse(text, stop="length")

    async def _output(self, call: ToolCall) -> str:
        if len(self._calls) >= MAX_CALLS:
            self._calls_refused = True
            return OUT_OF_CALLS.format(limit=MAX_CALLS)
        text = await self._run_tool(call)
        tokens = self._counter.text_tokens(text)
        self._calls.append(ExamCall(call.name, call.arguments, tokens))
        info = self._model.info
        used = request_tokens(ModelRequest(tuple(self._messages), self._specs), self._counter)
        if used + tokens + info.reserve > info.window:
            return NO_ROOM.format(tokens=tokens)
        return text

    async def _run_tool(self, call: ToolCall) -> str:
        assert self._tools is not None  # without tools no call is answered
        try:
            result = await self._tools.run(call)
        except ToolError as error:
            return str(error)
        return result.model_text or result.content.decode("utf-8", "replace") or NO_OUTPUT


def _cache_key(messages: Sequence[Message]) -> str:
    return digest_of("\n".join(message.text for message in messages).encode("utf-8", "replace"))[:_KEY_DIGITS]
