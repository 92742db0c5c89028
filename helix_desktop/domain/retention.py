"""What may be cleaned up in a store, and what stays whatever a quota says: pure rules.

A content may go when no log names it, no index entry that stays leads to it, nobody pinned it, and it was not
used for a while. It goes to the trash first and comes back when it is stored, named or recalled again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from helix_desktop.domain.store import CacheEntry, EntryRecord, SessionSummary, SessionVersions

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
GRACE_HOURS = 24  # how long an unnamed content stays at least: what names it may be on its way
GRACE_MS = GRACE_HOURS * HOUR_MS
TRASH_DAYS = 30  # after which the trash is emptied by itself
MAX_TIME_MS = 2**63 - 1  # later than any time, whatever a clock said
_INDEX_LINE = re.compile(rb"^([0-9a-f]{64}) ", re.MULTILINE)


class ContentReference(msgspec.Struct, frozen=True):
    """An event that names a content."""

    session: str
    seq: int


class RetentionRule(msgspec.Struct, frozen=True):
    """What a clean-up should remove; zero means no limit.

    `quota` is what the store may hold on disk, in bytes; `unused_ms` chooses what was not used for so long;
    `grace_ms` protects what is younger. With neither quota nor age all that may go goes.
    """

    quota: int = 0
    unused_ms: int = 0
    grace_ms: int = GRACE_MS


class EntryTotals(msgspec.Struct, frozen=True):
    """A number of entries, and their bytes on disk."""

    entries: int = 0
    stored_size: int = 0

    def plus(self, entry: CacheEntry) -> EntryTotals:
        return EntryTotals(self.entries + 1, self.stored_size + entry.stored_size)


class CleanupPlan(msgspec.Struct, frozen=True):
    """What a clean-up would do: what goes to the trash, least recently used first, and why the rest stays.

    `spared` could go but was not asked for; `short` is by how many bytes the quota is missed all the same.
    """

    to_trash: tuple[CacheEntry, ...] = msgspec.field(default=(), name="going")
    freed: int = 0
    referenced: EntryTotals = msgspec.field(default=EntryTotals(), name="named")
    indexed: EntryTotals = EntryTotals()
    pinned: EntryTotals = EntryTotals()
    young: EntryTotals = EntryTotals()
    spared: EntryTotals = EntryTotals()
    trashed: EntryTotals = EntryTotals()
    short: int = 0
    quota: int = 0


class CleanupResult(msgspec.Struct, frozen=True):
    """The result of a clean-up or restore: contents, sessions, and bytes on disk."""

    digests: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    stored_size: int = 0


class PermanentDeletion(msgspec.Struct, frozen=True):
    """What a permanent deletion removes from the trash: contents, sessions with subagents, bytes on disk.

    `staying` are contents that the sessions name and something else needs, or that were stored again since
    these are in the trash: what names them may be on its way. Of `with_branches` sessions stays, hidden,
    what branches begin with.
    """

    digests: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    freed: int = 0
    staying: EntryTotals = EntryTotals()
    with_branches: int = 0


class TrashContents(msgspec.Struct, frozen=True):
    """What is in the trash, newest first."""

    entries: tuple[CacheEntry, ...] = ()
    sessions: tuple[SessionSummary, ...] = ()

    @property
    def stored_size(self) -> int:
        return sum(entry.stored_size for entry in self.entries)

    @property
    def session_rows(self) -> dict[tuple[str, ...], SessionSummary]:
        """Return the session that stands for all versions of one, by the ids of these; without subagents."""
        ids = {session.id for session in self.sessions}
        own = [session for session in self.sessions if session.parent not in ids]
        versions = SessionVersions(own)
        return {versions.ids_of(session.id): versions.row_of(session) for session in own}


def is_collectable(entry: EntryRecord, at_ms: int, grace_ms: int) -> bool:
    young = entry.last_used + grace_ms > at_ms
    return not (entry.references or entry.pinned or entry.trashed or young)


def indexed_digests(index: bytes) -> set[str]:
    """Return the digests an index entry leads to; others that its text quotes may be included needlessly."""
    return {match.decode() for match in _INDEX_LINE.findall(index)}


def plan_cleanup(
    entries: Iterable[CacheEntry], read_index: Callable[[str], bytes | None], rule: RetentionRule, at_ms: int
) -> CleanupPlan:
    """Return the plan for these entries at `at_ms`; `read_index` returns None for a damaged index entry."""
    referenced = pinned = young = trashed = EntryTotals()
    collectable: dict[str, CacheEntry] = {}
    index_digests: list[str] = []
    for entry in entries:
        if is_collectable(entry, at_ms, rule.grace_ms):
            collectable[entry.digest] = entry
            continue
        if entry.kind == "index":
            index_digests.append(entry.digest)
        if entry.trashed:
            trashed = trashed.plus(entry)
        elif entry.references:
            referenced = referenced.plus(entry)
        elif entry.pinned:
            pinned = pinned.plus(entry)
        else:
            young = young.plus(entry)
    indexed = _drop_reachable(collectable, index_digests, read_index)
    staying_size = sum(totals.stored_size for totals in (referenced, indexed, pinned, young))
    collected = _select_entries(
        sorted(collectable.values(), key=lambda entry: (entry.last_used, entry.digest)),
        staying_size,
        rule,
        at_ms,
    )
    collected_digests = {entry.digest for entry in collected}
    spared = EntryTotals()
    for entry in collectable.values():
        if entry.digest not in collected_digests:
            spared = spared.plus(entry)
    short = max(0, staying_size + spared.stored_size - rule.quota) if rule.quota else 0
    freed = sum(entry.stored_size for entry in collected)
    return CleanupPlan(
        tuple(collected),
        freed,
        referenced,
        indexed,
        pinned,
        young,
        spared,
        trashed,
        short=short,
        quota=rule.quota,
    )


def purgeable_entries(
    entries: Iterable[CacheEntry], read_index: Callable[[str], bytes | None], before_ms: int
) -> tuple[CacheEntry, ...]:
    """Return entries trashed before `before_ms` to remove permanently: nothing that stays leads to them."""
    purgeable: dict[str, CacheEntry] = {}
    index_digests: list[str] = []
    for entry in entries:
        if 0 < entry.trashed < before_ms and not (entry.references or entry.pinned):
            purgeable[entry.digest] = entry
        elif entry.kind == "index":
            index_digests.append(entry.digest)
    _drop_reachable(purgeable, index_digests, read_index)
    return tuple(purgeable.values())


def unindexed_entries(
    entries: Iterable[CacheEntry], indexes: list[str], read_index: Callable[[str], bytes | None]
) -> tuple[CacheEntry, ...]:
    """Return the entries to which none of these index entries leads, directly or through others."""
    free = {entry.digest: entry for entry in entries}
    _drop_reachable(free, indexes, read_index)
    return tuple(free.values())


def _drop_reachable(
    free: dict[str, CacheEntry], index_digests: list[str], read_index: Callable[[str], bytes | None]
) -> EntryTotals:
    """Remove from `free` what the staying index entries lead to, directly or through others."""
    reachable = EntryTotals()
    while index_digests and free:
        index = read_index(index_digests.pop())
        for digest in indexed_digests(index or b"") & free.keys():
            entry = free.pop(digest)
            reachable = reachable.plus(entry)
            if entry.kind == "index":
                index_digests.append(digest)
    return reachable


def _select_entries(
    free: Sequence[CacheEntry], stays: int, rule: RetentionRule, at_ms: int
) -> list[CacheEntry]:
    """Return the entries of `free` the rule selects; `free` is sorted least recently used first."""
    if not rule.quota and not rule.unused_ms:
        return list(free)
    size_left = stays + sum(entry.stored_size for entry in free)
    selected: list[CacheEntry] = []
    for entry in free:
        old = bool(rule.unused_ms) and entry.last_used + rule.unused_ms <= at_ms
        if not old and not (rule.quota and size_left > rule.quota):
            break
        selected.append(entry)
        size_left -= entry.stored_size
    return selected
