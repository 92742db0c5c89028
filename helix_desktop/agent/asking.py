"""Asking a model one thing outside the conversation: nobody sees it arrive, nothing of it is recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports import Counter, Model
from helix_desktop.context.errors import ModelNonsense, ModelUnreachable
from helix_desktop.context.message import Answer, Arrival, ModelInfo, Request, Retrying, Usage
from helix_desktop.context.spending import price_of

_MOST_ATTEMPTS = 4
_LONGEST_WAIT_S = 60.0


class Said(msgspec.Struct, frozen=True):
    """What a model answered, and the tokens that went in and out; the provider had `cached` of them.

    `cost` is in US dollars.
    """

    text: str
    tokens: int = 0
    cached: int = 0
    cost: float = 0.0


async def briefly(model: Model, request: Request) -> AsyncGenerator[Arrival, None]:
    """Stream an answer that the work goes on without: after a few attempts it is given up.

    Raises ModelError.
    """
    async with aclosing(model.stream(request)) as arrivals:
        async for arrival in arrivals:
            if isinstance(arrival, Retrying) and (
                arrival.attempt > _MOST_ATTEMPTS or arrival.wait_s > _LONGEST_WAIT_S
            ):
                raise ModelUnreachable(f"{model.info.label} could not answer.", arrival.reason)
            yield arrival


async def ask(model: Model, request: Request, counter: Counter) -> Said:
    """The model's words. Raises ModelError, also when it says nothing."""
    async with aclosing(briefly(model, request)) as arrivals:
        async for arrival in arrivals:
            if isinstance(arrival, Answer) and arrival.text.strip():
                return await _counted(model.info, request, arrival, counter)
    raise ModelNonsense("The model answered nothing.", f"{model.info.label} sent no text.", "Try again.")


async def _counted(info: ModelInfo, request: Request, answer: Answer, counter: Counter) -> Said:
    """The answer with what it took as reported, or as we count it."""
    usage = answer.usage
    if usage is None or usage.input <= 0:
        texts = [
            part for one in request.messages for part in (one.text, *(call.arguments for call in one.calls))
        ]
        *asked, told = await counter.count([*texts, answer.text])
        usage = Usage(sum(asked), told)
    return Said(answer.text, usage.input + usage.output, usage.cached, price_of(info, usage))
