"""Functions that are called when something changes, until they unsubscribe, and the progress of long work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Listeners(Generic[P, R]):
    """Listeners in the order in which they subscribed."""

    def __init__(self) -> None:
        self._listeners: list[Callable[P, R]] = []

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def __iter__(self) -> Iterator[Callable[P, R]]:
        """Yield those that are subscribed now, whatever unsubscribes or subscribes meanwhile."""
        return iter(tuple(self._listeners))

    def listen(self, listener: Callable[P, R]) -> Callable[[], None]:
        """Subscribe. Call the returned function to unsubscribe."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    def notify(self: Listeners[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call every listener; those that are awaited are called by iterating."""
        for listener in self:
            listener(*args, **kwargs)


OnProgress = Callable[[int, int], None]
"""Gets how much is done and how much there is in all; may be called on another thread than the loop's."""


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""
