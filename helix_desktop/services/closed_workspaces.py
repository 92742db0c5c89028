"""Workspaces that are not open: their stores, opened when needed, and sessions; data that is gone.

A store is closed when nobody has used it for a while. Who serves a cache for hours, or looks for a session,
must not keep the window from opening the workspace.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.workspaces.policy_file import gone_error
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry

_log = logging.getLogger(__name__)
text = TextContext("Services")

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
        self._open_store = open_store
        self._idle_s = idle_s
        self._scope = TaskScope()
        self._lock = asyncio.Lock()
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
        stack = self._stack
        self._stack = None
        self._store = None
        if stack is not None:
            await stack.aclose()


class ClosedSessions:
    """Opens a store when its sessions are listed or read, and closes it a moment after, or on `release`."""

    def __init__(
        self, registry: WorkspaceRegistry, borrow_store: BorrowStore, is_open: Callable[[str], bool]
    ) -> None:
        """`is_open` says of a workspace's id whether it is open in this app, so that others list it."""
        self._registry = registry
        self._borrow_store = borrow_store
        self._is_open = is_open
        self._stores: dict[str, LazyStore] = {}

    async def list_by_workspace(self) -> AsyncGenerator[tuple[WorkspaceRecord, list[SessionSummary] | None]]:
        """Yield the sessions of each workspace; None if its store can't be opened.

        Opening the workspace says why; also what was repaired in its store.
        """
        for record in self._registry.list_workspaces():
            folder = self._registry.store_folder(record.id)
            if self._is_open(record.id) or not await asyncio.to_thread(folder.is_dir):
                continue
            try:
                async with self.acquire(record.id) as store:
                    yield record, await store.sessions()
            except HelixError as error:
                _log.warning("The sessions of the workspace %s are not listed: %s", record.name, error)
                yield record, None

    def acquire(self, workspace_id: str) -> AbstractAsyncContextManager[AnyStore]:
        """Return the store of a workspace, open as long as it is in use. Raises StoreError on entering."""
        if workspace_id not in self._stores:
            self._stores[workspace_id] = LazyStore(lambda: self._borrow_store(workspace_id))
        return self._stores[workspace_id].acquire()

    async def release_store(self, workspace_id: str) -> None:
        """Close the store of a workspace, if it is open here."""
        if (store := self._stores.pop(workspace_id, None)) is not None:
            await store.close()

    async def release(self) -> None:
        stores = self._stores
        self._stores = {}
        for store in stores.values():
            await store.close()


def check_data_is_there(registry: WorkspaceRegistry, workspace_id: str) -> None:
    """Raise HelixError if it is gone: a store that is opened then would be a new and empty one."""
    folder = registry.data_folder(workspace_id)
    if not os.path.isdir(folder):
        raise gone_error(text("The data of this workspace can't be opened."), folder)
