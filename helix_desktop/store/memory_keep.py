"""The keeper's twin in memory: the same answers about references, pins, clean-up and trash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from helix_desktop.context.content import Entry, SessionSummary
from helix_desktop.context.draft import Draft
from helix_desktop.context.event import Recorded, digests_in
from helix_desktop.context.keeping import (
    EVER,
    GRACE_MS,
    CleanUp,
    Plan,
    Reference,
    Swept,
    Trash,
    plan_of,
    purgeable,
)
from helix_desktop.store import keys, refusals
from helix_desktop.store.commit import Clock
from helix_desktop.store.tombstone import Tombstone


@dataclass(frozen=True, slots=True)
class Held:
    """What a store in memory holds; shared with the store itself."""

    data: dict[str, bytes]
    entries: dict[str, Entry]
    logs: dict[str, list[Recorded]]
    summaries: dict[str, SessionSummary]
    drafts: dict[str, Draft]
    forgotten: dict[str, Tombstone]


class MemoryKeeper:
    """What stays and what goes in one store in memory."""

    def __init__(self, held: Held, clock: Clock, check_open: Callable[[], None]) -> None:
        self._held, self._clock, self._check_open = held, clock, check_open

    async def references(self, digest: str) -> list[Reference]:
        """The events that name a content. Raises ValueError for what is no digest."""
        self._check_open()
        keys.raw(digest)
        found = [
            Reference(session, one.seq)
            for session, log in self._held.logs.items()
            for one in log
            if digest in digests_in(one.event)
        ]
        return sorted(found, key=lambda one: (one.session, one.seq))

    async def named(self, session: str) -> list[str]:
        """The contents that a session names, each once, in the order of their first event."""
        self._check_open()
        keys.session_bytes(session)
        log = self._held.logs.get(session, [])
        return list(dict.fromkeys(digest for one in log for digest in sorted(digests_in(one.event))))

    async def pin(self, digest: str, on: bool) -> None:
        """Keep a content whatever a clean-up says, or no longer. Raises DigestUnknown."""
        self._check_open()
        keys.raw(digest)
        entry = self._held.entries.get(digest)
        if entry is None:
            raise refusals.unknown(digest, self._find)
        self._change(entry, pinned=on, trashed=0 if on else entry.trashed)

    async def plan(self, asked: CleanUp) -> Plan:
        """What a clean-up would do now; changes nothing."""
        self._check_open()
        return plan_of(self._entries(), self._held.data.get, asked, self._clock())

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> Swept:
        """Move contents of a plan to the trash, as far as they still may go."""
        self._check_open()
        at, stamp = self._clock(), self._now()
        asked = CleanUp(grace_ms=grace_ms)
        free = plan_of(self._entries(), self._held.data.get, asked, at).going
        wanted = set(digests)
        gone = sorted((one for one in free if one.digest in wanted), key=lambda one: one.digest)
        for entry in gone:
            self._change(entry, trashed=stamp)
        return _swept(gone)

    async def trash(self) -> Trash:
        """What lies in the trash."""
        self._check_open()
        entries = (one for one in self._held.entries.values() if one.trashed)
        sessions = (one for one in self._held.summaries.values() if one.trashed)
        return Trash(
            tuple(sorted(entries, key=lambda one: (-one.trashed, one.digest))),
            tuple(sorted(sessions, key=lambda one: (-one.trashed, one.id))),
        )

    async def restore(self, digests: Sequence[str]) -> Swept:
        """Bring contents back from the trash."""
        self._check_open()
        at = self._now()
        back = [one for one in self._known(digests) if one.trashed]
        for entry in back:
            self._change(entry, trashed=0, last_used=at)
        return _swept(back)

    async def trash_session(self, session: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash; the ids that went there."""
        self._check_open()
        return self._hide(session, self._now())

    async def restore_session(self, session: str) -> tuple[str, ...]:
        """Bring a session and its subagents' back from the trash; the ids that came back."""
        self._check_open()
        return self._hide(session, 0)

    async def empty_trash(self, before: int = 0) -> Swept:
        """Remove for good what went to the trash before `before` (milliseconds since 1970; 0: all of it)."""
        self._check_open()
        limit = before or EVER
        lying = await self.trash()
        gone = [one.id for one in lying.sessions if one.trashed < limit]
        for session in gone:
            self._remove(session)
        purged = purgeable(self._entries(), self._held.data.get, limit)
        for entry in purged:
            del self._held.entries[entry.digest], self._held.data[entry.digest]
        return msgspec.structs.replace(_swept(purged), sessions=tuple(gone))

    def _entries(self) -> list[Entry]:
        """Return all entries by digest; one that a draft names counts as named."""
        held = self._held
        in_drafts = frozenset[str]().union(*(draft.digests for draft in held.drafts.values()))
        return [
            msgspec.structs.replace(one, references=max(1, one.references)) if digest in in_drafts else one
            for digest, one in sorted(held.entries.items())
        ]

    def _now(self) -> int:
        """The time, but not before the newest content: a clock that was set back must not age the trash."""
        return max(self._clock(), max((one.created for one in self._held.entries.values()), default=0))

    def _hide(self, session: str, trashed: int) -> tuple[str, ...]:
        keys.session_bytes(session)
        held = self._held.summaries
        children = sorted((one for one in held if held[one].parent == session), key=str.encode)
        family = [one for one in (session, *children) if one in held]
        changed = [one for one in family if bool(held[one].trashed) != bool(trashed)]
        for one in changed:
            held[one] = msgspec.structs.replace(held[one], trashed=trashed)
        return tuple(changed)

    def _remove(self, session: str) -> None:
        for recorded in self._held.logs.pop(session, []):
            for digest in digests_in(recorded.event):
                entry = self._held.entries.get(digest)
                if entry is not None:
                    self._change(entry, references=entry.references - 1)
        del self._held.summaries[session]
        self._held.drafts.pop(session, None)

    def _known(self, digests: Sequence[str]) -> list[Entry]:
        return [self._held.entries[one] for one in dict.fromkeys(digests) if one in self._held.entries]

    def _change(self, entry: Entry, **fields: int | bool) -> None:
        self._held.entries[entry.digest] = msgspec.structs.replace(entry, **fields)

    def _find(self, prefix: str, limit: int) -> list[str]:
        return sorted(one for one in self._held.entries if one.startswith(prefix))[:limit]


def _swept(entries: Sequence[Entry]) -> Swept:
    return Swept(tuple(one.digest for one in entries), stored_size=sum(one.stored_size for one in entries))
