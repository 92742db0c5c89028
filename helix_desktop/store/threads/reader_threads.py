"""The threads that answer reads, so that LevelDB never runs on the event loop's thread."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from helix_desktop.store.threads.loop_bridge import LoopBridge

_THREADS = 2

T = TypeVar("T")


class ReaderThreads:
    """Two threads that do what they are given, in order, until `end`.

    A pool of the standard library takes a third longer for the way there and back.
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
        """Queue work that raises nothing; never blocks. None may be given after `end`."""
        self._queue.put(task)

    def submit_async(self, loop_bridge: LoopBridge, task: Callable[[], T]) -> asyncio.Future[T]:
        """Queue work whose result is awaited. Cancelled before its turn, it is not done."""
        place: asyncio.Future[T] = loop_bridge.create_future()

        def answer() -> None:
            if place.cancelled():
                return
            try:
                loop_bridge.deliver([(place, task(), None)])
            except Exception as error:  # noqa: BLE001 - handed to the caller whose question it was
                loop_bridge.deliver([(place, None, error)])

        self.submit(answer)
        return place

    def close(self, wait: bool = True) -> None:
        """Do what was given, then end the threads; waits for that unless told not to."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            del work  # what it holds must not live until the next one comes
