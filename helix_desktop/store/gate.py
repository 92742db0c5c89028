"""Lets many threads use a thing, or one thread replace it, never both."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager


class Gate:
    """A lock shared by users and exclusive for the one who replaces or closes; the latter goes first.

    `with gate.shared:` uses the thing, `with gate.exclusive:` replaces it; neither may be nested in a thread.
    """

    def __init__(self) -> None:
        lock = threading.Lock()
        changed = threading.Condition(lock)
        state = _State()
        self.shared: AbstractContextManager[None] = _Shared(lock, changed, state)
        self.exclusive: AbstractContextManager[None] = _Exclusive(changed, state)


class _State:
    """How many use the thing, how many wait to replace it, and whether one does."""

    users = 0
    waiting = 0
    taken = False


class _Shared(AbstractContextManager[None]):
    # This stands around every single read: no generator, and the bare lock instead of the condition round it.
    def __init__(self, lock: threading.Lock, changed: threading.Condition, state: _State) -> None:
        self._lock, self._changed, self._state = lock, changed, state

    def __enter__(self) -> None:
        with self._lock:
            while self._state.taken or self._state.waiting:
                self._changed.wait()
            self._state.users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._state.users -= 1
            if not self._state.users and self._state.waiting:
                self._changed.notify_all()


class _Exclusive(AbstractContextManager[None]):
    def __init__(self, changed: threading.Condition, state: _State) -> None:
        self._changed, self._state = changed, state

    def __enter__(self) -> None:
        with self._changed:
            self._state.waiting += 1
            while self._state.taken or self._state.users:
                self._changed.wait()
            self._state.waiting -= 1
            self._state.taken = True

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._state.taken = False
            self._changed.notify_all()
