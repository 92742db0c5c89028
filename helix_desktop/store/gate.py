"""Lets many threads use a thing, or one thread replace it, never both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """A lock shared by users and exclusive for the one who replaces or closes; the latter goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._users = 0
        self._waiting = 0
        self._taken = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Use the thing; nobody replaces it meanwhile. Not to be nested in one thread."""
        with self._changed:
            while self._taken or self._waiting:
                self._changed.wait()
            self._users += 1
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Replace or close the thing; waits until nobody uses it."""
        with self._changed:
            self._waiting += 1
            while self._taken or self._users:
                self._changed.wait()
            self._waiting -= 1
            self._taken = True
        try:
            yield
        finally:
            with self._changed:
                self._taken = False
                self._changed.notify_all()
