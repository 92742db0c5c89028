"""Retention in a workspace on disk: references, pins, clean-up, trash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from helix_desktop.domain.store.retention import (
    GRACE_MS,
    MAX_TIME_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    RetentionRule,
    TrashContents,
)
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.commit import Clock
from helix_desktop.store.core.row_codec import Codec
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.contents import ContentStore, find_digests
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.entry_record import read_record, write_record
from helix_desktop.store.leveldb.references import read_references, read_session_digests
from helix_desktop.store.retention import garbage_collection, session_trash

CONTENTS_PER_BATCH = 200  # contents per batch

T = TypeVar("T")


class RunQuery(Protocol):
    """Run a query on the stored rows, on a reader's thread."""

    def __call__(self, query: Callable[[ReadView], T], /) -> Awaitable[T]:
        """Return the result of `query`."""
        ...


class WriteRows(Protocol):
    """Have rows staged and written durably, on the writer's thread."""

    def __call__(self, stage: Callable[[WriteBatch], Any], size: int, /) -> Awaitable[None]:
        """Return once they are durable; `size` is their approximate size in bytes."""
        ...


class LevelDbRetention:
    """References, pins, clean-up and trash of one workspace's LevelDB; lives as long as its store."""

    def __init__(
        self,
        run_query: RunQuery,
        write: WriteRows,
        database: Database,
        codec: Codec,
        contents: ContentStore,
        clock: Clock,
    ) -> None:
        self._run_query, self._write = run_query, write
        self._database, self._codec, self._contents, self._clock = database, codec, contents, clock

    async def references(self, digest: str) -> list[ContentReference]:
        """Return the events that name a content. Raise ValueError if `digest` is not a digest."""
        keys.digest_bytes(digest)
        return await self._run_query(lambda view: read_references(view, digest))

    async def session_digests(self, session: str) -> list[str]:
        """Return the contents that a session names, each once, in the order of their first event."""
        keys.session_bytes(session)
        return await self._run_query(lambda view: read_session_digests(view, session))

    async def pin(self, digest: str, pinned: bool) -> None:
        """Exempt a content from every clean-up, or end that. Raise DigestUnknown."""

        def stage(batch: WriteBatch) -> None:
            record = read_record(batch.get, self._codec, digest)
            if record is None:
                raise store_errors.digest_unknown(
                    digest, lambda *near: self._database.read(lambda view: find_digests(view, *near))
                )
            changed = msgspec.structs.replace(record, pinned=pinned, trashed=0 if pinned else record.trashed)
            if changed != record:
                write_record(batch, self._codec, digest, changed)

        keys.digest_bytes(digest)
        await self._write(stage, 0)

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """Return what a clean-up would do now; change nothing."""
        at_ms = self._clock()
        return await self._run_query(
            lambda view: garbage_collection.read_plan(view, self._codec, self._contents, rule, at_ms)
        )

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, if they are still collectable."""
        at_ms, trashed_ms = self._clock(), await self._trash_time_ms()
        free = (await self.plan(RetentionRule(grace_ms=grace_ms))).to_trash
        selected = set(digests)
        collected = sorted(entry.digest for entry in free if entry.digest in selected)

        def stage(batch: WriteBatch, part: Sequence[str]) -> CleanupResult:
            return garbage_collection.stage_trash(
                batch, self._database, self._codec, part, grace_ms, at_ms, trashed_ms
            )

        return await self._in_batches(stage, collected)

    async def trash(self) -> TrashContents:
        """Return the contents of the trash."""
        return await self._run_query(
            lambda view: TrashContents(
                tuple(garbage_collection.read_trash(view, self._codec)),
                tuple(session_trash.read_trashed(view, self._codec)),
            )
        )

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Restore contents from the trash."""
        at_ms = await self._trash_time_ms()
        return await self._in_batches(
            lambda batch, part: garbage_collection.stage_restore(batch, self._codec, part, at_ms), digests
        )

    async def trash_session(self, session: str) -> tuple[str, ...]:
        """Move a session and its subagents' sessions to the trash; return the ids that were moved."""
        return await self._set_trashed(session, await self._trash_time_ms())

    async def restore_session(self, session: str) -> tuple[str, ...]:
        """Restore a session and its subagents' sessions from the trash; return the ids that were restored."""
        return await self._set_trashed(session, 0)

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Delete for good what was trashed before `before_ms` (ms since 1970; 0: everything in the trash)."""
        limit = before_ms or MAX_TIME_MS
        trash = await self.trash()
        removed = [summary.id for summary in trash.sessions if await self._remove_session(summary.id, limit)]
        codec, contents = self._codec, self._contents
        purgeable = await self._run_query(
            lambda view: garbage_collection.read_purgeable(view, codec, contents, limit)
        )

        def stage(batch: WriteBatch, part: Sequence[str]) -> CleanupResult:
            return garbage_collection.stage_purge(batch, self._database, self._codec, part, limit)

        result = await self._in_batches(stage, purgeable)
        await self._run_query(lambda _: self._clear_quarantine(result.digests))
        return msgspec.structs.replace(result, sessions=tuple(removed))

    async def _trash_time_ms(self) -> int:
        """Return the time, but not before the newest content: a clock set back must not age the trash."""
        return max(self._clock(), await self._run_query(garbage_collection.newest_created))

    async def _set_trashed(self, session: str, trashed_ms: int) -> tuple[str, ...]:
        keys.session_bytes(session)
        changed: list[str] = []

        def stage(batch: WriteBatch) -> None:
            changed[:] = session_trash.stage_trashed(batch, self._database, self._codec, session, trashed_ms)

        await self._write(stage, 0)
        return tuple(changed)

    async def _remove_session(self, session: str, before_ms: int) -> bool:
        done: list[bool] = []

        def stage(batch: WriteBatch) -> None:
            done.append(
                session_trash.stage_session_removal(batch, self._database, self._codec, session, before_ms)
            )

        await self._write(stage, 0)
        return done[0]

    async def _in_batches(
        self, stage: Callable[[WriteBatch, Sequence[str]], CleanupResult], digests: Sequence[str]
    ) -> CleanupResult:
        parts: list[CleanupResult] = []

        async def write_part(part: Sequence[str]) -> None:
            await self._write(lambda batch: parts.append(stage(batch, part)), 0)

        for index in range(0, len(digests), CONTENTS_PER_BATCH):
            await write_part(digests[index : index + CONTENTS_PER_BATCH])
        return CleanupResult(
            tuple(digest for result in parts for digest in result.digests),
            stored_size=sum(result.stored_size for result in parts),
        )

    def _clear_quarantine(self, digests: Sequence[str]) -> None:
        for digest in digests:
            self._contents.quarantine.remove(digest)
