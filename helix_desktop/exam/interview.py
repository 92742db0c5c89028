"""One question, asked in a conversation of its own, with the real recall tools or without."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from helix_desktop.agent.models.completion import stream_with_retry_limit
from helix_desktop.agent.ports import Model, Tools
from helix_desktop.context.window.window import NO_OUTPUT
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    TextDelta,
    ToolCall,
    Usage,
)
from helix_desktop.exam.prompts import NO_ROOM, OUT_OF_CALLS
from helix_desktop.replay.message_tokens import MessageTokenCounter

MAX_CALLS = 8
"""Maximum number of tool calls for a question. One more is refused; then the answer counts as it is."""
MAX_ANSWER_CHARS = 8_000
"""An answer that grows beyond this ends there."""


class ExamCall(msgspec.Struct, frozen=True):
    """A tool call that was answered; `tokens` is the size of its output."""

    name: str
    arguments: str
    tokens: int


class Answer(msgspec.Struct, frozen=True):
    """An answer, the calls that it took, and the tokens of all its requests."""

    text: str
    calls: tuple[ExamCall, ...] = ()
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def request_tokens(request: ModelRequest, tokens: MessageTokenCounter) -> int:
    """Return the tokens of a request by our count, with its tools."""
    schemas = sum(tokens.text_tokens(msgspec.json.encode(tool).decode()) for tool in request.tools)
    return schemas + sum(map(tokens.message_tokens, request.messages))


class Interview:
    """One conversation about one question."""

    def __init__(
        self, model: Model, messages: Sequence[Message], tools: Tools | None, tokens: MessageTokenCounter
    ) -> None:
        """`messages` end with the question; without `tools` the answer comes from them alone."""
        self._model, self._tools, self._tokens = model, tools, tokens
        self._messages = list(messages)
        self._specs = tools.specs if tools else ()
        self._calls: list[ExamCall] = []
        self._requests = self._input_tokens = self._output_tokens = 0
        self._calls_refused = False

    async def run(self) -> Answer:
        """Return the answer. Raises ModelError."""
        while True:
            may_call = self._tools is not None and not self._calls_refused
            response = await self._respond()
            if not (response.calls and may_call):
                return Answer(
                    response.text,
                    tuple(self._calls),
                    self._requests,
                    self._input_tokens,
                    self._output_tokens,
                )
            self._messages.append(
                Message("assistant", response.text, response.calls, verbatim=response.verbatim)
            )
            for call in response.calls:
                output = await self._output(call)
                self._messages.append(Message("tool", output, call_id=call.id, name=call.name))

    async def _respond(self) -> ModelResponse:
        request = ModelRequest(tuple(self._messages), self._specs)
        response = await self._stream(request)
        usage = response.usage
        if usage is None or usage.input <= 0:
            answer = Message("assistant", response.text, response.calls)
            usage = Usage(request_tokens(request, self._tokens), self._tokens.message_tokens(answer))
        self._requests += 1
        self._input_tokens += usage.input
        self._output_tokens += usage.output
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
        tokens = self._tokens.text_tokens(text)
        self._calls.append(ExamCall(call.name, call.arguments, tokens))
        info = self._model.info
        used = request_tokens(ModelRequest(tuple(self._messages), self._specs), self._tokens)
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
