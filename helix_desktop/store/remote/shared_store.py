"""The store of the process that owns it, open to the user's other processes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.store.archive_report import ExportResult, ImportResult
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.archive.transfer import export_session, export_store, import_store
from helix_desktop.store.leveldb_store import INDEX_AFTER_S, LevelDbStore
from helix_desktop.store.remote.endpoint_file import LOOPBACK
from helix_desktop.store.remote.rpc_methods import (
    COMMIT,
    DELETE_PERMANENTLY,
    EMPTY_TRASH,
    EXPORT,
    EXPORT_SESSION,
    IMPORT,
    REDACT,
    RESTORE_SESSION,
    TRASH_SESSION,
    RpcMethod,
)
from helix_desktop.store.remote.server import StoreServer
from helix_desktop.store.remote.session_leases import IsOpenHere, SessionLeases
from helix_desktop.system.clock import ClockMs, wall_clock_ms

text = TextContext("Store")

_log = logging.getLogger(__name__)

_CHANGES_SESSION_LIST = (
    IMPORT,
    TRASH_SESSION,
    RESTORE_SESSION,
    EMPTY_TRASH,
    DELETE_PERMANENTLY,
)  # these change the list of sessions


class SharedStore(LevelDbStore):
    """A LevelDbStore that serves clients while it is open; it also works where no socket can be created."""

    _leases: SessionLeases
    _server: StoreServer | None = None
    _external_change_listener: Callable[[str], None] | None = None

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

    async def import_from(self, path: Path, on_progress: OnProgress = no_progress) -> ImportResult:
        """Merge a file into the store, except sessions that are open. Raise as `import_store` does."""
        return await import_store(self, str(path), self._leases.is_available, on_progress)

    async def close(self) -> None:
        """Disconnect the clients, then close as LevelDbStore does."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.close()
        await super().close()

    async def handle_request(
        self, client: object, method: RpcMethod[Any], args: tuple[Any, ...], on_progress: OnProgress
    ) -> Any:
        """Run a client's request. Raise what the method raises; StoreLocked for another's session."""
        result = await self._run_method(client, method, args, on_progress)
        if self._external_change_listener is not None:
            if method is COMMIT and args[0].changes_session:
                self._external_change_listener(args[0].session_id)
            elif method in _CHANGES_SESSION_LIST:
                self._external_change_listener("")
        return result

    async def _run_method(
        self, client: object, method: RpcMethod[Any], args: tuple[Any, ...], on_progress: OnProgress
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
        if method is REDACT:
            raise self._leases.refusal(
                text("A secret can be removed only while no other process has the workspace open.")
            )
        if method is TRASH_SESSION and not self._leases.is_available(args[0], client):
            raise self._leases.refusal(text("An open session can't be moved to the trash."))
        if method is not COMMIT:
            progress_args = {method.progress_param: on_progress} if method.progress_param else {}
            return await attrgetter(method.path)(self)(*args, **progress_args)
        commit: Commit = args[0]
        if commit.changes_session:
            self._leases.acquire(commit.session_id, client)
        return await super().commit(commit)

    def client_disconnected(self, client: object) -> None:
        """Release the sessions that a client wrote."""
        self._leases.release_all(client)
