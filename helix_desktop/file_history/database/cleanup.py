"""The clean-up of a file history: what deleted sessions had, what nothing names, what is over the quota.

Contents of the tree as last seen always stay. Over the quota those go first that only old captures name; the
captures and their lists stay, so that everything that changed is still listed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.file_history.changes import Capture, ChangeList, FileChange
from helix_desktop.domain.file_history.file_coverage import FileHistoryCleanup
from helix_desktop.domain.store.retention import HOUR_MS
from helix_desktop.file_history.database.contents import ContentRow
from helix_desktop.file_history.database.database import FileHistoryDatabase

_DIGEST = re.compile(rb"[0-9a-f]{64}")
_TRIES = 5  # to find a moment in which no other process writes, between looking and removing
_SPARE_BYTES = 32 * 1024 * 1024  # removed beyond what is needed now: else every file would search again
_AT_ONCE = 500  # contents removed in one transaction: other processes wait for it


class HistoryPlan(msgspec.Struct, frozen=True):
    """What a clean-up would remove: captures by their ids, unnamed contents, and those over the quota.

    `lists` are the digests of the captures' lists of changes, which are contents, and no version of a file.
    """

    capture_ids: tuple[str, ...] = ()
    lists: frozenset[bytes] = frozenset()
    unnamed: tuple[ContentRow, ...] = ()
    over_quota: tuple[ContentRow, ...] = ()
    short: int = 0

    @property
    def contents(self) -> tuple[ContentRow, ...]:
        """The contents, in the order in which they are removed."""
        return self.unnamed + self.over_quota

    def first(self, contents: int) -> HistoryPlan:
        """Return the plan with so many of its contents."""
        over_quota = self.over_quota[: max(0, contents - len(self.unnamed))]
        return HistoryPlan(self.capture_ids, self.lists, self.unnamed[:contents], over_quota, self.short)

    @property
    def result(self) -> FileHistoryCleanup:
        """What it comes to."""
        return FileHistoryCleanup(
            len(self.capture_ids),
            sum(row.digest not in self.lists for row in self.contents),
            sum(row.stored_size for row in self.contents),
            len(self.over_quota),
            self.short,
        )


def plan_clean_up(
    database: FileHistoryDatabase, gone: Collection[str], quota: int, at_ms: int
) -> HistoryPlan:
    """Return what a clean-up would remove; changes nothing.

    `gone` are the ids of captures that no session's log holds any more, `quota` is in stored bytes (0: none).
    What was stored within the last hour stays, unless it is over the quota.
    """
    captures = database.captures.all()
    removed = [capture for capture in captures if capture.id in gone]
    needed, newest = _needed(database, [capture for capture in captures if capture.id not in gone])
    rows = database.contents.rows()
    unnamed = [
        row
        for row in rows
        if row.digest not in needed and row.digest not in newest and row.used_ms + HOUR_MS <= at_ms
    ]
    size = sum(row.stored_size for row in rows) - sum(row.stored_size for row in unnamed)
    over_quota = _oldest(rows, needed, newest, size - quota) if quota else []
    size -= sum(row.stored_size for row in over_quota)
    return HistoryPlan(
        tuple(capture.id for capture in removed),
        frozenset(bytes.fromhex(capture.changes) for capture in removed),
        tuple(unnamed),
        tuple(over_quota),
        max(0, size - quota) if quota else 0,
    )


def clean_up(
    database: FileHistoryDatabase, gone: Collection[str], quota: int, at_ms: int
) -> FileHistoryCleanup:
    """Remove what `plan_clean_up` returns, and shrink the file; return what was removed.

    It goes in small transactions, and only while nobody else writes: else it is planned again.
    """
    result = FileHistoryCleanup()
    for _ in range(_TRIES):
        version = database.version
        plan = plan_clean_up(database, gone, quota, at_ms)
        removed = _remove(database, plan, version)
        result = result.plus(plan.first(removed).result)
        if removed == len(plan.contents):
            break
    database.shrink()
    return result


def make_room(database: FileHistoryDatabase, size: int) -> int:
    """Within a transaction, remove so many bytes, and some more, that only the oldest captures need.

    What was stored a short while ago stays: what is stored by this transaction is named by nothing yet.
    Returns how many bytes were removed; 0: there are not so many.
    """
    needed, newest = _needed(database, database.captures.all())
    rows = [row for row in database.contents.rows() if row.used_ms + HOUR_MS // 2 <= database.clock()]
    oldest = _oldest(rows, needed, newest, size + _SPARE_BYTES)
    freed = sum(row.stored_size for row in oldest)
    if freed < size:
        return 0
    database.contents.remove(row.digest for row in oldest)
    return freed


def _oldest(
    rows: Iterable[ContentRow], needed: Collection[bytes], newest: Mapping[bytes, int], size: int
) -> list[ContentRow]:
    """Return the contents of so many bytes that only captures need, those that the oldest need first."""
    droppable = [row for row in rows if row.digest in newest and row.digest not in needed]
    oldest: list[ContentRow] = []
    for row in sorted(droppable, key=lambda row: newest[row.digest]):
        if size <= 0:
            break
        oldest.append(row)
        size -= row.stored_size
    return oldest


def _remove(database: FileHistoryDatabase, plan: HistoryPlan, version: int) -> int:
    """Remove what is planned while the database has this version; return how many contents that were."""
    contents, removed = plan.contents, 0
    while not removed or removed < len(contents):
        with database.write():
            if database.version != version:
                break
            if not removed:
                database.captures.remove(plan.capture_ids)
            batch = contents[removed : removed + _AT_ONCE]
            database.contents.remove(row.digest for row in batch)
        if not batch:
            break
        removed += len(batch)
    return removed


def _needed(
    database: FileHistoryDatabase, captures: Iterable[Capture]
) -> tuple[set[bytes], dict[bytes, int]]:
    """Return the digests of what has to stay, and of what captures name, by the number of the newest.

    The tree, running calls, reverts under way and the lists of changes have to stay.
    """
    needed = database.tree.digests()
    for call in database.captures.running():
        needed.update(_digests(database.captures.changes(call.mark).values()))
    for _, _, entry in database.journal.all():  # a revert's own bytes: whatever it names it may need
        needed.update(bytes.fromhex(digest.decode()) for digest in _DIGEST.findall(entry))
    newest: dict[bytes, int] = {}
    for number, capture in enumerate(captures):
        needed.add(bytes.fromhex(capture.changes))
        for digest in _digests(_changes(database, capture)):
            newest[digest] = number
    return needed, newest


def _changes(database: FileHistoryDatabase, capture: Capture) -> tuple[FileChange, ...]:
    """Return what a capture changed; nothing if its list is gone or damaged."""
    try:
        return ChangeList.decode(database.contents.get(capture.changes)).changes
    except (DigestUnknown, ContentDamaged, msgspec.MsgspecError):
        return ()


def _digests(changes: Iterable[FileChange]) -> Iterator[bytes]:
    for change in changes:
        for state in (change.before, change.after):
            if state is not None and state.stored and state.digest:
                yield bytes.fromhex(state.digest)
