"""Retention in a workspace on disk: references, pins, clean-up, trash."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.domain.store.retention import (
    GRACE_MS,
    MAX_TIME_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    PermanentDeletion,
    RetentionRule,
    TrashContents,
)
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.commit import WriteBatch
from helix_desktop.store.leveldb.access import StoreAccess
from helix_desktop.store.leveldb.contents import find_digests
from helix_desktop.store.leveldb.event_log import read_references, read_session_digests
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.retention import trash
from helix_desktop.store.retention.trash import stage_permanent_deletion

CONTENTS_PER_BATCH = 200  # contents per batch


class LevelDbRetention:
    """References, pins, clean-up and trash of one workspace's LevelDB; lives as long as its store."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    async def references(self, digest: str) -> list[ContentReference]:
        """Return the events that name a content. Raise ValueError if `digest` is not a digest."""
        keys.digest_bytes(digest)
        return await self._access.run_query(lambda view: read_references(view, digest))

    async def session_digests(self, session_id: str) -> list[str]:
        """Return the contents that a session names, each once, in the order of their first event."""
        keys.session_bytes(session_id)
        return await self._access.run_query(lambda view: read_session_digests(view, session_id))

    async def pin(self, digest: str, pinned: bool) -> None:
        """Exempt a content from every clean-up, or end that. Raise DigestUnknown."""

        def stage(batch: WriteBatch) -> None:
            record = ROWS.record.get(batch, digest)
            if record is None:
                raise store_errors.digest_unknown(
                    digest, lambda *near: self._access.database.read(lambda view: find_digests(view, *near))
                )
            changed = msgspec.structs.replace(record, pinned=pinned, trashed=0 if pinned else record.trashed)
            if changed != record:
                ROWS.record.put(batch, changed, digest)

        keys.digest_bytes(digest)
        await self._access.write(stage)

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """Return what a clean-up would do now; change nothing."""
        at_ms = self._access.clock()
        return await self._access.run_query(
            lambda view: trash.read_plan(view, self._access.contents, rule, at_ms)
        )

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, if they are still collectable."""
        at_ms, trashed_ms = self._access.clock(), await self._trash_time_ms()
        contents = self._access.contents
        collected = await self._access.run_query(
            lambda view: trash.read_collectable(view, contents, digests, grace_ms, at_ms)
        )

        def stage(batch: WriteBatch, part: Sequence[str]) -> CleanupResult:
            return trash.stage_trash(batch, self._access.database, part, grace_ms, at_ms, trashed_ms)

        return await self._in_batches(stage, collected)

    async def trash(self) -> TrashContents:
        """Return the contents of the trash."""
        return await self._access.run_query(
            lambda view: TrashContents(tuple(trash.read_trash(view)), tuple(trash.read_trashed(view)))
        )

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Restore contents from the trash."""
        at_ms = await self._trash_time_ms()
        return await self._in_batches(lambda batch, part: trash.stage_restore(batch, part, at_ms), digests)

    async def trash_session(self, session_id: str) -> tuple[str, ...]:
        """Move a session and its subagents' sessions to the trash; return the ids that were moved."""
        return await self._set_trashed(session_id, await self._trash_time_ms())

    async def restore_session(self, session_id: str) -> tuple[str, ...]:
        """Restore a session and its subagents' sessions from the trash; return the ids that were restored."""
        return await self._set_trashed(session_id, 0)

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Delete what was trashed before `before_ms` (ms since 1970; 0: everything in the trash)."""
        limit = before_ms or MAX_TIME_MS
        sessions = await self._access.run_query(trash.read_trashed)
        removed = [summary.id for summary in sessions if await self._remove_session(summary.id, limit)]
        contents = self._access.contents
        purgeable = await self._access.run_query(lambda view: trash.read_purgeable(view, contents, limit))

        def stage(batch: WriteBatch, part: Sequence[str]) -> CleanupResult:
            return trash.stage_purge(batch, self._access.database, part, limit)

        result = await self._in_batches(stage, purgeable)
        await self._access.run_query(lambda _: self._clear_quarantine(result.digests))
        return msgspec.structs.replace(result, sessions=tuple(removed))

    async def delete_permanently(
        self, digests: Sequence[str], sessions: Sequence[str], dry_run: bool = False
    ) -> PermanentDeletion:
        """Delete these contents and sessions of the trash, and what only these sessions name, at once."""
        done: list[PermanentDeletion] = []

        def stage(batch: WriteBatch) -> None:
            target = batch.nested() if dry_run else batch
            done.append(stage_permanent_deletion(target, self._access, digests, sessions))

        await self._access.write(stage)
        if not dry_run:
            await self._access.run_query(lambda _: self._clear_quarantine(done[-1].digests))
        return done[-1]

    async def _trash_time_ms(self) -> int:
        """Return the time, but not before the newest content: a clock set back must not age the trash."""
        return max(self._access.clock(), await self._access.run_query(trash.newest_created))

    async def _set_trashed(self, session_id: str, trashed_ms: int) -> tuple[str, ...]:
        keys.session_bytes(session_id)
        changed: list[str] = []

        def stage(batch: WriteBatch) -> None:
            changed[:] = trash.stage_trashed(batch, self._access.database, session_id, trashed_ms)

        await self._access.write(stage)
        return tuple(changed)

    async def _remove_session(self, session_id: str, before_ms: int) -> bool:
        done: list[bool] = []

        def stage(batch: WriteBatch) -> None:
            done.append(trash.stage_session_removal(batch, self._access.database, session_id, before_ms))

        await self._access.write(stage)
        return done[0]

    async def _in_batches(
        self, stage: Callable[[WriteBatch, Sequence[str]], CleanupResult], digests: Sequence[str]
    ) -> CleanupResult:
        parts: list[CleanupResult] = []

        async def write_part(part: Sequence[str]) -> None:
            await self._access.write(lambda batch: parts.append(stage(batch, part)))

        for index in range(0, len(digests), CONTENTS_PER_BATCH):
            await write_part(digests[index : index + CONTENTS_PER_BATCH])
        return CleanupResult(
            tuple(digest for result in parts for digest in result.digests),
            stored_size=sum(result.stored_size for result in parts),
        )

    def _clear_quarantine(self, digests: Sequence[str]) -> None:
        for digest in digests:
            self._access.contents.quarantine.remove(digest)
