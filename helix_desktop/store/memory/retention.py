"""The keeper's twin in memory: the same answers about references, pins, clean-up and trash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from helix_desktop.domain.draft import Draft
from helix_desktop.domain.events.session import RecordedEvent, digests_in
from helix_desktop.domain.store.entries import CacheEntry, SessionSummary
from helix_desktop.domain.store.retention import (
    GRACE_MS,
    MAX_TIME_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    RetentionRule,
    TrashContents,
    plan_cleanup,
    purgeable_entries,
)
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.commit import Clock
from helix_desktop.store.core.tombstone import Tombstone


@dataclass(frozen=True, slots=True)
class MemoryData:
    """What a store in memory holds; shared with the store itself."""

    contents: dict[str, bytes]
    entries: dict[str, CacheEntry]
    logs: dict[str, list[RecordedEvent]]
    summaries: dict[str, SessionSummary]
    drafts: dict[str, Draft]
    tombstones: dict[str, Tombstone]


class MemoryRetention:
    """What stays and what goes in one store in memory."""

    def __init__(self, data: MemoryData, clock: Clock, check_open: Callable[[], None]) -> None:
        self._data, self._clock, self._check_open = data, clock, check_open

    async def references(self, digest: str) -> list[ContentReference]:
        """The events that name a content. Raises ValueError for what is no digest."""
        self._check_open()
        keys.digest_bytes(digest)
        found = [
            ContentReference(session, one.seq)
            for session, log in self._data.logs.items()
            for one in log
            if digest in digests_in(one.event)
        ]
        return sorted(found, key=lambda one: (one.session, one.seq))

    async def named(self, session: str) -> list[str]:
        """The contents that a session names, each once, in the order of their first event."""
        self._check_open()
        keys.session_bytes(session)
        log = self._data.logs.get(session, [])
        return list(dict.fromkeys(digest for one in log for digest in sorted(digests_in(one.event))))

    async def pin(self, digest: str, pinned: bool) -> None:
        """Keep a content whatever a clean-up says, or no longer. Raises DigestUnknown."""
        self._check_open()
        keys.digest_bytes(digest)
        entry = self._data.entries.get(digest)
        if entry is None:
            raise store_errors.digest_unknown(digest, self._find_digests)
        self._update_entry(entry, pinned=pinned, trashed=0 if pinned else entry.trashed)

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """What a clean-up would do now; changes nothing."""
        self._check_open()
        return plan_cleanup(self._entries(), self._data.contents.get, rule, self._clock())

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, as far as they still may go."""
        self._check_open()
        at, stamp = self._clock(), self._trash_time_ms()
        asked = RetentionRule(grace_ms=grace_ms)
        free = plan_cleanup(self._entries(), self._data.contents.get, asked, at).going
        wanted = set(digests)
        gone = sorted((one for one in free if one.digest in wanted), key=lambda one: one.digest)
        for entry in gone:
            self._update_entry(entry, trashed=stamp)
        return _result_of(gone)

    async def trash(self) -> TrashContents:
        """What lies in the trash."""
        self._check_open()
        entries = (one for one in self._data.entries.values() if one.trashed)
        sessions = (one for one in self._data.summaries.values() if one.trashed)
        return TrashContents(
            tuple(sorted(entries, key=lambda one: (-one.trashed, one.digest))),
            tuple(sorted(sessions, key=lambda one: (-one.trashed, one.id))),
        )

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Bring contents back from the trash."""
        self._check_open()
        at = self._trash_time_ms()
        back = [one for one in self._existing(digests) if one.trashed]
        for entry in back:
            self._update_entry(entry, trashed=0, last_used=at)
        return _result_of(back)

    async def trash_session(self, session: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash; the ids that went there."""
        self._check_open()
        return self._set_trashed(session, self._trash_time_ms())

    async def restore_session(self, session: str) -> tuple[str, ...]:
        """Bring a session and its subagents' back from the trash; the ids that came back."""
        self._check_open()
        return self._set_trashed(session, 0)

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Remove for good what went to the trash before `before` (milliseconds since 1970; 0: all of it)."""
        self._check_open()
        limit = before_ms or MAX_TIME_MS
        lying = await self.trash()
        gone = [one.id for one in lying.sessions if one.trashed < limit]
        for session in gone:
            self._remove_session(session)
        purged = purgeable_entries(self._entries(), self._data.contents.get, limit)
        for entry in purged:
            del self._data.entries[entry.digest], self._data.contents[entry.digest]
        return msgspec.structs.replace(_result_of(purged), sessions=tuple(gone))

    def _entries(self) -> list[CacheEntry]:
        """Return all entries by digest; one that a draft names counts as named."""
        held = self._data
        in_drafts = frozenset[str]().union(*(draft.digests for draft in held.drafts.values()))
        return [
            msgspec.structs.replace(one, references=max(1, one.references)) if digest in in_drafts else one
            for digest, one in sorted(held.entries.items())
        ]

    def _trash_time_ms(self) -> int:
        """The time, but not before the newest content: a clock that was set back must not age the trash."""
        return max(self._clock(), max((one.created for one in self._data.entries.values()), default=0))

    def _set_trashed(self, session: str, trashed_ms: int) -> tuple[str, ...]:
        keys.session_bytes(session)
        held = self._data.summaries
        children = sorted((one for one in held if held[one].parent == session), key=str.encode)
        family = [one for one in (session, *children) if one in held]
        changed = [one for one in family if bool(held[one].trashed) != bool(trashed_ms)]
        for one in changed:
            held[one] = msgspec.structs.replace(held[one], trashed=trashed_ms)
        return tuple(changed)

    def _remove_session(self, session: str) -> None:
        for recorded in self._data.logs.pop(session, []):
            for digest in digests_in(recorded.event):
                entry = self._data.entries.get(digest)
                if entry is not None:
                    self._update_entry(entry, references=entry.references - 1)
        del self._data.summaries[session]
        self._data.drafts.pop(session, None)

    def _existing(self, digests: Sequence[str]) -> list[CacheEntry]:
        return [self._data.entries[one] for one in dict.fromkeys(digests) if one in self._data.entries]

    def _update_entry(self, entry: CacheEntry, **fields: int | bool) -> None:
        self._data.entries[entry.digest] = msgspec.structs.replace(entry, **fields)

    def _find_digests(self, prefix: str, limit: int) -> list[str]:
        return sorted(one for one in self._data.entries if one.startswith(prefix))[:limit]


def _result_of(entries: Sequence[CacheEntry]) -> CleanupResult:
    return CleanupResult(
        tuple(one.digest for one in entries), stored_size=sum(one.stored_size for one in entries)
    )
