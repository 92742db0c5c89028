"""Brings results from the store's threads to the event loop that waits for them, many by one wake-up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

Outcome = tuple["asyncio.Future[Any]", object, Exception | None]
"""Who waits, what came of it, or what went wrong."""


class LoopBridge:
    """The way back to one event loop. A place that was cancelled meanwhile gets nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def create_future(self) -> asyncio.Future[Any]:
        """Return what a caller awaits; made on the loop's thread."""
        return self._loop.create_future()

    def deliver(self, outcomes: Sequence[Outcome]) -> None:
        """Hand them over, from any thread."""
        # A loop that was closed has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_resolve_futures, outcomes)

    def complete(self, completions: Sequence[tuple[asyncio.Future[None], Exception | None]]) -> None:
        """Say, from any thread, that something is done, or why it is not."""
        self.deliver([(place, None, error) for place, error in completions])


def _resolve_futures(outcomes: Sequence[Outcome]) -> None:
    for place, result, error in outcomes:
        if place.done():
            continue
        if error is None:
            place.set_result(result)
        else:
            place.set_exception(error)
