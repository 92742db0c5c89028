"""Delivery of results from the store's threads to the event loop, many per wake-up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

Outcome = tuple["asyncio.Future[Any]", object, Exception | None]
"""The waiting future, its result, and the error, if any."""


class LoopBridge:
    """Delivery to one event loop. A future that was canceled meanwhile gets nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future for a caller to await; call on the loop's thread."""
        return self._loop.create_future()

    def deliver(self, outcomes: Sequence[Outcome]) -> None:
        """Deliver outcomes, from any thread."""
        # A closed loop has no waiting callers left.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_resolve_futures, outcomes)

    def complete(self, completions: Sequence[tuple[asyncio.Future[None], Exception | None]]) -> None:
        """Complete futures, from any thread, or set their errors."""
        self.deliver([(future, None, error) for future, error in completions])


def _resolve_futures(outcomes: Sequence[Outcome]) -> None:
    for future, result, error in outcomes:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
