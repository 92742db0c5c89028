"""A workspace's store, opened when it is needed and closed when nobody has used it for a while.

Who serves a cache for hours, or looks for a session, must not keep the window from opening the workspace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.system.task_scope import TaskScope

IDLE_S = 1.0
"""Seconds until an unused store is closed: less than the window waits for a store that is in use."""

AnyStore = SharedStore | RemoteStore
BorrowStore = Callable[[str], AbstractAsyncContextManager[AnyStore]]
"""Returns the store of a workspace by its id, opened for as long as it is used, unless it is open."""


class LazyStore:
    """Opens one store while anybody uses it, and closes it when it is idle."""

    def __init__(
        self, open_store: Callable[[], AbstractAsyncContextManager[AnyStore]], idle_s: float = IDLE_S
    ) -> None:
        self._open_store, self._idle_s = open_store, idle_s
        self._scope, self._lock = TaskScope(), asyncio.Lock()
        self._stack: AsyncExitStack | None = None
        self._store: AnyStore | None = None
        self._users = 0
        self._idle_task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[AnyStore]:
        """Yield the store, open as long as it is in use. Raises StoreError when it cannot be opened."""
        async with self._lock:
            if self._store is None:
                async with AsyncExitStack() as stack:
                    self._store = await stack.enter_async_context(self._open_store())
                    self._stack = stack.pop_all()
            store = self._store
            self._users += 1
        try:
            yield store
        finally:
            self._users -= 1
            self._release_later()

    async def discard(self, store: AnyStore) -> None:
        """Drop a store that turned out to be closed, so that the next user gets another."""
        async with self._lock:
            if store is self._store:
                await self._release()

    async def close(self) -> None:
        """Close the store now."""
        async with self._lock:  # first: one that is being closed must not be canceled midway
            await self._release()
        await self._scope.close()

    def _release_later(self) -> None:
        if self._idle_task is not None:
            self._idle_task.cancel()
        self._idle_task = self._scope.start(self._release_when_idle(), "close an unused store")

    async def _release_when_idle(self) -> None:
        await asyncio.sleep(self._idle_s)
        async with self._lock:
            if not self._users:
                await self._release()

    async def _release(self) -> None:
        stack, self._stack, self._store = self._stack, None, None
        if stack is not None:
            await stack.aclose()
