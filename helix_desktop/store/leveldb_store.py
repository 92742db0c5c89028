"""The store of a workspace on disk: one LevelDB, one writer thread, verified reads, listings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, StoreError
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.passages import PassagePage, PassageQuery
from helix_desktop.domain.store import Commit, EntryPage
from helix_desktop.store import search_index, store_errors
from helix_desktop.store.commits import BulkAccess, StoreAccess
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.database import damage_behind
from helix_desktop.store.files import Quarantine
from helix_desktop.store.indexer import Indexer, SearchThread
from helix_desktop.store.kinds import RowDamaged, RowView
from helix_desktop.store.opening import LevelDbHealth, OpenFiles, open_files
from helix_desktop.store.redaction import LevelDbRedaction, finish_pending_deletion
from helix_desktop.store.retention import RowRetention
from helix_desktop.store.row_store import RowStore
from helix_desktop.store.search_index import SearchIndex, match_expression
from helix_desktop.store.store_search import EntryQuery
from helix_desktop.store.threads import LoopBridge, ReaderThreads, WriteBatch, WriterThread
from helix_desktop.system.clock import ClockMs, wall_clock_ms

INDEX_AFTER_S = 0.5  # seconds without a commit or a query, after which texts are indexed

T = TypeVar("T")


class LevelDbStore(RowStore):
    """One workspace's durable store, for one event loop. Made by `open`; must be closed."""

    def __init__(
        self,
        files: OpenFiles,
        readers: ReaderThreads,
        loop_bridge: LoopBridge,
        clock: ClockMs,
        index_after_s: float | None,
    ) -> None:
        folder = files.store_files.folder.name
        contents = ContentStore(files.database, Quarantine(files.store_files.quarantine))
        self._files = files
        self._loop_bridge = loop_bridge
        self._readers = readers
        was_repaired = files.report is not None
        indexer = Indexer(files.store_files.search_index, files.database, contents, was_repaired)
        self._index = SearchThread(f"helix-store-index-{folder}", indexer, index_after_s)
        self._writer = WriterThread(
            f"helix-store-write-{folder}",
            loop_bridge,
            files.database.get,
            files.database.ensure_open,
            self._write_batch,
            self._explain,
            self._finish,
        )
        access = StoreAccess(self._run_query, self._writer.write, files.database, contents, clock)
        super().__init__(access)
        self.retention = RowRetention(access)
        self.redaction = LevelDbRedaction(
            access,
            files.database,
            files.store_files,
            lambda: asyncio.wrap_future(self._index.when_applied()),
        )
        self.health = LevelDbHealth(files, access)
        self.bulk_access = BulkAccess(files.store_files.folder, access, self._run_query_now)
        self._closing: Future[None] | None = None

    @classmethod
    async def open(
        cls,
        folder: Path,
        workspace_id: str,
        clock: ClockMs = wall_clock_ms,
        *,
        index_after_s: float | None = INDEX_AFTER_S,
        on_progress: OnProgress = no_progress,
    ) -> Self:
        """Open the store in `folder` of the workspace with this UUID; create it if nothing is there.

        A damaged store is repaired as far as possible: `on_progress` reports the progress, on another thread;
        `health` has the report.
        Texts are indexed after `index_after_s` seconds of quiet; None: only by `wait_until_indexed`.
        Raise StoreLocked, StoreUnreadable, DataDirUnavailable; ValueError if `workspace_id` is not a UUID.
        """
        readers = ReaderThreads(f"helix-store-read-{folder.name}")
        opening: Future[OpenFiles] = Future()
        readers.submit(
            lambda: _run_into_future(opening, lambda: _open_files(folder, workspace_id, clock, on_progress))
        )
        try:
            files = await asyncio.wrap_future(opening)
        except BaseException:
            opening.add_done_callback(_close_abandoned)
            readers.close(wait=False)
            raise
        return cls(files, readers, LoopBridge(asyncio.get_running_loop()), clock, index_after_s)

    async def commit(self, commit: Commit) -> None:
        await super().commit(commit)
        self.health.damage_notifier.forget_digests(content.digest for content in commit.contents)

    async def get(self, digest: str) -> bytes:
        try:
            return await super().get(digest)
        except ContentDamaged as error:
            self.health.damage_notifier.notify(digest, error)
            raise

    async def read_contents(self, digests: Sequence[str]) -> list[bytes | None]:
        damaged: list[tuple[str, ContentDamaged]] = []

        def read(view: RowView, digest: str) -> bytes | None:
            try:
                return self._access.contents.read(view, digest)
            except ContentDamaged as error:
                damaged.append((digest, error))
            except DigestUnknown as error:
                with suppress(DigestUnknown):  # removed since it was listed
                    return self._shown.find(digest, error).data
            return None

        contents = await self._run_query(lambda view: [read(view, digest) for digest in digests])
        for digest, error in damaged:
            self.health.damage_notifier.notify(digest, error)
        return contents

    async def tools(self) -> tuple[str, ...]:
        return tuple(await self._ask_index(lambda index: search_index.read_tools(index.db)))

    async def wait_until_indexed(self) -> None:
        self._check_open()
        await asyncio.wrap_future(self._index.when_indexed())

    async def list_stored_page(self, entry_query: EntryQuery, terms: Sequence[str] = ()) -> EntryPage:
        match = match_expression(terms)
        return await self._ask_index(
            lambda index: search_index.read_page(index, entry_query, match), is_part_of_search=bool(match)
        )

    async def find_passages(self, query: PassageQuery) -> PassagePage:
        self._check_open()
        page = await asyncio.wrap_future(self._index.find_passages(query))
        return await super().find_passages(query) if page is None else page

    async def list_stored_digests(self, entry_query: EntryQuery) -> bytes:
        parts: list[bytes] = []
        remaining: EntryQuery | None = entry_query
        while remaining is not None:
            part, remaining = await self._ask_index(partial(search_index.read_digests, remaining))
            parts.append(part)
        # Of a million entries it takes 30 ms, in which a join leaves the interpreter to other threads.
        return await asyncio.to_thread(b"".join, parts) if len(parts) > 1 else parts[0]

    async def close(self) -> None:
        """Write what is queued, wait for readers, close the files, end the threads. Idempotent."""
        if self._closing is None:
            self.bulk_access.close()
            self._closing = self._writer.close()
        await asyncio.shield(asyncio.wrap_future(self._closing))
        self._writer.join()

    def _check_open(self) -> None:
        if self._closing is not None:
            raise store_errors.store_closed()

    async def _run_query(self, query: Callable[[RowView], T]) -> T:
        self._check_open()
        return await self._readers.submit_async(self._loop_bridge, lambda: self._run_query_now(query))

    async def _ask_index(self, query: Callable[[SearchIndex], T], *, is_part_of_search: bool = False) -> T:
        """Return the index's answer, once it agrees with the store. Raise StoreClosed, StoreUnreadable."""
        self._check_open()  # a closed index would never answer
        try:
            answer = self._index.submit(query, is_part_of_search=is_part_of_search)
            return await asyncio.wrap_future(answer)
        except RowDamaged as error:
            raise self._files.mark_suspect(error) from error

    def _run_query_now(self, query: Callable[[RowView], T]) -> T:
        try:
            return self._files.database.read(query)
        except RowDamaged as error:
            raise self._files.mark_suspect(error) from error

    def _write_batch(self, batch: WriteBatch) -> None:
        self._files.database.write(batch)
        self._index.add_changes(batch)

    def _explain(self, error: Exception) -> Exception:
        """Return the error of a write for users: damage has the store repaired, no room would help."""
        damage = error if isinstance(error, RowDamaged) else damage_behind(error)
        if damage is None:
            return error
        suspect = self._files.mark_suspect(damage)
        suspect.__cause__ = error
        return suspect

    def _finish(self) -> None:
        # On the writer's thread: reads that were submitted before the close are answered first.
        self._readers.close()
        self._index.close()
        self._files.close()


def _open_files(folder: Path, workspace_id: str, clock: ClockMs, on_progress: OnProgress) -> OpenFiles:
    files = open_files(folder, workspace_id, clock, on_progress=on_progress)
    finish_pending_deletion(files.database, files.store_files)
    return files


def _run_into_future(opening: Future[OpenFiles], open_store_files: Callable[[], OpenFiles]) -> None:
    if not opening.set_running_or_notify_cancel():
        return
    try:
        opening.set_result(open_store_files())
    except Exception as error:  # noqa: BLE001 - delivered to the caller who opens the store
        opening.set_exception(error)


def _close_abandoned(opening: Future[OpenFiles]) -> None:
    """Close what was opened for a caller who no longer waits."""
    if not opening.cancelled() and opening.exception() is None:
        with suppress(StoreError):
            opening.result().close()
