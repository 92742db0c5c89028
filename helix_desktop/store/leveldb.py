"""The store of a workspace on disk: one LevelDB, one writer thread, verified reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

from helix_desktop.context.archive import Progress, silent
from helix_desktop.context.content import Content, Entry, SessionSummary, StoreTotals
from helix_desktop.context.digest import is_digest
from helix_desktop.context.draft import Draft
from helix_desktop.context.errors import ContentDamaged, StoreError
from helix_desktop.context.event import Attachment, Recorded
from helix_desktop.store import keys, refusals
from helix_desktop.store.backlog import Backlog
from helix_desktop.store.backstage import Backstage
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import RowDamaged
from helix_desktop.store.commit import Clock, Commit, now
from helix_desktop.store.content import Contents, find, missing
from helix_desktop.store.counters import Counters, read_totals
from helix_desktop.store.delivery import Delivery
from helix_desktop.store.draft_rows import read_draft, stage_draft
from helix_desktop.store.event_log import read_events
from helix_desktop.store.forget import LevelForgetting
from helix_desktop.store.handle import View
from helix_desktop.store.health import LevelHealth
from helix_desktop.store.keep import LevelKeeper
from helix_desktop.store.level_finder import LevelFinder
from helix_desktop.store.listing import read_sessions
from helix_desktop.store.opening import Files, open_files
from helix_desktop.store.packing import Helper, Packing
from helix_desktop.store.quarantine import Quarantine
from helix_desktop.store.readers import Readers
from helix_desktop.store.record import read_record
from helix_desktop.store.scouring import finish_scouring
from helix_desktop.store.search_thread import SearchThread
from helix_desktop.store.search_work import Work
from helix_desktop.store.staging import stage_commit
from helix_desktop.store.writer import Job, Writer

INDEX_AFTER_S = 0.5  # seconds without a commit or a question, after which texts are indexed

T = TypeVar("T")


class LevelStore(LevelFinder):
    """One workspace's durable memory, for one event loop. Made by `open`; must be closed."""

    def __init__(
        self, files: Files, readers: Readers, delivery: Delivery, clock: Clock, index_after: float | None
    ) -> None:
        folder = files.layout.folder.name
        contents = Contents(files.handle, files.codec, Quarantine(files.layout.quarantine))
        mended = files.report is not None
        work = Work(files.layout.search, files.handle, files.codec, contents, mended)
        super().__init__(files.codec, SearchThread(f"helix-store-index-{folder}", work, index_after))
        self._files = files
        self._delivery = delivery
        self._readers = readers
        self._clock = clock
        self._contents = contents
        self.keep = LevelKeeper(self._read, self._put, files.handle, files.codec, self._contents, clock)
        self.forgetting = LevelForgetting(
            *(self._read, self._put, files.handle, files.layout, files.codec, self._contents, clock),
            # The index is begun anew when something is forgotten: answering, it has done so.
            lambda: asyncio.wrap_future(self._index.ask(lambda _: None)),
        )
        self._backlog = Backlog()
        self._counters = Counters(files.codec)
        self.backstage = Backstage(files.layout.folder, files.codec, self._contents, self._answer, self._put)
        self.health = LevelHealth(files, self._contents, self._read)
        self._helper = Helper(
            f"helix-store-pack-{folder}",
            lambda digest: files.handle.get(keys.record(digest)) is not None,
        )
        self._ended: Future[None] | None = None
        name = f"helix-store-write-{folder}"
        self._writer = Writer(
            name, files.handle.get, _guarded(files, self._write), delivery.tell, self._finish
        )

    @classmethod
    async def open(
        cls,
        folder: Path,
        workspace: str,
        clock: Clock = now,
        *,
        index_after: float | None = INDEX_AFTER_S,
        told: Progress = silent,
    ) -> Self:
        """Open, or where nothing is create, the store in `folder` of the workspace with this UUID.

        A damaged one is mended as far as it can be: `told` hears how far that is, on another thread; `health`
        says what became of it.
        Texts are indexed after `index_after` seconds of quiet; None: only when `indexed` is awaited.
        Raises StoreLocked, StoreUnreadable, DataDirUnusable; ValueError when `workspace` is no UUID.
        """
        readers = Readers(f"helix-store-read-{folder.name}")
        opening: Future[Files] = Future()
        readers.give(lambda: _fulfil(opening, lambda: _opened(folder, workspace, clock, told)))
        try:
            files = await asyncio.wrap_future(opening)
        except BaseException:
            opening.add_done_callback(_abandon)
            readers.end(wait=False)
            raise
        return cls(files, readers, Delivery(asyncio.get_running_loop()), clock, index_after)

    async def commit(
        self,
        session: str,
        events: Sequence[Recorded] = (),
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        summary: SessionSummary | None = None,
    ) -> None:
        """Store all of it, or nothing, durably; returns when it would survive a power cut.

        Cancelled, it is stored as a whole or not at all. Raises StoreWriteFailed, ContentTooLarge,
        StoreClosed; ValueError when the events leave a gap, or something names a content that is not stored.
        """
        self._check_open()
        made = Commit(session, self._clock(), tuple(events), tuple(contents), tuple(recalls), summary)
        made.check()
        if made.empty:
            return
        packings = [self._contents.packing(content) for content in made.contents]
        await self._put(
            lambda batch: stage_commit(batch, self._codec, self._contents, made, packings),
            made.size,
            packings,
        )
        self.health.alarm.healed(one.digest for one in made.contents)

    async def events(self, session: str) -> list[Recorded]:
        """A session's whole log, in order. Raises StoreUnreadable when a part of it is damaged."""
        return await self._read(lambda view: read_events(view, self._codec, session))

    async def sessions(self) -> list[SessionSummary]:
        """All sessions, last updated first."""
        return await self._read(lambda view: read_sessions(view, self._codec))

    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest, verified. Raises DigestUnknown (with near matches), ContentDamaged."""
        try:
            return await self._read(lambda view: self._contents.read(view, digest))
        except ContentDamaged as error:
            self.health.alarm.sound(digest, error)
            raise

    async def entry(self, digest: str) -> Entry:
        """What is known of a content. Raises DigestUnknown, ContentDamaged."""

        def ask(view: View) -> Entry:
            try:
                record = read_record(view.get, self._codec, digest) if is_digest(digest) else None
            except RowDamaged as error:
                raise refusals.damaged(digest, f"its record cannot be read: {error}") from error
            if record is None:
                raise missing(view, self._codec, digest)
            return record.entry(digest)

        return await self._read(ask)

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix` (1 to 64 hex digits), in order. Raises ValueError."""
        return await self._read(lambda view: find(view, prefix, limit))

    async def totals(self) -> StoreTotals:
        """Counts and sizes of the whole store."""
        return await self._read(lambda view: read_totals(view.get, self._codec))

    async def save_draft(self, session: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save what was typed and attached, and not sent; nothing of both deletes it.

        Raises StoreWriteFailed.
        """
        self._check_open()
        keys.session_bytes(session)
        draft = Draft(text, tuple(attachments))
        await self._put(lambda batch: stage_draft(batch, self._codec, session, draft), draft.size)

    async def draft(self, session: str) -> Draft:
        """Return what was typed and attached, and not sent."""
        key = keys.draft(session)
        return await self._read(lambda view: read_draft(self._codec, key, view.get(key)))

    async def close(self) -> None:
        """Write what is queued, wait for readers, let go of the files, end the threads. Idempotent."""
        if self._ended is None:
            self._backlog.shut()
            self.backstage.shut()
            self._ended = self._writer.end()
        await asyncio.shield(asyncio.wrap_future(self._ended))
        self._writer.join()

    def _check_open(self) -> None:
        if self._ended is not None:
            raise refusals.closed()

    async def _put(self, stage: Callable[[Batch], None], size: int, packings: Sequence[Packing] = ()) -> None:
        await self._backlog.enter(size)
        try:
            self._helper.help(packings)
            place: asyncio.Future[None] = self._delivery.place()
            self._writer.give(Job(_guarded(self._files, stage), size, place))
            await place
        finally:
            self._backlog.leave(size)

    async def _read(self, ask: Callable[[View], T]) -> T:
        self._check_open()
        return await self._readers.ask(self._delivery, lambda: self._answer(ask))

    def _answer(self, ask: Callable[[View], T]) -> T:
        try:
            return self._files.handle.read(ask)
        except RowDamaged as error:
            raise self._files.doubt(error) from error

    def _write(self, batch: Batch) -> None:
        try:
            self._counters.stage(batch)
            self._files.handle.write(batch)
        except BaseException:
            self._counters.forget()
            raise
        self._index.changed(batch)

    def _finish(self) -> None:
        # On the writer's thread: reads that were asked before the close are answered first.
        self._readers.end()
        self._index.close()
        self._helper.end()
        self._files.close()


def _opened(folder: Path, workspace: str, clock: Clock, told: Progress) -> Files:
    files = open_files(folder, workspace, clock, told=told)
    finish_scouring(files.handle, files.layout, files.codec)
    return files


def _guarded(files: Files, work: Callable[[Batch], None]) -> Callable[[Batch], None]:
    """The same, on open files, and a damaged row reaches the caller as an error for people."""

    def run(batch: Batch) -> None:
        files.handle.ensure_open()
        try:
            work(batch)
        except RowDamaged as error:
            raise files.doubt(error) from error

    return run


def _fulfil(opening: Future[Files], work: Callable[[], Files]) -> None:
    if not opening.set_running_or_notify_cancel():
        return
    try:
        opening.set_result(work())
    except Exception as error:  # noqa: BLE001 - handed to whoever opens the store
        opening.set_exception(error)


def _abandon(opening: Future[Files]) -> None:
    """Close what was opened for a caller who no longer waits."""
    if not opening.cancelled() and opening.exception() is None:
        with suppress(StoreError):
            opening.result().close()
