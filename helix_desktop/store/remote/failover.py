"""The channel to a store that another process owns; when that ends, to the next owner, or to the files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from helix_desktop.domain.errors import StoreClosed
from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.store.archive_report import Progress, no_progress
from helix_desktop.store.core import store_errors
from helix_desktop.store.remote import rpc_methods
from helix_desktop.store.remote.connection import ConnectionClosed, OwnerConnection
from helix_desktop.store.remote.frames import Frame, InvalidFrame
from helix_desktop.store.remote.rpc_errors import from_rpc_error
from helix_desktop.store.remote.rpc_methods import RpcAnswer, RpcMethod, RpcRequest
from helix_desktop.store.remote.shared_store import SharedStore

ANSWER_TIMEOUT_S = 60.0  # for one answer; an owner busy with a large request still answers within seconds
_MAX_FAILOVERS = 8  # owners that may end, one after the other, while one request waits for its answer
_OWNER_ENDED = "It was closed or ended"

# Their results would differ the second time, and it is not known if the first one was carried out.
_NOT_IDEMPOTENT = frozenset(
    (
        rpc_methods.COLLECT,
        rpc_methods.RESTORE,
        rpc_methods.TRASH_SESSION,
        rpc_methods.RESTORE_SESSION,
        rpc_methods.EMPTY_TRASH,
        rpc_methods.LIFT,
    )
)

Backend = OwnerConnection | SharedStore
Reopen = Callable[[], Awaitable[Backend]]
"""Open the store again: as its owner, or through the process that owns it by now."""

T = TypeVar("T")


class FailoverChannel:
    """The destination of one client's requests."""

    def __init__(self, connection: OwnerConnection, owner_pid: int) -> None:
        self.owner_pid = owner_pid
        self.reopen: Reopen | None = None
        self.backend: Backend = connection
        self._reconnect_lock = asyncio.Lock()
        self._commit_order = asyncio.Lock()
        self._waiting_commits = 0  # commits that wait until an earlier one is repeated
        self._pending_answers: set[asyncio.Future[Frame]] = set()
        self._closed = False

    async def call(
        self, method: RpcMethod[T], request: Frame, timeout_s: float, on_progress: Progress | None
    ) -> T:
        """Return the current owner's answer. Raise what the method raises; StoreClosed, StoreLocked.

        A request that was begun and is not idempotent is not repeated.
        """
        for attempts_left in reversed(range(_MAX_FAILOVERS)):
            backend = self.backend
            try:
                return await self._call(backend, method, request, timeout_s, on_progress)
            except (ConnectionClosed, InvalidFrame) as error:
                if (
                    not attempts_left
                    or self.reopen is None
                    or isinstance(error, InvalidFrame)
                    or method in _NOT_IDEMPOTENT
                ):
                    raise self._not_answering(_OWNER_ENDED) from error
                await self._reconnect(backend, self.reopen)
        raise AssertionError  # the last turn of the loop returns or raises

    async def commit(self, request: Frame, session: str, events: Sequence[RecordedEvent]) -> None:
        """Commit these events; commits in flight when the owner ended are repeated first, in order."""
        if not self._waiting_commits:
            try:
                return await self._call(self.backend, rpc_methods.COMMIT, request, ANSWER_TIMEOUT_S, None)
            except (ConnectionClosed, InvalidFrame) as error:
                if self.reopen is None or isinstance(error, InvalidFrame):
                    raise self._not_answering(_OWNER_ENDED) from error
        self._waiting_commits += 1
        try:
            async with self._commit_order:
                if not (events and await self._is_stored(session, events)):
                    await self.call(rpc_methods.COMMIT, request, ANSWER_TIMEOUT_S, None)
        finally:
            self._waiting_commits -= 1

    async def close(self) -> None:
        """Wait for pending requests, then disconnect from the owner, or close the files."""
        if self._pending_answers:
            await asyncio.wait(self._pending_answers, timeout=ANSWER_TIMEOUT_S)
        async with self._reconnect_lock:
            self._closed = True
            await self.backend.close()

    async def _call(
        self,
        backend: Backend,
        method: RpcMethod[T],
        request: Frame,
        timeout_s: float,
        on_progress: Progress | None,
    ) -> T:
        if isinstance(backend, SharedStore):
            args = method.decode_args(request.decode(RpcRequest), request.json)
            result: T = await backend.handle_request(self, method, args, on_progress or no_progress)
            return result
        pending = backend.request(request, on_progress)
        self._pending_answers.add(pending)
        pending.add_done_callback(self._pending_answers.discard)
        try:
            async with asyncio.timeout(timeout_s):
                frame = await pending
        except TimeoutError as error:
            raise self._not_answering(f"It has not answered for {timeout_s:.0f} s") from error
        answer = frame.decode(RpcAnswer)
        if answer.fault is not None:
            raise from_rpc_error(answer.fault)
        return method.decode_result(bytes(answer.value), frame.json)

    async def _is_stored(self, session: str, events: Sequence[RecordedEvent]) -> bool:
        """Return True if the owner that has ended did store these events."""
        log = await self.call(rpc_methods.EVENTS, rpc_methods.EVENTS.request(session), ANSWER_TIMEOUT_S, None)
        first = events[0].seq - 1
        return log[first : first + len(events)] == list(events)

    async def _reconnect(self, failed_backend: Backend, reopen: Reopen) -> None:
        """Switch to where the store is used now, unless another request did that already."""
        async with self._reconnect_lock:
            if self._closed:
                raise store_errors.store_closed()
            if self.backend is failed_backend:
                await failed_backend.close()
                self.backend = await reopen()

    def _not_answering(self, why: str) -> StoreClosed:
        return StoreClosed(
            "The process that owns this workspace's store does not answer any more.",
            f"{why} (process {self.owner_pid}); whether it stored what was sent last is not known.",
            "Try again: what is there is read anew.",
        )
