"""Single model calls outside the conversation: not shown while streaming, and not recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports.model import Model, TokenCounter
from helix_desktop.domain.cost import Spending, call_spending
from helix_desktop.domain.errors import InvalidModelResponse, ModelUnreachable
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RequestState,
    RetryScheduled,
    StreamItem,
    TextDelta,
    Usage,
)
from helix_desktop.domain.translatable_text import TextContext, verbatim

_text = TextContext("Agent")

_MAX_ATTEMPTS = 4
_MAX_WAIT_S = 60.0


class CallMeter:
    """Adds up what the attempts of one call spent: as the provider reported it, else by our count.

    An attempt that was canceled or broke off counts once its server has the request, which it may bill.
    `input_tokens` are those of the request, as the model counts them; `cached_tokens` of these the provider
    should have in its cache.
    """

    def __init__(self, info: ModelInfo, input_tokens: int, cached_tokens: int = 0) -> None:
        self._info, self.input_tokens, self._cached_tokens = info, input_tokens, cached_tokens
        self._reported, self._unreported = Spending(), list[str]()
        self._text, self._is_sent = "", False

    async def on_request_state(self, state: RequestState) -> None:
        """Begin an attempt, or forget one that the server refused."""
        self._text, self._is_sent = "", state == "sent"

    def add(self, item: StreamItem) -> None:
        """Count what comes of an answer."""
        match item:
            case TextDelta(text=text) | ReasoningDelta(text=text):
                self._text, self._is_sent = self._text + text, True
            case RetryScheduled():
                self.end_attempt()
            case ModelResponse(usage=usage) if usage is not None and usage.input > 0:
                self._reported += call_spending(self._info, usage)
                self._text, self._is_sent = "", False
            case ModelResponse(text=text):
                self._text, self._is_sent = text, True
                self.end_attempt()

    def end_attempt(self) -> None:
        """Count an attempt that no report came for, if one is open."""
        if self._is_sent:
            self._unreported.append(self._text)
        self._text, self._is_sent = "", False

    @property
    def needs_input_tokens(self) -> bool:
        """Whether some attempt counts by `input_tokens`, and these are not known."""
        return bool(self._unreported) and not self.input_tokens

    async def spent(self, counter: TokenCounter) -> Spending:
        """Return what was spent so far."""
        spent = self._reported
        for output_tokens in await counter.count(self._unreported):
            usage = Usage(self.input_tokens, output_tokens, self._cached_tokens)
            spent += msgspec.structs.replace(call_spending(self._info, usage, estimated=True), cached=0)
        return spent


async def stream_with_retry_limit(
    model: Model, request: ModelRequest, meter: CallMeter | None = None
) -> AsyncGenerator[StreamItem, None]:
    """Stream an answer that background work can do without: after a few attempts give up.

    The model thinks as much as is set for such work; in a request that begins as the conversation does, as
    much as there, or the provider would not find what it has stored. Raises ModelError.
    """
    if request.cache is None:
        effort = model.info.fit_effort(model.info.background_effort)
        request = msgspec.structs.replace(request, effort=effort)
    meter = meter or CallMeter(model.info, 0)
    request = msgspec.structs.replace(request, report_state=meter.on_request_state)
    try:
        async with aclosing(_stream_limited(model, request)) as items:
            async for item in items:
                meter.add(item)
                yield item
    finally:
        meter.end_attempt()


async def _stream_limited(model: Model, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
    async with aclosing(model.stream(request)) as items:
        async for item in items:
            if isinstance(item, RetryScheduled) and (
                item.attempt > _MAX_ATTEMPTS or item.wait_s > _MAX_WAIT_S
            ):
                raise ModelUnreachable(
                    _text("{model} couldn't answer.", model=model.info.label), verbatim(item.reason)
                )
            yield item


class CallBill:
    """Adds up what several calls spent, those too that failed or were canceled; `spent` is the total.

    `model` is the label of the model that was called last.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter, self.spent, self.model = counter, Spending(), ""

    async def add(self, meter: CallMeter, request: ModelRequest) -> None:
        """Add what a call with that request spent."""
        if meter.needs_input_tokens:
            texts = [
                part
                for message in request.messages
                for part in (message.text, *(call.arguments for call in message.calls))
            ]
            meter.input_tokens = sum(await self._counter.count(texts))
        spent = await meter.spent(self._counter)  # other calls may be added meanwhile
        self.spent += spent


async def complete(
    model: Model, request: ModelRequest, bill: CallBill, tokens: int = 0, cached_tokens: int = 0
) -> str:
    """Return the model's answer, and add its cost to the bill.

    `tokens` are those of the request (0: not counted yet), of which the provider should have `cached_tokens`.
    Raises ModelError, also for an empty answer.
    """
    meter, bill.model = CallMeter(model.info, tokens, cached_tokens), model.info.label
    try:
        async with aclosing(stream_with_retry_limit(model, request, meter)) as items:
            async for item in items:
                if isinstance(item, ModelResponse) and item.text.strip():
                    return item.text
    finally:
        await bill.add(meter, request)
    raise InvalidModelResponse(
        _text("Empty response from the model."),
        _text("{model} sent no text.", model=model.info.label),
        _text("Try again, or choose another model."),
    )
