"""Bounds what waits to be written, by making callers wait on their event loop."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

from helix_desktop.store import refusals

_ITEMS = 256
_BYTES = 64 * 1024 * 1024


class Backlog:
    """Room for 256 writes or 64 MB, whichever ends first; one write always fits. Callers enter in order."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._room = asyncio.Event()
        self._items = 0
        self._bytes = 0
        self._waiting = 0
        self._shut = False

    def place(self, size: int) -> AbstractAsyncContextManager[None]:
        """Hold room for a write of `size` bytes. Raises StoreClosed when the store closes meanwhile."""
        return _Place(self, size)

    async def enter(self, size: int) -> None:
        """Take room, waiting for it. Raises StoreClosed."""
        if self._waiting or self._full(size):
            await self._wait(size)
        if self._shut:
            raise refusals.closed()
        self._items += 1
        self._bytes += size

    def leave(self, size: int) -> None:
        """Give room back."""
        self._items -= 1
        self._bytes -= size
        self._room.set()

    def shut(self) -> None:
        """Nobody enters any more."""
        self._shut = True
        self._room.set()

    async def _wait(self, size: int) -> None:
        self._waiting += 1
        try:
            async with self._turn:
                while not self._shut and self._full(size):
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._waiting -= 1

    def _full(self, size: int) -> bool:
        return bool(self._items) and (self._items >= _ITEMS or self._bytes + size > _BYTES)


class _Place(AbstractAsyncContextManager[None]):
    # A class and not a generator: this stands around every single write.
    def __init__(self, backlog: Backlog, size: int) -> None:
        self._backlog, self._size = backlog, size

    async def __aenter__(self) -> None:
        await self._backlog.enter(self._size)

    async def __aexit__(self, *_: object) -> None:
        self._backlog.leave(self._size)
