"""A bound on the pending writes: callers wait on their event loop."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

from helix_desktop.store.core import store_errors

_MAX_ITEMS = 256
_MAX_BYTES = 64 * 1024 * 1024


class Backpressure:
    """A bound of 256 writes or 64 MB, whichever comes first; one always fits. Callers queue in order."""

    def __init__(self) -> None:
        self._queue_lock = asyncio.Lock()
        self._space_freed = asyncio.Event()
        self._items = 0
        self._bytes = 0
        self._waiting = 0
        self._is_closed = False

    def slot(self, size: int) -> AbstractAsyncContextManager[None]:
        """Return a context that reserves space for `size` bytes. Raise StoreClosed if the store closes."""
        return _Slot(self, size)

    async def acquire(self, size: int) -> None:
        """Reserve space, waiting for it. Raise StoreClosed."""
        if self._waiting or self._is_full(size):
            await self._wait(size)
        if self._is_closed:
            raise store_errors.store_closed()
        self._items += 1
        self._bytes += size

    def release(self, size: int) -> None:
        """Free reserved space."""
        self._items -= 1
        self._bytes -= size
        self._space_freed.set()

    def close(self) -> None:
        """Refuse all later callers."""
        self._is_closed = True
        self._space_freed.set()

    async def _wait(self, size: int) -> None:
        self._waiting += 1
        try:
            async with self._queue_lock:
                while not self._is_closed and self._is_full(size):
                    self._space_freed.clear()
                    await self._space_freed.wait()
        finally:
            self._waiting -= 1

    def _is_full(self, size: int) -> bool:
        return bool(self._items) and (self._items >= _MAX_ITEMS or self._bytes + size > _MAX_BYTES)


class _Slot(AbstractAsyncContextManager[None]):
    # A class and not a generator: this guards every single write.
    def __init__(self, backpressure: Backpressure, size: int) -> None:
        self._backpressure, self._size = backpressure, size

    async def __aenter__(self) -> None:
        await self._backpressure.acquire(self._size)

    async def __aexit__(self, *_: object) -> None:
        self._backpressure.release(self._size)
