"""Single model calls outside the conversation: not shown while streaming, and not recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports.model import Model, TokenCounter
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
from helix_desktop.domain.translatable_text import TextContext, verbatim

_text = TextContext("Agent")

_MAX_ATTEMPTS = 4
_MAX_WAIT_S = 60.0


class Completion(msgspec.Struct, frozen=True):
    """A model's answer, with its tokens in and out, of which the provider had `cached_tokens`.

    `cost` is in US dollars.
    """

    text: str
    tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0


async def stream_with_retry_limit(model: Model, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
    """Stream an answer that background work can do without: after a few attempts give up.

    The model thinks as much as is set for such work; in a request that begins as the conversation does, as
    much as there, or the provider would not find what it has stored. Raises ModelError.
    """
    if request.cache is None:
        effort = model.info.fit_effort(model.info.background_effort)
        request = msgspec.structs.replace(request, effort=effort)
    async with aclosing(model.stream(request)) as items:
        async for item in items:
            if isinstance(item, RetryScheduled) and (
                item.attempt > _MAX_ATTEMPTS or item.wait_s > _MAX_WAIT_S
            ):
                raise ModelUnreachable(
                    _text("{model} couldn't answer.", model=model.info.label), verbatim(item.reason)
                )
            yield item


async def complete(model: Model, request: ModelRequest, counter: TokenCounter) -> Completion:
    """Return the model's answer. Raises ModelError, also for an empty answer."""
    async with aclosing(stream_with_retry_limit(model, request)) as items:
        async for item in items:
            if isinstance(item, ModelResponse) and item.text.strip():
                return await completion_of(model.info, request, item, counter)
    raise InvalidModelResponse(
        _text("Empty response from the model."),
        _text("{model} sent no text.", model=model.info.label),
        _text("Try again, or choose another model."),
    )


async def completion_of(
    info: ModelInfo, request: ModelRequest, answer: ModelResponse, counter: TokenCounter
) -> Completion:
    """Return the answer with its usage as the provider reported it, or as we count it."""
    usage = answer.usage
    if usage is None or usage.input <= 0:
        texts = [
            part
            for message in request.messages
            for part in (message.text, *(call.arguments for call in message.calls))
        ]
        *input_counts, output_count = await counter.count([*texts, answer.text])
        usage = Usage(sum(input_counts), output_count)
    return Completion(answer.text, usage.input + usage.output, usage.cached, call_cost(info, usage))
