"""Asking a model one thing outside the conversation: nobody sees it arrive, nothing of it is recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports import Model, TokenCounter
from helix_desktop.domain.cost import call_cost
from helix_desktop.domain.errors import InvalidModelResponse, ModelUnreachable
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    StreamItem,
    Usage,
)

_MAX_ATTEMPTS = 4
_MAX_WAIT_S = 60.0


class Completion(msgspec.Struct, frozen=True):
    """What a model answered, and the tokens that went in and out; the provider had `cached` of them.

    `cost` is in US dollars.
    """

    text: str
    tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0


async def stream_with_retry_limit(model: Model, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
    """Stream an answer that the work goes on without: after a few attempts it is given up.

    Raises ModelError.
    """
    async with aclosing(model.stream(request)) as arrivals:
        async for arrival in arrivals:
            if isinstance(arrival, RetryScheduled) and (
                arrival.attempt > _MAX_ATTEMPTS or arrival.wait_s > _MAX_WAIT_S
            ):
                raise ModelUnreachable(f"{model.info.label} could not answer.", arrival.reason)
            yield arrival


async def complete(model: Model, request: ModelRequest, counter: TokenCounter) -> Completion:
    """The model's words. Raises ModelError, also when it says nothing."""
    async with aclosing(stream_with_retry_limit(model, request)) as arrivals:
        async for arrival in arrivals:
            if isinstance(arrival, ModelResponse) and arrival.text.strip():
                return await _completion_of(model.info, request, arrival, counter)
    raise InvalidModelResponse(
        "The model answered nothing.", f"{model.info.label} sent no text.", "Try again."
    )


async def _completion_of(
    info: ModelInfo, request: ModelRequest, answer: ModelResponse, counter: TokenCounter
) -> Completion:
    """The answer with what it took as reported, or as we count it."""
    usage = answer.usage
    if usage is None or usage.input <= 0:
        texts = [
            part for one in request.messages for part in (one.text, *(call.arguments for call in one.calls))
        ]
        *asked, told = await counter.count([*texts, answer.text])
        usage = Usage(sum(asked), told)
    return Completion(answer.text, usage.input + usage.output, usage.cached, call_cost(info, usage))
