"""A workspace's store as another process of the same user uses it: through its owner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from helix_desktop.domain.draft import Draft
from helix_desktop.domain.events.session import Attachment, RecordedEvent
from helix_desktop.domain.store.archive_report import ExportResult, ImportResult, Progress, no_progress
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import CacheEntry, SessionSummary, StoreTotals
from helix_desktop.store.core import store_errors
from helix_desktop.store.core.commit import check_commit, now_ms
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES
from helix_desktop.store.remote import rpc_methods
from helix_desktop.store.remote.client_maintenance import RemoteHealth, RemoteRedaction, RemoteRetention
from helix_desktop.store.remote.connection import OwnerConnection
from helix_desktop.store.remote.failover import ANSWER_TIMEOUT_S, Backend, FailoverChannel, Reopen
from helix_desktop.store.remote.frames import MAX_REQUEST_BYTES, Frame
from helix_desktop.store.remote.rpc_methods import RpcMethod
from helix_desktop.store.remote.search import RemoteSearch
from helix_desktop.store.threads.backpressure import Backpressure

_LONG_TIMEOUT_S = 3600.0  # for requests that read the whole store

T = TypeVar("T")


class RemoteStore(RemoteSearch):
    """The store port, answered by the process that owns the store. Made by `connect`; must be closed."""

    def __init__(self, connection: OwnerConnection, owner_pid: int) -> None:
        self._channel = FailoverChannel(connection, owner_pid)
        self._backpressure = Backpressure()
        self._closed = False
        self.retention = RemoteRetention(self._call_long)
        self.redaction = RemoteRedaction(self._call_long)
        self.health = RemoteHealth(self._call_long, self._check_open)

    @property
    def owner_pid(self) -> int:
        """Return the process that owned the store when it was opened."""
        return self._channel.owner_pid

    @property
    def backend(self) -> Backend:
        """Return where the requests go, for another client that fails over to the same place."""
        return self._channel.backend

    def enable_failover(self, reopen: Reopen) -> None:
        """Continue with `reopen`, which opens the store again, when its owner ends."""
        self._channel.reopen = reopen

    async def commit(self, commit: Commit) -> None:
        """Store all of it, or nothing, durably. Raise as LevelDbStore does; StoreLocked if another process
        writes this session.

        Contents that do not fit one message are sent before the rest, each as a whole.
        """
        self._check_open()
        check_commit(commit)
        if commit.size > MAX_CONTENT_BYTES and len(commit.contents) > 1:
            for content in commit.contents:
                await self._call(rpc_methods.COMMIT, Commit(commit.session, contents=(content,)))
            commit = msgspec.structs.replace(commit, contents=())
        if not commit.is_empty:
            request = self._encode_request(rpc_methods.COMMIT, commit)
            async with self._backpressure.slot(len(request.payload)):
                await self._channel.commit(request, commit.session, commit.events)

    async def events(self, session: str) -> list[RecordedEvent]:
        """Return a session's full log, in order. Raise StoreUnreadable if a part of it is damaged."""
        return await self._call(rpc_methods.EVENTS, session)

    async def sessions(self) -> list[SessionSummary]:
        """Return all sessions, last updated first."""
        return await self._call(rpc_methods.SESSIONS)

    async def get(self, digest: str) -> bytes:
        """Return the verified bytes of a full digest. Raise DigestUnknown (near matches), ContentDamaged."""
        return await self._call(rpc_methods.GET, digest)

    async def entry(self, digest: str) -> CacheEntry:
        """Return the metadata of a content. Raise DigestUnknown, ContentDamaged."""
        return await self._call(rpc_methods.ENTRY, digest)

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """Return the digests that begin with `prefix` (1 to 64 hex digits), sorted. Raise ValueError."""
        return await self._call(rpc_methods.FIND, prefix, limit)

    async def totals(self) -> StoreTotals:
        """Return counts and sizes of the store."""
        return await self._call(rpc_methods.TOTALS)

    async def save_draft(self, session: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached but not sent; if both are empty, delete the draft.

        Raise StoreWriteFailed.
        """
        await self._call(rpc_methods.SAVE_DRAFT, session, text, attachments)

    async def draft(self, session: str) -> Draft:
        """Return what was typed and attached but not sent."""
        return await self._call(rpc_methods.DRAFT, session)

    async def export_to(self, path: Path, name: str, on_progress: Progress = no_progress) -> ExportResult:
        """Let the owner write its store to an absolute path. Raises as `export_store`."""
        return await self._call_long(rpc_methods.EXPORT, str(path), name, now_ms(), on_progress=on_progress)

    async def import_from(self, path: Path, on_progress: Progress = no_progress) -> ImportResult:
        """Let the owner merge the file at an absolute path. Raises as `import_store`."""
        return await self._call_long(rpc_methods.IMPORT, str(path), on_progress=on_progress)

    async def close(self) -> None:
        """Wait for pending requests, then disconnect from the owner. Idempotent."""
        self._closed = True
        self._backpressure.close()
        await self._channel.close()

    def _check_open(self) -> None:
        if self._closed:
            raise store_errors.store_closed()

    async def _call(
        self,
        method: RpcMethod[T],
        *args: object,
        timeout_s: float = ANSWER_TIMEOUT_S,
        on_progress: Progress | None = None,
    ) -> T:
        request = self._encode_request(method, *args, wants_progress=on_progress is not None)
        async with self._backpressure.slot(len(request.payload)):
            return await self._channel.call(method, request, timeout_s, on_progress)

    def _encode_request(self, method: RpcMethod[Any], *args: object, wants_progress: bool = False) -> Frame:
        self._check_open()
        request = method.request(*args, wants_progress=wants_progress)
        if len(request.payload) > MAX_REQUEST_BYTES:
            raise store_errors.request_too_large(len(request.payload), MAX_REQUEST_BYTES)
        return request

    async def _call_long(self, method: RpcMethod[T], *args: object, on_progress: Progress | None = None) -> T:
        return await self._call(method, *args, timeout_s=_LONG_TIMEOUT_S, on_progress=on_progress)
