"""Functions that are called when something changes, until they unsubscribe, and the progress of long work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from types import UnionType
from typing import Any, Generic, ParamSpec, TypeVar, get_args

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


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
        self._listeners.append(listener)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return unsubscribe

    def notify(self: Listeners[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call every listener; those that are awaited are called by iterating."""
        for listener in self:
            listener(*args, **kwargs)


class TypedListeners:
    """Listeners that name the types they want; of others they are not called at all."""

    def __init__(self) -> None:
        self._handlers: dict[type, list[tuple[int, Callable[..., object]]]] = {}
        self._count = count()

    def on(self, kind: type[T] | UnionType, handler: Callable[..., object]) -> Callable[[], None]:
        """Call `handler` with each object of a type, or of one of a union. Call the result to unsubscribe.

        A subclass is another type.
        """
        entry = (next(self._count), handler)
        for each in types_of(kind):
            self._handlers.setdefault(each, []).append(entry)

        def unsubscribe() -> None:
            for each in types_of(kind):
                with suppress(ValueError):
                    self._handlers[each].remove(entry)

        return unsubscribe

    def notify(self, *updates: object, about: tuple[Any, ...] = ()) -> None:
        """Call who wants one of `updates`, in the order of subscription; `about` comes before the update."""
        calls = [
            (number, handler, update)
            for update in updates
            for number, handler in self._handlers.get(type(update), ())
        ]
        if len(updates) > 1:
            calls.sort(key=lambda call: call[0])
        for _, handler, update in calls:
            handler(*about, update)


def types_of(kind: type | UnionType) -> tuple[type, ...]:
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


OnProgress = Callable[[int, int], None]
"""Gets how much is done and how much there is in all; may be called on another thread than the loop's."""


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""
