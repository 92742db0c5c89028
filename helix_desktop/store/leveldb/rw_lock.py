"""A lock for many users of a resource, or one thread that replaces it, never both."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager


class ReadWriteLock:
    """A lock shared by users and exclusive for the thread that replaces or closes; the latter goes first.

    `with lock.shared:` uses the resource, `with lock.exclusive:` replaces it; neither nests within a thread.
    """

    def __init__(self) -> None:
        lock = threading.Lock()
        changed = threading.Condition(lock)
        state = _LockState()
        self.shared: AbstractContextManager[None] = _SharedLock(lock, changed, state)
        self.exclusive: AbstractContextManager[None] = _ExclusiveLock(changed, state)


class _LockState:
    """The number of users, the number of threads waiting to replace, and whether one does."""

    readers = 0
    waiting_writers = 0
    is_exclusive = False


class _SharedLock(AbstractContextManager[None]):
    # This guards every single read: no generator, and the bare lock instead of the condition around it.
    def __init__(self, lock: threading.Lock, changed: threading.Condition, state: _LockState) -> None:
        self._lock, self._changed, self._state = lock, changed, state

    def __enter__(self) -> None:
        with self._lock:
            while self._state.is_exclusive or self._state.waiting_writers:
                self._changed.wait()
            self._state.readers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._state.readers -= 1
            if not self._state.readers and self._state.waiting_writers:
                self._changed.notify_all()


class _ExclusiveLock(AbstractContextManager[None]):
    def __init__(self, changed: threading.Condition, state: _LockState) -> None:
        self._changed, self._state = changed, state

    def __enter__(self) -> None:
        with self._changed:
            self._state.waiting_writers += 1
            while self._state.is_exclusive or self._state.readers:
                self._changed.wait()
            self._state.waiting_writers -= 1
            self._state.is_exclusive = True

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._state.is_exclusive = False
            self._changed.notify_all()
