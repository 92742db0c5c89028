"""A store as this process uses it: opened as its owner, or reached through the process that owns it.

When the owner ends, the store is opened again, by this process as its owner or through the next one, and what
was on its way is sent again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.errors import StoreClosed, StoreLocked
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.store import Commit
from helix_desktop.domain.store_reports import ArchiveTotals, ExportResult, ImportResult
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, join_sentences
from helix_desktop.store import store_errors
from helix_desktop.store.commits import check_commit
from helix_desktop.store.kinds import MAX_VALUE_BYTES
from helix_desktop.store.remote.rpc import (
    COMMIT,
    EXPORT,
    EXPORT_SESSION,
    HANDSHAKE_ID,
    HEAD_BYTES,
    IMPORT,
    MAX_ANSWER_BYTES,
    MAX_HANDSHAKE_BYTES,
    MAX_REQUEST_BYTES,
    Challenge,
    Frame,
    FrameHead,
    InvalidFrame,
    OwnerEndpoint,
    OwnerProof,
    RemoteHealth,
    RemoteReads,
    RemoteRedaction,
    RemoteRetention,
    RpcAnswer,
    RpcMethod,
    UnsupportedVersion,
    check_owner,
    encode_frame,
    from_rpc_error,
    prove_client,
    read_endpoint,
    read_frame_head,
)
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.store.threads import Backpressure
from helix_desktop.system.clock import ClockMs, wall_clock_ms

text = TextContext("Store")


class ConnectionClosed(Exception):
    """The other side has left, or sent an invalid frame."""


class OwnerConnection(asyncio.Protocol):
    """One connection to an owner; its frames resolve the futures that wait for their ids."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: FrameHead | None = None
        self._max_bytes = MAX_HANDSHAKE_BYTES
        self._last_request_id = HANDSHAKE_ID
        self._progress_callbacks: dict[int, OnProgress] = {}
        self._pending_answers: dict[int, asyncio.Future[Frame]] = {HANDSHAKE_ID: loop.create_future()}
        self._disconnected: asyncio.Future[None] = loop.create_future()
        self.refusal: InvalidFrame | None = None

    @property
    def is_alive(self) -> bool:
        return not self._disconnected.done()

    async def receive_handshake(self) -> Frame:
        """Return the next frame of the handshake. Raise ConnectionClosed, InvalidFrame."""
        if self.refusal is not None:
            raise self.refusal
        pending = self._pending_answers.get(HANDSHAKE_ID)
        if pending is None or not self.is_alive:
            raise ConnectionClosed
        frame = await pending
        self._pending_answers[HANDSHAKE_ID] = asyncio.get_running_loop().create_future()
        return frame

    def mark_authenticated(self) -> None:
        """Accept long frames: the other side has proved its identity."""
        self._max_bytes = MAX_ANSWER_BYTES

    def send_handshake(self, frame: Frame) -> None:
        self._write(frame, HANDSHAKE_ID)

    def request(self, frame: Frame, on_progress: OnProgress | None = None) -> asyncio.Future[Frame]:
        """Send a request, in the order of the calls; return its answer's future. Report progress until then.

        Raise ConnectionClosed.
        """
        if not self.is_alive:
            raise ConnectionClosed
        self._last_request_id += 1
        request_id = self._last_request_id
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: self._remove_request(request_id))
        self._pending_answers[request_id] = answer
        if on_progress is not None:
            self._progress_callbacks[request_id] = on_progress
        self._write(frame, request_id)
        return answer

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            await asyncio.shield(self._disconnected)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # what a stream socket has
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            while self._read_frame():
                pass
        except InvalidFrame as error:
            self.refusal = error
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all pending answers: the other side has left."""
        if not self._disconnected.done():
            self._disconnected.set_result(None)
        for answer in tuple(self._pending_answers.values()):
            if not answer.done():
                answer.set_exception(self.refusal or ConnectionClosed())
                answer.exception()  # retrieved here: usually nobody waits for the rest of a handshake

    def _read_frame(self) -> bool:
        """Take one complete frame out of the buffer; return False if there is none."""
        if self._head is None and len(self._buffer) >= HEAD_BYTES:
            self._head = read_frame_head(bytes(self._buffer[:HEAD_BYTES]), self._max_bytes)
        if self._head is None or len(self._buffer) < HEAD_BYTES + self._head.length:
            return False
        head = self._head
        self._head = None
        end = HEAD_BYTES + head.length
        with memoryview(self._buffer) as received:
            frame = Frame(bytes(received[HEAD_BYTES:end]), head.is_json, head.is_progress)
        del self._buffer[:end]
        if head.is_progress:
            self._report_progress(head.id, frame)
            return True
        pending = self._pending_answers.get(head.id)
        if pending is not None and not pending.done():  # nobody waits for a call that was canceled
            pending.set_result(frame)
        return True

    def _report_progress(self, request_id: int, frame: Frame) -> None:
        on_progress = self._progress_callbacks.get(request_id)
        if on_progress is not None:
            on_progress(*frame.decode(tuple[int, int]))

    def _remove_request(self, request_id: int) -> None:
        self._pending_answers.pop(request_id, None)
        self._progress_callbacks.pop(request_id, None)

    def _write(self, frame: Frame, request_id: int) -> None:
        assert self._transport is not None  # given with the connection
        self._transport.write(frame.encode_head(request_id) + frame.payload)


T = TypeVar("T")


_ANSWER_TIMEOUT_S = 60.0  # for one answer; an owner busy with a large request still answers within seconds
_LONG_TIMEOUT_S = 3600.0  # for requests that read the whole store
_MAX_OWNERS = 8  # that may end one after the other while one request waits: commands that come and go

Backend = OwnerConnection | SharedStore
Reopen = Callable[[], Awaitable[Backend]]
"""Open the store again: as its owner, or through the process that owns it by now."""


class RemoteStore(RemoteReads):
    """The store port, answered by the process that owns the store. Made by `connect`; must be closed."""

    def __init__(self, connection: OwnerConnection, owner_pid: int, reopen: Reopen | None = None) -> None:
        """`owner_pid` owns the store now; without `reopen`, its end ends this store too."""
        self.owner_pid = owner_pid
        self._reopen = reopen
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
        if commit.size > MAX_VALUE_BYTES and len(commit.contents) > 1:
            for content in commit.contents:
                await self.call_owner(COMMIT, Commit(commit.session_id, contents=(content,)))
            commit = msgspec.structs.replace(commit, contents=())
        if commit.is_empty:
            return
        backend = self.backend
        try:
            await self.call_owner(COMMIT, commit)
        except ValueError:
            # Sent again: the owner that ended may have stored it, and the log has gone on with it.
            if self.backend is backend or not await self._is_stored(commit):
                raise

    async def export_to(self, path: Path, name: str, on_progress: OnProgress = no_progress) -> ExportResult:
        """Let the owner write its store to an absolute path. Raises as `export_store`."""
        return await self._call_long(EXPORT, str(path), name, wall_clock_ms(), on_progress=on_progress)

    async def export_session_to(
        self, path: Path, name: str, session_id: str, on_progress: OnProgress = no_progress
    ) -> ExportResult:
        """Let the owner write one session to an absolute path. Raises as `export_store`."""
        args = (str(path), name, wall_clock_ms(), session_id)
        return await self._call_long(EXPORT_SESSION, *args, on_progress=on_progress)

    async def import_from(
        self, path: Path, on_progress: OnProgress = no_progress, totals: ArchiveTotals | None = None
    ) -> ImportResult:
        """Let the owner merge the file at an absolute path, which it checks. Raises as `import_store`."""
        return await self._call_long(IMPORT, str(path), on_progress=on_progress)

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

    async def call_owner(
        self, method: RpcMethod[..., T], /, *args: object, on_progress: OnProgress | None = None
    ) -> T:
        return await self._call(method, args, _ANSWER_TIMEOUT_S, on_progress)

    async def _call_long(
        self, method: RpcMethod[..., T], /, *args: object, on_progress: OnProgress | None = None
    ) -> T:
        return await self._call(method, args, _LONG_TIMEOUT_S, on_progress)

    async def _call(
        self,
        method: RpcMethod[..., T],
        args: tuple[object, ...],
        timeout_s: float,
        on_progress: OnProgress | None,
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
                    can_repeat = isinstance(error, ConnectionClosed) and method.is_repeatable
                    if not attempts_left or self._reopen is None or not can_repeat:
                        raise self._not_answering(
                            text(
                                "The process that manages it ended (process {process}).",
                                process=str(self.owner_pid),
                            )
                        ) from error
                await self._reopen_after(backend, self._reopen)
            raise AssertionError  # the last turn of the loop returns or raises

    async def _ask(
        self,
        connection: OwnerConnection,
        method: RpcMethod[..., T],
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
            why = text(
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
        log = await self.events(commit.session_id)
        first = commit.events[0].seq - 1
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
            text("Lost the connection to the workspace data."),
            join_sentences(why, text("The last change may not be saved.")),
            text("Try again. The saved data is read again."),
        )


_OPEN_TIMEOUT_S = 3.0  # for an owner that is just opening or closing, or does not answer
_PAUSE_S = 0.05


async def open_store(
    folder: Path,
    workspace_id: str,
    clock: ClockMs = wall_clock_ms,
    timeout_s: float = _OPEN_TIMEOUT_S,
    *,
    as_owner: bool = False,
    on_progress: OnProgress = no_progress,
) -> SharedStore | RemoteStore:
    """Own the store in `folder`, or use it through its owner; `on_progress` reports a repair's progress.

    `as_owner`: it is owned, or not opened. Raise StoreLocked, naming the owner, if that does not answer, or
    release it, in time; else as LevelDbStore.open does.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while True:
        try:
            return await SharedStore.open(folder, workspace_id, clock, on_progress=on_progress)
        except StoreLocked as locked:
            if locked.owner_pid == os.getpid():
                raise
            if not as_owner:
                reopen = partial(_reopen, folder, workspace_id, clock, timeout_s)
                remote_store = await _try_connect(folder, workspace_id, deadline - loop.time(), reopen)
                if remote_store is not None:
                    return remote_store
            if loop.time() + _PAUSE_S > deadline:
                if as_owner:
                    raise
                why = join_sentences(
                    text("It hasn't answered for {seconds} s.", seconds=round(timeout_s)),
                    text("Only one process at a time can write workspace data."),
                )
                raise StoreLocked(locked.what, locked.owner_pid, why, locked.fix) from locked
        await asyncio.sleep(_PAUSE_S)  # the owner may be about to listen, or about to end


async def connect(folder: Path, workspace_id: str, reopen: Reopen | None = None) -> RemoteStore:
    """Use a store through its owner; `reopen` opens it again when that ends.

    Raise ConnectionClosed, OSError, StoreUnreadable, InvalidFrame.
    """
    endpoint = read_endpoint(folder)
    if endpoint is None:
        raise ConnectionClosed
    connection = await _open_connection(endpoint)
    try:
        challenge = (await connection.receive_handshake()).decode(Challenge)
        proof = prove_client(endpoint.secret, challenge)
        connection.send_handshake(encode_frame(proof))
        answer = (await connection.receive_handshake()).decode(OwnerProof)
        check_owner(endpoint.secret, challenge, proof, answer)
        connection.mark_authenticated()
        if answer.workspace_id != workspace_id:
            raise store_errors.other_workspace(answer.workspace_id, workspace_id)
    except BaseException:
        await connection.close()
        raise
    return RemoteStore(connection, answer.pid, reopen)


async def _try_connect(
    folder: Path, workspace_id: str, timeout_s: float, reopen: Reopen
) -> RemoteStore | None:
    """Connect to the store's owner; None if it does not answer. Raise StoreUnreadable, StoreLocked."""
    try:
        async with asyncio.timeout(max(timeout_s, _PAUSE_S)):
            return await connect(folder, workspace_id, reopen)
    except UnsupportedVersion as error:
        raise StoreLocked(
            text("This workspace is in use by another version of Helix Desktop."),
            None,
            text("The two can't communicate ({detail}).", detail=str(error)),
            text("Close the other one, or use the same version."),
        ) from error
    except (ConnectionClosed, InvalidFrame, OSError, TimeoutError):
        return None


async def _reopen(folder: Path, workspace_id: str, clock: ClockMs, timeout_s: float) -> Backend:
    """Return where a store is used after its previous owner has ended. Raise as `open_store` does."""
    store = await open_store(folder, workspace_id, clock, timeout_s)
    return store.backend if isinstance(store, RemoteStore) else store


async def _open_connection(endpoint: OwnerEndpoint) -> OwnerConnection:
    loop = asyncio.get_running_loop()
    if endpoint.path:
        _, connection = await loop.create_unix_connection(OwnerConnection, endpoint.path)
    else:
        _, connection = await loop.create_connection(OwnerConnection, endpoint.host, endpoint.port)
    return connection
