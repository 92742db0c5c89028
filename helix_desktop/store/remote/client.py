"""A workspace's store as another process of the same user uses it: through its owner.

When the owner ends, the store is opened again, by this process as its owner or through the next one, and what
was on its way is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.draft import Draft, PartialOutput
from helix_desktop.domain.errors import StoreClosed
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.store.archive_report import ExportResult, ImportResult
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import CacheEntry, EntryPage, SessionSummary, StoreTotals
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences
from helix_desktop.store.core import store_errors
from helix_desktop.store.core.commit import check_commit
from helix_desktop.store.core.entry_query import EntryQuery
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES
from helix_desktop.store.remote import rpc_methods
from helix_desktop.store.remote.client_maintenance import RemoteHealth, RemoteRedaction, RemoteRetention
from helix_desktop.store.remote.connection import ConnectionClosed, OwnerConnection
from helix_desktop.store.remote.frames import MAX_REQUEST_BYTES, Frame, InvalidFrame
from helix_desktop.store.remote.rpc_errors import from_rpc_error
from helix_desktop.store.remote.rpc_methods import RpcAnswer, RpcMethod
from helix_desktop.store.remote.shared_store import SharedStore
from helix_desktop.store.search.store_search import StoreSearch
from helix_desktop.store.threads.backpressure import Backpressure
from helix_desktop.system.clock import wall_clock_ms

_text = TextContext("Store")

_ANSWER_TIMEOUT_S = 60.0  # for one answer; an owner busy with a large request still answers within seconds
_LONG_TIMEOUT_S = 3600.0  # for requests that read the whole store
_MAX_OWNERS = 8  # that may end one after the other while one request waits: commands that come and go

# Their results would differ the second time, and it is not known if the first one was carried out.
_NOT_IDEMPOTENT = frozenset(
    (
        rpc_methods.COLLECT,
        rpc_methods.RESTORE,
        rpc_methods.TRASH_SESSION,
        rpc_methods.RESTORE_SESSION,
        rpc_methods.EMPTY_TRASH,
        rpc_methods.DELETE_PERMANENTLY,
        rpc_methods.LIFT,
    )
)

Backend = OwnerConnection | SharedStore
Reopen = Callable[[], Awaitable[Backend]]
"""Open the store again: as its owner, or through the process that owns it by now."""

T = TypeVar("T")


class RemoteStore(StoreSearch):
    """The store port, answered by the process that owns the store. Made by `connect`; must be closed."""

    def __init__(self, connection: OwnerConnection, owner_pid: int, reopen: Reopen | None = None) -> None:
        """`owner_pid` owns the store now; without `reopen`, its end ends this store too."""
        self.owner_pid, self._reopen = owner_pid, reopen
        self.backend: Backend = connection
        self._reopen_lock = asyncio.Lock()
        self._pending_answers: set[asyncio.Future[Frame]] = set()
        self._backpressure = Backpressure()
        self._closed = False
        self.retention = RemoteRetention(self._call_long)
        self.redaction = RemoteRedaction(self._call_long)
        self.health = RemoteHealth(self._call_long, self._check_open)

    async def commit(self, commit: Commit) -> None:
        """Store all of it, or nothing, durably. Raise as LevelDbStore does; StoreLocked if another process
        writes this session.

        Contents that do not fit one message are sent before the rest, each as a whole.
        """
        self._check_open()
        check_commit(commit)
        if commit.size > MAX_CONTENT_BYTES and len(commit.contents) > 1:
            for content in commit.contents:
                await self._call(rpc_methods.COMMIT, Commit(commit.session_id, contents=(content,)))
            commit = msgspec.structs.replace(commit, contents=())
        if commit.is_empty:
            return
        backend = self.backend
        try:
            await self._call(rpc_methods.COMMIT, commit)
        except ValueError:
            # Sent again: the owner that ended may have stored it, and the log has gone on with it.
            if self.backend is backend or not await self._is_stored(commit):
                raise

    async def events(self, session_id: str) -> list[RecordedEvent]:
        """Return a session's full log, in order. Raise StoreUnreadable if a part of it is damaged."""
        return await self._call(rpc_methods.EVENTS, session_id)

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

    async def save_draft(self, session_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached but not sent; if both are empty, delete the draft.

        Raise StoreWriteFailed.
        """
        await self._call(rpc_methods.SAVE_DRAFT, session_id, text, attachments)

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        """Save what came so far of an answer, until it is recorded; None: delete it.

        Raise StoreWriteFailed.
        """
        await self._call(rpc_methods.SAVE_PARTIAL_ANSWER, session_id, answer)

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        """Save what running calls printed so far, until their answers are recorded; empty: delete it.

        Raise StoreWriteFailed.
        """
        await self._call(rpc_methods.SAVE_PARTIAL_OUTPUTS, session_id, outputs)

    async def draft(self, session_id: str) -> Draft:
        """Return what was typed and attached but not sent, and what came of an answer not yet recorded."""
        return await self._call(rpc_methods.DRAFT, session_id)

    async def list_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        """Return one page of a listing; with normalized terms, without entries that cannot hold them all."""
        return await self._call(rpc_methods.LIST_PAGE, entry_query, terms)

    async def list_digests(self, entry_query: EntryQuery) -> bytes:
        """Return all digests of a listing, joined."""
        return await self._call(rpc_methods.LIST_DIGESTS, entry_query)

    async def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that stored something, sorted."""
        return await self._call(rpc_methods.TOOLS)

    async def handovers(self, with_checkpoints: bool = False) -> list[tuple[str, RecordedEvent]]:
        """Return every handover, and checkpoint if asked, with its session, in any order."""
        return await self._call(rpc_methods.HANDOVERS, with_checkpoints)

    async def wait_until_indexed(self) -> None:
        """Wait until the owner's search index is complete."""
        await self._call(rpc_methods.WAIT_UNTIL_INDEXED)

    async def export_to(self, path: Path, name: str, on_progress: OnProgress = no_progress) -> ExportResult:
        """Let the owner write its store to an absolute path. Raises as `export_store`."""
        return await self._call_long(
            rpc_methods.EXPORT, str(path), name, wall_clock_ms(), on_progress=on_progress
        )

    async def export_session_to(
        self, path: Path, name: str, session_id: str, on_progress: OnProgress = no_progress
    ) -> ExportResult:
        """Let the owner write one session to an absolute path. Raises as `export_store`."""
        args = (str(path), name, wall_clock_ms(), session_id)
        return await self._call_long(rpc_methods.EXPORT_SESSION, *args, on_progress=on_progress)

    async def import_from(self, path: Path, on_progress: OnProgress = no_progress) -> ImportResult:
        """Let the owner merge the file at an absolute path. Raises as `import_store`."""
        return await self._call_long(rpc_methods.IMPORT, str(path), on_progress=on_progress)

    async def close(self) -> None:
        """Wait for pending requests, then disconnect from the owner, or close the files. Idempotent."""
        self._closed = True
        self._backpressure.close()
        if self._pending_answers:
            await asyncio.wait(self._pending_answers, timeout=_ANSWER_TIMEOUT_S)
        async with self._reopen_lock:
            await self.backend.close()

    def _check_open(self) -> None:
        if self._closed:
            raise store_errors.store_closed()

    async def _call_long(
        self, method: RpcMethod[T], *args: object, on_progress: OnProgress | None = None
    ) -> T:
        return await self._call(method, *args, timeout_s=_LONG_TIMEOUT_S, on_progress=on_progress)

    async def _call(
        self,
        method: RpcMethod[T],
        *args: object,
        timeout_s: float = _ANSWER_TIMEOUT_S,
        on_progress: OnProgress | None = None,
    ) -> T:
        """Return the owner's answer; ask the next one if it ends meanwhile and asking again does no harm.

        Raise what the method raises; StoreClosed, StoreLocked.
        """
        self._check_open()
        request = method.request(*args, wants_progress=on_progress is not None)
        if len(request.payload) > MAX_REQUEST_BYTES:
            raise store_errors.request_too_large(len(request.payload), MAX_REQUEST_BYTES)

        async def send() -> T:
            if isinstance(self.backend, SharedStore):
                progress = on_progress or no_progress
                result: T = await self.backend.handle_request(self, method, args, progress)
                return result
            return await self._ask(self.backend, method, request, timeout_s, on_progress)

        async with self._backpressure.slot(len(request.payload)):
            async with self._reopen_lock:
                pass  # behind what is sent again, so that commits keep their order
            for attempts_left in reversed(range(_MAX_OWNERS)):
                backend = self.backend
                try:
                    return await send()
                except (ConnectionClosed, InvalidFrame) as error:
                    can_repeat = isinstance(error, ConnectionClosed) and method not in _NOT_IDEMPOTENT
                    if not attempts_left or self._reopen is None or not can_repeat:
                        raise self._not_answering(
                            _text(
                                "The process that manages it ended (process {process}).",
                                process=str(self.owner_pid),
                            )
                        ) from error
                await self._reopen_after(backend, self._reopen)
            raise AssertionError  # the last turn of the loop returns or raises

    async def _ask(
        self,
        connection: OwnerConnection,
        method: RpcMethod[T],
        request: Frame,
        timeout_s: float,
        on_progress: OnProgress | None,
    ) -> T:
        try:
            pending = connection.request(request, on_progress)
        except ConnectionClosed:
            await asyncio.sleep(0)  # what the connection took with it is sent again first
            raise
        self._pending_answers.add(pending)
        pending.add_done_callback(self._pending_answers.discard)
        try:
            async with asyncio.timeout(timeout_s):
                frame = await pending
        except TimeoutError as error:
            why = _text(
                "The process that manages it hasn't answered for {seconds} s (process {process}).",
                seconds=round(timeout_s),
                process=str(self.owner_pid),
            )
            raise self._not_answering(why) from error
        answer = frame.decode(RpcAnswer)
        if answer.fault is not None:
            raise from_rpc_error(answer.fault)
        return method.decode_result(bytes(answer.value), frame.is_json)

    async def _is_stored(self, commit: Commit) -> bool:
        """Return True if the log holds the events of a commit where they belong."""
        if not commit.events:
            return False
        log, first = await self.events(commit.session_id), commit.events[0].seq - 1
        return tuple(log[first : first + len(commit.events)]) == commit.events

    async def _reopen_after(self, ended: Backend, reopen: Reopen) -> None:
        """Switch to where the store is used now, unless another request did that already."""
        async with self._reopen_lock:
            if self._closed:
                raise store_errors.store_closed()
            if self.backend is ended:
                await ended.close()
                self.backend = await reopen()

    def _not_answering(self, why: TranslatableText) -> StoreClosed:
        return StoreClosed(
            _text("Lost the connection to the workspace data."),
            join_sentences(why, _text("The last change may not be saved.")),
            _text("Try again. The saved data is read again."),
        )
