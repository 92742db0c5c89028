"""The owner of every task: a failure is never lost, and closing leaves none behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)


def raise_if_canceled() -> None:
    """Raise CancelledError if the current task was canceled and something it awaited hid that.

    A task group whose child fails in the moment of the cancellation raises that failure instead (until Python
    3.13), and libraries do the like: a loop that goes on after failures would never end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class TaskScope:
    """Starts tasks, and cancels and awaits them all when it closes."""

    def __init__(self, on_error: Callable[[BaseException], None] | None = None) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_error = on_error
        self._closed = False

    def start(self, coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run `coroutine` as a task of this scope; a failure goes to the log and to `on_error`.

        After the scope was closed for good the task is canceled before its first step: its data is gone.
        """
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        if self._closed:
            task.cancel()
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("task %s failed", task.get_name(), exc_info=error)
        if self._on_error is not None:
            self._on_error(error)

    async def close(self, for_good: bool = False) -> None:
        """Cancel all tasks and wait for their end; with `for_good` later tasks are canceled at once."""
        while self._tasks:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)  # since 3.12 gather does not yield for done tasks, and `_on_done` must run
        self._closed = for_good
