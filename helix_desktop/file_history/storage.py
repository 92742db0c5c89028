"""What a file history takes on disk, its clean-up, the removal of secrets, and the full check."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from helix_desktop.domain.errors import StoreRepaired
from helix_desktop.domain.file_history.storage import FileHistoryCheck, FileHistoryCleanup, FileHistoryTotals
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.database.check import check_history, repair_history
from helix_desktop.file_history.database.cleanup import clean_up, plan_clean_up
from helix_desktop.file_history.database.database import FileHistoryDatabase
from helix_desktop.file_history.database.redaction import HistoryRedaction
from helix_desktop.system.clock import ClockMs

text = TextContext("Changes")
T = TypeVar("T")


class FileHistoryStorage:
    """The database of one file history, opened for each call in a thread of its own.

    So nothing here waits for what is captured meanwhile, nor the other way round, but for single writes.
    Without a database there is nothing in it, and none is made. Every method may raise StoreUnreadable and
    StoreWriteFailed.
    """

    def __init__(self, path: Path, clock: ClockMs) -> None:
        """`clock` returns the time in milliseconds since 1970."""
        self._path, self._clock = path, clock

    async def totals(self) -> FileHistoryTotals:
        """Return what it holds, and what it takes on disk."""
        return await self._run(FileHistoryDatabase.totals, FileHistoryTotals())

    async def captures(self) -> dict[str, set[str]]:
        """Return the ids of all captures, by session."""

        def read(database: FileHistoryDatabase) -> dict[str, set[str]]:
            found: dict[str, set[str]] = {}
            for capture in database.captures.all():
                found.setdefault(capture.session, set()).add(capture.id)
            return found

        return await self._run(read, {})

    async def plan(self, gone: Collection[str], quota: int) -> FileHistoryCleanup:
        """Return what a clean-up would remove.

        `gone` are captures that are in no log any more, `quota` is in bytes as stored (0: none).
        """
        return await self._run(
            lambda database: plan_clean_up(database, gone, quota, self._clock()).result, FileHistoryCleanup()
        )

    async def clean_up(self, gone: Collection[str], quota: int) -> FileHistoryCleanup:
        """Remove it; return what was removed."""
        return await self._run(
            lambda database: clean_up(database, gone, quota, self._clock()), FileHistoryCleanup()
        )

    async def preview(self, redaction: Redaction, on_progress: OnProgress = no_progress) -> RedactionMatches:
        """Return where a secret is; changes nothing. Canceling ends it soon."""
        return await self._run_long(
            lambda database, report: HistoryRedaction(database, redaction).preview(report),
            RedactionMatches(),
            on_progress,
        )

    async def redact(self, redaction: Redaction, on_progress: OnProgress = no_progress) -> RedactionMatches:
        """Remove a secret, from the files on disk too; return where it was."""
        return await self._run_long(
            lambda database, report: HistoryRedaction(database, redaction).redact(report),
            RedactionMatches(),
            on_progress,
        )

    async def lift(self, digest: str) -> bool:
        """Allow a removed content to be stored again; return True if it was removed."""
        return await self._run(lambda database: database.contents.lift(digest), False)

    async def notice(self) -> StoreRepaired | None:
        """Return that it was damaged and replaced by a new one, once."""

        def read(database: FileHistoryDatabase) -> StoreRepaired | None:
            damaged, salvaged = database.damaged_file, database.salvaged
            if not damaged:
                return None
            database.mark_damage_reported()
            return StoreRepaired(
                text("The file history was damaged, and a new one began."),
                text.plural(
                    salvaged,
                    "%n version of a file could be saved. Other earlier changes can't be undone any more.",
                    "%n versions of files could be saved. Other earlier changes can't be undone any more.",
                )
                if salvaged
                else text("Earlier changes can't be undone any more."),
                text("The damaged file is {file}.", file=damaged),
            )

        return await self._run(read, None)

    async def check(self, on_progress: OnProgress = no_progress) -> FileHistoryCheck:
        """Check everything. Canceling ends it soon."""
        return await self._run_long(check_history, FileHistoryCheck(), on_progress)

    async def repair(self, found: FileHistoryCheck) -> None:
        """Remove what a check found damaged; a damaged file itself is moved aside."""
        await self._run(lambda database: repair_history(database, found), None)

    async def _run(self, work: Callable[[FileHistoryDatabase], T], without: T) -> T:
        def run() -> T:
            if not self._path.exists():
                return without
            database = FileHistoryDatabase(self._path, self._clock)
            try:
                return work(database)
            finally:
                database.close()

        return await asyncio.to_thread(run)

    async def _run_long(
        self, work: Callable[[FileHistoryDatabase, OnProgress], T], without: T, on_progress: OnProgress
    ) -> T:
        """Run what reports its progress, which is where it ends when it is canceled."""
        loop, is_canceled = asyncio.get_running_loop(), threading.Event()

        def report(done: int, total: int) -> None:
            if is_canceled.is_set():
                raise asyncio.CancelledError
            loop.call_soon_threadsafe(on_progress, done, total)

        try:
            return await self._run(lambda database: work(database, report), without)
        except asyncio.CancelledError:
            is_canceled.set()
            raise
