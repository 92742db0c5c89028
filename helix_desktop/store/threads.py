"""The threads that read, and how threads deliver to the event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

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


def _resolve_futures(outcomes: Sequence[Outcome]) -> None:
    for future, result, error in outcomes:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


_THREADS = 2

T = TypeVar("T")


class ReaderThreads:
    """Two threads that run tasks in order, until `close`.

    A pool of the standard library takes a third longer for the round trip.
    """

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            for number in range(_THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, task: Callable[[], None]) -> None:
        """Queue a task that raises nothing; never blocks. Not allowed after `close`."""
        self._queue.put(task)

    def submit_async(self, loop_bridge: LoopBridge, task: Callable[[], T]) -> asyncio.Future[T]:
        """Queue a task whose result is awaited. Canceled before its turn, it does not run."""
        future: asyncio.Future[T] = loop_bridge.create_future()

        def run() -> None:
            if future.cancelled():
                return
            try:
                loop_bridge.deliver([(future, task(), None)])
            except Exception as error:  # noqa: BLE001 - delivered to the caller of the task
                loop_bridge.deliver([(future, None, error)])

        self.submit(run)
        return future

    def close(self, wait: bool = True) -> None:
        """Run what is queued, then end the threads; wait for that if `wait`."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self) -> None:
        while (task := self._queue.get()) is not None:
            task()
            del task  # what it references must not live until the next one comes
