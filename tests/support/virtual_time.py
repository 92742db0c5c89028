"""An event loop whose time jumps to the next timer, so that minutes of waiting take none."""

from __future__ import annotations

import asyncio
import selectors
from asyncio import Future
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_POLL_S = 0.0005  # of real time, while a thread works


class _JumpingSelector(selectors.DefaultSelector):
    """Waits in real time while a thread works, or for a socket that is ready; else it moves time on."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.busy_threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        while True:
            ready = super().select(_POLL_S if self.busy_threads else 0)
            if ready or (timeout is not None and timeout <= 0):
                return ready
            if self.busy_threads:
                continue
            if timeout is None:
                return super().select(_POLL_S)
            self.now_s += timeout
            return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop in which `asyncio.sleep` takes no real time. Work in threads takes none of its time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s

    def run_in_executor(  # type: ignore[override]  # its stub has other type variables
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> Future[T]:
        """Run a function in a thread; time stands still until it has ended."""
        self._jumping.busy_threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._end_thread)
        return future

    def _end_thread(self, _: Future[Any]) -> None:
        self._jumping.busy_threads -= 1


def run_in_virtual_time(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main())
