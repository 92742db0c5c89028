"""Bounds what waits to be written, by making callers wait on their event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
        self._shut = False

    @asynccontextmanager
    async def place(self, size: int) -> AsyncIterator[None]:
        """Hold room for a write of `size` bytes. Raises StoreClosed when the store closes meanwhile."""
        async with self._turn:
            while not self._shut and self._full(size):
                self._room.clear()
                await self._room.wait()
            if self._shut:
                raise refusals.closed()
            self._items += 1
            self._bytes += size
        try:
            yield
        finally:
            self._items -= 1
            self._bytes -= size
            self._room.set()

    def shut(self) -> None:
        """Nobody enters any more."""
        self._shut = True
        self._room.set()

    def _full(self, size: int) -> bool:
        return bool(self._items) and (self._items >= _ITEMS or self._bytes + size > _BYTES)
