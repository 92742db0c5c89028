"""The store of the process that owns it, open to the user's other processes through a local socket.

A log stays single-writer by three rules. A session that is open in the owner, or that it has written, is
written by the owner alone. A session that a client has begun to write is that client's until its connection
ends. And in any case the store itself takes only events that continue the log: two writers could
never mix theirs.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from helix_desktop.domain.errors import HelixError, StoreError, StoreLocked
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.store import Commit
from helix_desktop.domain.store_reports import ArchiveTotals, ExportResult, ImportResult
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim
from helix_desktop.store.archive_transfer import export_session, export_store, import_store
from helix_desktop.store.leveldb_store import INDEX_AFTER_S, LevelDbStore
from helix_desktop.store.remote.rpc import (
    COMMIT,
    EXPORT,
    EXPORT_SESSION,
    HANDSHAKE_ID,
    HEAD_BYTES,
    IMPORT,
    LOOPBACK,
    MAX_ANSWER_BYTES,
    MAX_HANDSHAKE_BYTES,
    MAX_REQUEST_BYTES,
    ClientProof,
    Frame,
    FrameHead,
    InvalidFrame,
    OwnerEndpoint,
    RemoteRedaction,
    RemoteRetention,
    RpcMethod,
    RpcRequest,
    encode_frame,
    encode_progress,
    method_of,
    new_challenge,
    new_secret,
    new_socket_path,
    prove_owner,
    read_frame_head,
    remove_endpoint,
    to_rpc_error,
    write_endpoint,
)
from helix_desktop.store.threads import Backpressure
from helix_desktop.system.clock import ClockMs, wall_clock_ms

_log = logging.getLogger(__name__)

text = TextContext("Store")

IsOpenHere = Callable[[str], bool]
"""Return True if a session is open in this process."""


class SessionLeases:
    """The sessions that clients write; a client is any object that represents a connection."""

    def __init__(self) -> None:
        self.is_open_here: IsOpenHere = lambda _: False
        self._own_sessions: set[str] = set()
        self._clients: dict[str, object] = {}

    def acquire(self, session_id: str, client: object) -> None:
        """Lease a session to a client from now on. Raise StoreLocked if another process writes it."""
        if self._is_open_here(session_id):
            raise self._session_locked(session_id, os.getpid())
        if self._clients.setdefault(session_id, client) is not client:
            raise self._session_locked(session_id, None)

    def is_available(self, session_id: str, client: object = None) -> bool:
        """Return True if nobody writes this session, except for `client`."""
        return self._clients.get(session_id, client) is client and not self._is_open_here(session_id)

    def acquire_own(self, session_id: str) -> None:
        """Lease a session to this process from now on. Raise StoreLocked if a client has it."""
        self.check_not_leased(session_id)
        self._own_sessions.add(session_id)

    def check_not_leased(self, session_id: str) -> None:
        """Raise StoreLocked if a client writes a session."""
        if session_id in self._clients:
            raise self._session_locked(session_id, None)

    def refusal(self, why: TranslatableText) -> StoreLocked:
        return StoreLocked(
            text(
                "This workspace is in use by another running Helix Desktop (process {process}).",
                process=str(os.getpid()),
            ),
            os.getpid(),
            why,
            text("If it's a window, do it there or close it. If it's a command, wait until it ends."),
        )

    def release_all(self, client: object) -> None:
        self._clients = {
            session_id: holder for session_id, holder in self._clients.items() if holder is not client
        }

    def _is_open_here(self, session_id: str) -> bool:
        return session_id in self._own_sessions or self.is_open_here(session_id)

    def _session_locked(self, session_id: str, process: int | None) -> StoreLocked:
        return StoreLocked(
            text(
                "The session {session} is in use by another Helix program: a window or a run.",
                session=session_id[:8],
            ),
            process,
            text("Only one program at a time can write to a session."),
            text("Wait until the run ends or close the session there, or start another session."),
        )


_MAX_PROGRESS_FRAMES = 200  # maximum number of progress frames for one answer
_MAX_CONCURRENT_REQUESTS = 64  # of one client; the next is read when one is answered


class ClientConnection:
    """A connection whose other end has proved to be the same user."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: SharedStore
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self._backpressure = Backpressure()
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_REQUESTS)
        self._write_lock = asyncio.Lock()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Answer until the client leaves, then cancel its pending requests. Raise InvalidFrame."""
        try:
            async with asyncio.TaskGroup() as calls:
                while await self._accept_request(calls):
                    pass
                for task in self._answering:
                    task.cancel()
        finally:
            self._handler.client_disconnected(self)

    async def _accept_request(self, tasks: asyncio.TaskGroup) -> bool:
        """Begin to answer one more request; return False if the client has left."""
        await self._slots.acquire()
        async with AsyncExitStack() as slots:
            slots.callback(self._slots.release)
            try:
                head = read_frame_head(await self._reader.readexactly(HEAD_BYTES), MAX_REQUEST_BYTES)
                await slots.enter_async_context(self._backpressure.slot(head.length))
                payload = await self._reader.readexactly(head.length)
            except asyncio.IncompleteReadError:
                return False
            task = tasks.create_task(self._answer(head, payload, slots.pop_all()))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return True

    async def _answer(self, head: FrameHead, payload: bytes, slots: AsyncExitStack) -> None:
        async with slots:
            result = await self._handle_frame(Frame(payload, head.is_json), head.id)
            await _send_frame(self._writer, head.id, result, self._write_lock)

    async def _handle_frame(self, request_frame: Frame, request_id: int) -> Frame:
        try:
            request = request_frame.decode(RpcRequest)
            method = method_of(request)
            args = method.decode_args(request, request_frame.is_json)
            on_progress = (
                ProgressSender(self._writer, request_id).report if request.wants_progress else no_progress
            )
            result = encode_frame((None, await self._handler.handle_request(self, method, args, on_progress)))
        except InvalidFrame as error:
            refused = StoreError(text("The request was refused."), verbatim(f"{error}."))
            return encode_frame((to_rpc_error(refused), None))
        except (HelixError, ValueError) as error:
            return encode_frame((to_rpc_error(error), None))
        except Exception:  # noqa: BLE001 - a bug of ours: it is logged, and the client must get an answer
            _log.exception("a request of another process failed")
            failed = StoreError(
                text("The process that manages the workspace data couldn't answer."),
                fix=text("Open the log for details."),
            )
            return encode_frame((to_rpc_error(failed), None))
        if len(result.payload) > MAX_ANSWER_BYTES:
            too_large = StoreError(
                text("The answer is too large to send."), fix=text("Ask for less at once.")
            )
            return encode_frame((to_rpc_error(too_large), None))
        return result


class ProgressSender:
    """Report the progress of an answer to a client: from any thread, rarely enough for any socket."""

    def __init__(self, writer: asyncio.StreamWriter, request_id: int) -> None:
        self._writer = writer
        self._request_id = request_id
        self._loop = asyncio.get_running_loop()
        self._sent_step = -1

    def report(self, done: int, size: int) -> None:
        step = done * _MAX_PROGRESS_FRAMES // max(1, size)
        if step != self._sent_step:
            self._sent_step = step
            with suppress(RuntimeError):  # the loop may have ended
                self._loop.call_soon_threadsafe(self._send, encode_progress(done, size))

    def _send(self, progress_frame: Frame) -> None:
        if not self._writer.is_closing():
            # Complete, between other frames.
            self._writer.write(progress_frame.encode_head(self._request_id) + progress_frame.payload)


async def _send_frame(
    writer: asyncio.StreamWriter, request_id: int, answer: Frame, write_lock: asyncio.Lock
) -> None:
    """Send a frame and wait until the other side takes it; ignore a side that has left."""
    async with write_lock:
        with suppress(ConnectionError):
            writer.writelines((answer.encode_head(request_id), answer.payload))
            await writer.drain()


_HANDSHAKE_TIMEOUT_S = 5.0  # until a client must have proved its identity
_MAX_CLIENTS = 32
_ACCEPT_LOOP_TURNS = 6  # turns of the loop until the last accepted client is known, and gone


class StoreServer:
    """Serve one store to other processes of the same user, from `start` to `close`."""

    def __init__(self, folder: Path, workspace_id: str, handler: SharedStore) -> None:
        self._folder = folder
        self._workspace_id = workspace_id
        self._handler = handler
        self._secret = new_secret()
        self._client_tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._closed = False

    async def start(self, loopback: bool = LOOPBACK) -> None:
        """Listen, and write the address into the store's folder. Raise OSError."""
        remove_endpoint(self._folder)
        # Not serving yet: if canceled while it starts to, asyncio would lose the listening socket.
        if loopback:
            self._server = await asyncio.start_server(self._serve_client, "127.0.0.1", 0, start_serving=False)
            endpoint = OwnerEndpoint(self._secret, port=self._server.sockets[0].getsockname()[1])
        else:
            path = new_socket_path()
            # Written first, so that after a sudden death the next owner finds what to remove.
            endpoint = OwnerEndpoint(self._secret, path=str(path))
            write_endpoint(self._folder, endpoint)
            self._server = await asyncio.start_unix_server(self._serve_client, str(path), start_serving=False)
        await self._server.start_serving()
        write_endpoint(self._folder, endpoint)

    async def close(self) -> None:
        self._closed = True
        remove_endpoint(self._folder)
        # asyncio loses a socket that was accepted and not yet attached when the server closes.
        for _ in range(_ACCEPT_LOOP_TURNS):
            await asyncio.sleep(0)
        if self._server is not None:
            self._server.close()
        for task in self._client_tasks:
            task.cancel()
        await asyncio.gather(*self._client_tasks, return_exceptions=True)

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or self._closed or len(self._client_tasks) >= _MAX_CLIENTS:
            writer.transport.abort()
            return
        self._client_tasks.add(task)
        try:
            async with asyncio.timeout(_HANDSHAKE_TIMEOUT_S):
                await self._authenticate(reader, writer)
            await ClientConnection(reader, writer, self._handler).serve()
        except* (InvalidFrame, OSError, asyncio.IncompleteReadError, TimeoutError) as refused:
            _log.info("a guest of the store was sent away: %s", refused.exceptions[0])
        except* asyncio.CancelledError:
            pass  # this server closes; nobody waits for more of this task
        finally:
            self._client_tasks.discard(task)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _authenticate(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Verify a client's proof, and send ours. Raise InvalidFrame."""
        challenge = new_challenge()
        await _send_handshake(writer, encode_frame(challenge))
        head = read_frame_head(await reader.readexactly(HEAD_BYTES), MAX_HANDSHAKE_BYTES)
        proof = Frame(await reader.readexactly(head.length), head.is_json).decode(ClientProof)
        await _send_handshake(
            writer, encode_frame(prove_owner(self._secret, challenge, proof, self._workspace_id, os.getpid()))
        )


async def _send_handshake(writer: asyncio.StreamWriter, message: Frame) -> None:
    writer.writelines((message.encode_head(HANDSHAKE_ID), message.payload))
    await writer.drain()


_CHANGES_SESSION_LIST = (
    IMPORT,
    RemoteRetention.trash_session,
    RemoteRetention.restore_session,
    RemoteRetention.empty_trash,
    RemoteRetention.delete_permanently,
)  # these change the list of sessions


class SharedStore(LevelDbStore):
    """A LevelDbStore that serves clients while it is open; it also works where no socket can be created."""

    _leases: SessionLeases
    _server: StoreServer | None = None
    _external_change_listener: Callable[[str], None] | None = None
    _refused_commit_listener: Callable[[str], None] | None = None

    @classmethod
    async def open(
        cls,
        folder: Path,
        workspace_id: str,
        clock: ClockMs = wall_clock_ms,
        loopback: bool = LOOPBACK,
        *,
        index_after_s: float | None = INDEX_AFTER_S,
        on_progress: OnProgress = no_progress,
    ) -> Self:
        """Open a store as LevelDbStore does, and listen for other processes."""
        store = await super().open(
            folder, workspace_id, clock, index_after_s=index_after_s, on_progress=on_progress
        )
        store._leases = SessionLeases()
        server = StoreServer(folder, workspace_id, store)
        try:
            await server.start(loopback)
        except OSError as error:
            _log.warning("Other processes cannot use this store while it is open: %s", error)
        except BaseException:
            await server.close()
            await store.close()
            raise
        store._server = server
        return store

    def set_open_sessions(self, is_open_here: IsOpenHere) -> None:
        """Set which sessions are open in this process: no other process may write them."""
        self._leases.is_open_here = is_open_here

    def on_external_change(self, listener: Callable[[str], None]) -> None:
        """Call `listener` when a client changes the session list, with the session's id; "" means any."""
        self._external_change_listener = listener

    def on_refused_commit(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the id of a session that a client wanted to write and may not."""
        self._refused_commit_listener = listener

    async def commit(self, commit: Commit) -> None:
        """Store as LevelDbStore does. Raise StoreLocked while another process writes the session."""
        if commit.events:
            self._leases.acquire_own(commit.session_id)
        elif commit.summary:
            self._leases.check_not_leased(commit.session_id)
        await super().commit(commit)

    async def export_to(self, path: Path, name: str, on_progress: OnProgress = no_progress) -> ExportResult:
        """Write the store to a file, from a snapshot. Raise as `export_store` does."""
        return await export_store(self, str(path), name, self._access.clock(), on_progress)

    async def export_session_to(
        self, path: Path, name: str, session_id: str, on_progress: OnProgress = no_progress
    ) -> ExportResult:
        """Write one session to a file, from a snapshot. Raise as `export_store` does."""
        return await export_session(self, str(path), name, self._access.clock(), session_id, on_progress)

    async def import_from(
        self, path: Path, on_progress: OnProgress = no_progress, totals: ArchiveTotals | None = None
    ) -> ImportResult:
        """Merge a file into the store, except sessions that are open. Raise as `import_store` does.

        `totals` are those of a file that this process has just written: it isn't checked again.
        """
        return await import_store(self, str(path), self._leases.is_available, on_progress, totals)

    async def close(self) -> None:
        """Disconnect the clients, then close as LevelDbStore does."""
        if self._server is not None:
            server = self._server
            self._server = None
            await server.close()
        await super().close()

    async def handle_request(
        self, client: object, method: RpcMethod[..., Any], args: tuple[Any, ...], on_progress: OnProgress
    ) -> Any:
        """Run a client's request. Raise what the method raises; StoreLocked for another's session."""
        try:
            result = await self._run_method(client, method, args, on_progress)
        except StoreLocked:
            if method is COMMIT and self._refused_commit_listener is not None:
                self._refused_commit_listener(args[0].session_id)
            raise
        if self._external_change_listener is not None:
            if method is COMMIT and args[0].changes_session:
                self._external_change_listener(args[0].session_id)
            elif method in _CHANGES_SESSION_LIST:
                self._external_change_listener("")
        return result

    async def _run_method(
        self, client: object, method: RpcMethod[..., Any], args: tuple[Any, ...], on_progress: OnProgress
    ) -> Any:
        if method is EXPORT:
            path, name, at_ms = args
            return await export_store(self, path, name, at_ms, on_progress)
        if method is EXPORT_SESSION:
            path, name, at_ms, session_id = args
            return await export_session(self, path, name, at_ms, session_id, on_progress)
        if method is IMPORT:
            (path,) = args
            return await import_store(self, path, self._leases.is_available, on_progress)
        if method is RemoteRedaction.redact:
            raise self._leases.refusal(
                text("A secret can be removed only while no other process has the workspace open.")
            )
        if method is RemoteRetention.trash_session and not self._leases.is_available(args[0], client):
            raise self._leases.refusal(text("An open session can't be moved to the trash."))
        if method is not COMMIT:
            progress_args = {"on_progress": on_progress} if method.reports_progress else {}
            return await attrgetter(method.path)(self)(*args, **progress_args)
        commit: Commit = args[0]
        if commit.changes_session:
            self._leases.acquire(commit.session_id, client)
        return await super().commit(commit)

    def client_disconnected(self, client: object) -> None:
        self._leases.release_all(client)
