"""What a file history takes on disk, its clean-up, the removal of secrets, and the full check.

The clean-up takes what deleted sessions had, what nothing names, and what is over the quota. Contents of the
tree as last seen always stay. Over the quota those go first that only old captures name; the captures and
their lists stay, so that everything that changed is still listed.

A content that holds a secret goes for good; a tombstone says when, and it is not stored again. A list of
changes is rewritten where a path or the target of a link holds it: such a change stays listed and can't be
undone, since nobody knows any more where it was. What the list was called before leads to the new one. What
stands in the workspace now is the user's: its path stays in the tree as last seen, and its file is left
alone.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import (
    ContentDamaged,
    DigestUnknown,
    StoreDamaged,
    StoreRepaired,
    StoreWriteFailed,
)
from helix_desktop.domain.file_history.changes import (
    Capture,
    ChangeList,
    DamagedVersion,
    FileChange,
    FileHistoryCheck,
    FileHistoryCleanup,
    FileHistoryTotals,
    FileState,
)
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.redaction import Redaction, RedactionMatches
from helix_desktop.domain.retention import HOUR_MS
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.file_history.database import FileHistoryDatabase, damaged_files
from helix_desktop.file_history.tables import ContentRow
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.files import delete_database

text = TextContext("Changes")

_DIGEST = re.compile(rb"[0-9a-f]{64}")
_TRIES = 5  # to find a moment in which no other process writes, between looking and removing
_SPARE_BYTES = 32 * 1024 * 1024  # removed beyond what is needed now: else every file would search again
_ROWS_AT_ONCE = 500  # contents removed in one transaction: other processes wait for it


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
        over_quota = self.over_quota[: max(0, contents - len(self.unnamed))]
        return HistoryPlan(self.capture_ids, self.lists, self.unnamed[:contents], over_quota, self.short)

    @property
    def result(self) -> FileHistoryCleanup:
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
    contents = plan.contents
    removed = 0
    while not removed or removed < len(contents):
        with database.write():
            if database.version != version:
                break
            if not removed:
                database.captures.remove(plan.capture_ids)
            batch = contents[removed : removed + _ROWS_AT_ONCE]
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
        for digest in _digests(_changes(database, capture) or ()):
            newest[digest] = number
    return needed, newest


def _changes(database: FileHistoryDatabase, capture: Capture) -> tuple[FileChange, ...] | None:
    """Return what a capture changed; None if its list is gone or damaged."""
    try:
        return ChangeList.decode(database.contents.get(capture.changes)).changes
    except (DigestUnknown, ContentDamaged, msgspec.MsgspecError):
        return None


def _digests(changes: Iterable[FileChange]) -> Iterator[bytes]:
    for change in changes:
        for state in (change.before, change.after):
            if state is not None and state.stored and state.digest:
                yield bytes.fromhex(state.digest)


def check_history(database: FileHistoryDatabase, on_progress: OnProgress) -> FileHistoryCheck:
    """Read everything; other processes go on meanwhile."""
    try:
        problems = database.integrity_problems()
        if problems:
            return FileHistoryCheck(problems=problems)
        return _check_contents(database, on_progress)
    except StoreDamaged as error:
        return FileHistoryCheck(problems=(str(error.why or error.what),))


def repair_history(database: FileHistoryDatabase, found: FileHistoryCheck) -> None:
    """Remove what is damaged: contents are stored again where a file still has them, lists are gone."""
    lost = [capture for capture in database.captures.all() if capture.id in found.lost_lists]
    digests = [version.digest for version in found.damaged]
    with database.write():
        database.contents.remove(bytes.fromhex(digest) for digest in digests)
        database.contents.remove(bytes.fromhex(capture.changes) for capture in lost)
        database.captures.remove(capture.id for capture in lost)
        database.tree.mark_unread(digests)


def _check_contents(database: FileHistoryDatabase, on_progress: OnProgress) -> FileHistoryCheck:
    rows = database.contents.rows()
    damaged = {}
    for number, row in enumerate(rows):
        on_progress(number, len(rows))
        try:
            database.contents.get(row.digest.hex())
        except ContentDamaged:
            damaged[row.digest.hex()] = row.size
        except DigestUnknown:  # another process removed it meanwhile
            continue
    on_progress(len(rows), len(rows))
    paths = {digest: set(database.tree.paths_of([digest])) for digest in damaged}
    lost_lists = []
    for capture in database.captures.all():
        changes = _changes(database, capture)
        if changes is None:
            lost_lists.append(capture.id)
            damaged.pop(capture.changes, None)
            continue
        for change in changes:
            for state in (change.before, change.after):
                if state is not None and state.digest in damaged:
                    paths[state.digest].add(change.path)
    versions = (
        DamagedVersion(digest, size, tuple(sorted(paths[digest]))) for digest, size in damaged.items()
    )
    return FileHistoryCheck(len(rows), tuple(versions), tuple(lost_lists))


_MAX_ROUNDS = 5  # what is stored while one search runs is found by the next
_AT_ONCE = 100  # contents removed in one transaction


class HistoryRedaction:
    """One redaction in one database, which it has to itself in its thread; raises what the database does."""

    def __init__(self, database: FileHistoryDatabase, redaction: Redaction) -> None:
        self._database = database
        self._redaction = redaction
        self._searched: set[bytes] = set()

    def preview(self, on_progress: OnProgress) -> RedactionMatches:
        return self._search(on_progress)

    def redact(self, on_progress: OnProgress) -> RedactionMatches:
        """Remove it, from the files on disk too; return what was found. Raises StoreWriteFailed."""
        first: RedactionMatches | None = None
        self._database.begin_purge()
        for _ in range(_MAX_ROUNDS):
            matches = self._search(on_progress)
            first = first or matches
            for start in range(0, len(matches.file_versions), _AT_ONCE):
                with self._database.write():
                    batch = matches.file_versions[start : start + _AT_ONCE]
                    for digest in batch:
                        self._database.contents.redact(digest)
                    self._database.tree.mark_not_stored(batch)
            for capture in self._captures_with_secret():
                self._rewrite(capture)
            if not (matches.file_versions or matches.change_lists):
                break
        self._remove_copies()
        self._database.purge()
        assert first is not None  # there is a first round
        return first

    def _search(self, on_progress: OnProgress) -> RedactionMatches:
        """Return where the secret is; contents that were searched before are not read again."""
        contents = self._database.contents
        lists = self._database.captures.lists()
        rows = [row for row in contents.rows() if row.digest not in self._searched]
        found: list[str] = []
        unreadable: list[str] = []
        for number, row in enumerate(rows):
            on_progress(number, len(rows))
            digest = row.digest.hex()
            if digest in lists:
                continue
            try:
                if digest in self._redaction.digests or self._redaction.matches(contents.get(digest)):
                    found.append(digest)
                else:
                    self._searched.add(row.digest)
            except ContentDamaged:
                unreadable.append(digest)
            except DigestUnknown:  # another process removed it meanwhile
                continue
        on_progress(len(rows), len(rows))
        return RedactionMatches(
            file_versions=tuple(found),
            change_lists=tuple(capture.id for capture in self._captures_with_secret()),
            workspace_files=tuple(sorted({*self._database.tree.paths_of(found), *self._names_with_secret()})),
            unreadable=tuple(unreadable),
            store_copies=tuple(path.name for path in damaged_files(self._database.path)),
        )

    def _names_with_secret(self) -> Iterator[str]:
        """Yield the paths that hold it in their name, or in where they lead as links."""
        for path, seen in self._database.tree.load().items():
            names = f"{path}\0{seen.state.target}"
            if self._redaction.matches(names.encode("utf-8", "surrogatepass")):
                yield path

    def _captures_with_secret(self) -> list[Capture]:
        return [capture for capture in self._database.captures.all() if self._redacted(capture)[0] != capture]

    def _rewrite(self, capture: Capture) -> None:
        redacted, changes = self._redacted(capture)
        with self._database.write():
            if redacted.changes != capture.changes:
                self._database.contents.put(changes)
                self._database.contents.redact(capture.changes, redacted.changes)
            self._database.captures.replace(redacted)

    def _redacted(self, capture: Capture) -> tuple[Capture, bytes]:
        """Return a capture without the secret, and the bytes of its list."""
        data = b""
        digest = capture.changes
        changes = _changes(self._database, capture) or ()
        redacted = tuple(self._redact_changes(changes))
        if redacted != changes:
            data = ChangeList(redacted).encode()
            digest = digest_of(data)
        others = tuple(map(self._redaction.redact_text, capture.others))
        return msgspec.structs.replace(capture, changes=digest, others=others), data

    def _redact_changes(self, changes: Iterable[FileChange]) -> Iterable[FileChange]:
        redact_text = self._redaction.redact_text
        passed = set[str]()
        for change in changes:
            path = redact_text(change.path)
            is_path_clean = path == change.path
            while path in passed:
                path += "+"  # a path is listed once
            passed.add(path)
            yield FileChange(
                path,
                self._redact_state(change.before, is_path_clean),
                self._redact_state(change.after, is_path_clean),
                redact_text(change.moved_from),
                change.shared,
            )

    def _redact_state(self, state: FileState | None, is_path_clean: bool) -> FileState | None:
        if state is None:
            return None
        target = self._redaction.redact_text(state.target)
        stored = state.stored and is_path_clean and target == state.target
        return msgspec.structs.replace(state, target=target, stored=stored)

    def _remove_copies(self) -> None:
        """Delete damaged databases that were moved aside: what they hold cannot be searched."""
        for path in damaged_files(self._database.path):
            try:
                delete_database(path)
            except OSError as error:
                raise StoreWriteFailed(
                    text(
                        "A damaged copy of the file history can't be deleted; it may hold the removed text."
                    ),
                    system_reason(error),
                    text("Delete {file} yourself.", file=str(path)),
                ) from error


T = TypeVar("T")


class FileHistoryMaintenance:
    """The database of one file history, opened for each call in a thread of its own.

    So nothing here waits for what is captured meanwhile, nor the other way round, but for single writes.
    Without a database there is nothing in it, and none is made. Every method may raise StoreUnreadable and
    StoreWriteFailed.
    """

    def __init__(self, path: Path, clock: ClockMs) -> None:
        """`clock` returns the time in milliseconds since 1970."""
        self._path = path
        self._clock = clock

    async def totals(self) -> FileHistoryTotals:
        return await self._run(FileHistoryDatabase.totals, FileHistoryTotals())

    async def captures(self) -> dict[str, set[str]]:
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
            damaged = database.damaged_file
            salvaged = database.salvaged
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
        loop = asyncio.get_running_loop()
        is_canceled = threading.Event()

        def report(done: int, total: int) -> None:
            if is_canceled.is_set():
                raise asyncio.CancelledError
            loop.call_soon_threadsafe(on_progress, done, total)

        try:
            return await self._run(lambda database: work(database, report), without)
        except asyncio.CancelledError:
            is_canceled.set()
            raise
