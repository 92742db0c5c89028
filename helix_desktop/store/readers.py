"""The threads that answer reads, so that LevelDB never runs on the event loop's thread."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from helix_desktop.store.delivery import Delivery

_COUNT = 2

T = TypeVar("T")


class Readers:
    """Two threads that do what they are given, in order, until `end`.

    A pool of the standard library takes a third longer for the way there and back.
    """

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            for number in range(_COUNT)
        ]
        for thread in self._threads:
            thread.start()

    def give(self, work: Callable[[], None]) -> None:
        """Queue work that raises nothing; never blocks. None may be given after `end`."""
        self._queue.put(work)

    def ask(self, delivery: Delivery, work: Callable[[], T]) -> asyncio.Future[T]:
        """Queue work whose result is awaited. Cancelled before its turn, it is not done."""
        place: asyncio.Future[T] = delivery.place()

        def answer() -> None:
            if place.cancelled():
                return
            try:
                delivery.bring([(place, work(), None)])
            except Exception as error:  # noqa: BLE001 - handed to the caller whose question it was
                delivery.bring([(place, None, error)])

        self.give(answer)
        return place

    def end(self, wait: bool = True) -> None:
        """Do what was given, then end the threads; waits for that unless told not to."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            del work  # what it holds must not live until the next one comes
