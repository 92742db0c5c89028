"""Opening and closing of a store: its lock, the steps of a repair, and its health when open.

Nothing damaged is changed or deleted: a database that had to be rebuilt is kept as it was found.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from helix_desktop.domain.errors import (
    ContentDamaged,
    DataDirUnavailable,
    HelixError,
    StoreDamaged,
    StoreFormatUnknown,
    StoreUnreadable,
    StoreWriteFailed,
)
from helix_desktop.domain.listeners import Listeners, OnProgress, no_progress
from helix_desktop.domain.store_reports import IntegrityReport, RepairReport, TruncatedSession
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.translatable_text import TextContext, join_sentences, system_reason, verbatim
from helix_desktop.store import kinds, store_errors
from helix_desktop.store.commits import StoreAccess
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.database import Database, create_db, store_damaged, store_unreadable
from helix_desktop.store.files import (
    CURRENT_SCHEMA,
    CleanState,
    OwnerLock,
    Quarantine,
    StoreFiles,
    StoreFormat,
)
from helix_desktop.store.kinds import ROWS, RowDamaged, RowUnknown, RowView
from helix_desktop.store.repair.integrity_check import IntegrityChecker
from helix_desktop.store.repair.salvage import (
    Salvage,
    StagedProgress,
    file_sizes,
    find_torn_log,
    inspect_files,
    read_current_name,
)
from helix_desktop.store.store_errors import write_failure_reason
from helix_desktop.system.clock import ClockMs, wall_clock_ms

_log = logging.getLogger(__name__)

text = TextContext("Store")

_STAGES = 3  # of a repair: reading the files, verifying what was in them, checking the result


class RepairLadder:
    """One opening of a store whose files exist."""

    def __init__(
        self,
        store_files: StoreFiles,
        store_format: StoreFormat,
        clock: ClockMs,
        on_progress: OnProgress = no_progress,
    ) -> None:
        self._progress = StagedProgress(on_progress, _STAGES)
        self._store_files = store_files
        self._store_format = store_format
        self._clock = clock
        self._clean_state = store_files.read_clean()

    def open_database(self) -> Database:
        """Return the open database; a report of a repair stays in the files until the user has seen it.

        Raise StoreUnreadable if nothing can be read, or if the disk, not its content, is the problem.
        """
        files = self._store_files
        suspicion = files.repair_notes.suspicion
        preflight = inspect_files(files.db, self._clean_state)
        problems = [*([suspicion] if suspicion else []), *preflight.problems]
        if not problems:
            try:
                return self._open_verified()
            except StoreDamaged as error:
                problems = [error.why.rstrip(".")]
            try:
                if self._drop_torn_tail():
                    return self._open_verified(
                        f"The end of the log is torn, as a power cut leaves it ({problems[0]})"
                    )
            except StoreDamaged as error:
                problems.append(error.why.rstrip("."))
        self._salvage(problems, preflight.has_unknown_losses)
        return self._open_verified()

    def _open_verified(self, torn_reason: str = "") -> Database:
        handle = Database(self._store_files.db)
        try:
            _check_format(_read_stored_format(handle), self._store_format, self._store_files)
            state = _read_clean_state(handle)
        except RowUnknown as error:
            handle.close()
            raise another_version(error) from error
        except RowDamaged as error:
            handle.close()
            raise store_damaged(
                text("Its identity or its counters are damaged ({detail}).", detail=str(error))
            ) from error
        except BaseException:
            handle.close()
            raise
        lost = max(0, self._clean_state.sequence - state.sequence) if self._clean_state else 0
        if lost:
            self._report_lost_writes(lost, state, _read_last_seqs(handle))
        elif torn_reason:
            _log.warning("%s. It was dropped.", torn_reason)
        return handle

    def _report_lost_writes(self, lost: int, state: CleanState, last_seqs: dict[str, int]) -> None:
        """Report writes that are missing; the file `clean` stays valid as a lower bound after a crash."""
        _log.warning("The store has lost its last %d writes: a file of it is missing or was cut.", lost)
        known_ends = self._clean_state.ends if self._clean_state else {}
        pairs = ((name, last_seqs.get(name, 0), last) for name, last in known_ends.items())
        cut = [TruncatedSession(name, "", end, lost=last - end) for name, end, last in pairs if end < last]
        report = RepairReport(
            self._clock(),
            (text("A file of its database is missing or truncated"),),
            state.entries,
            state.sessions,
            sum(last_seqs.values()),
            cut=tuple(cut),
            writes=lost,
            vanished=max(0, self._clean_state.entries - state.entries) if self._clean_state else 0,
        )
        self._store_files.repair_notes.write_unreported(report)

    def _drop_torn_tail(self) -> bool:
        """Drop a torn end of the log, if nothing else is wrong, and keep a copy; return True then."""
        log = find_torn_log(self._store_files.db)
        if log is None:
            return False
        self._store_files.repair_notes.back_up_torn_log(log)
        Database(self._store_files.db, strict=False).close()
        return True

    def _salvage(self, problems: list[str], uncounted: bool) -> None:
        """Build a new database of what is left, and put it in the place of the damaged one."""
        files = self._store_files
        _log.warning("The store is damaged and is being mended: %s.", "; ".join(problems))
        shutil.rmtree(files.repair_db, ignore_errors=True)
        backup_folder = files.repair_notes.create_backup_folder()
        try:
            report = self._rebuild(problems, uncounted, backup_folder)
            files.repair_notes.write_unreported(report)
            files.swap_in_repair_db(backup_folder)
            files.repair_notes.clear_suspect()
        except RowUnknown as error:
            shutil.rmtree(files.repair_db, ignore_errors=True)
            raise another_version(error) from error
        except (OSError, StoreWriteFailed) as error:
            shutil.rmtree(files.repair_db, ignore_errors=True)
            raise StoreUnreadable(
                text("The workspace data is damaged and couldn't be repaired."),
                join_sentences(
                    *(text("{problem}.", problem=problem) for problem in problems),
                    write_failure_reason(error),
                ),
                text("Nothing was changed. Make its folder writable or free up space, then try again."),
            ) from error
        _log.warning(
            "The store was mended; gone: %d contents, %d rows, %d writes.",
            len(report.contents),
            report.rows,
            report.writes,
        )

    def _rebuild(self, problems: list[str], uncounted: bool, backup_folder: Path) -> RepairReport:
        files = self._store_files
        target = Database(files.repair_db, create=True)
        try:
            salvage = Salvage(files.db, target, files.quarantine, backup_folder, self._progress)
            result = salvage.run(self._store_format, self._clean_state)
            self._check_rebuilt(target)
        finally:
            target.close()
        return RepairReport(
            self._clock(),
            tuple(dict.fromkeys([*problems, *result.problems])),
            result.totals.entries,
            result.totals.sessions,
            result.events,
            tuple(result.lost_contents),
            tuple(result.truncated_sessions),
            writes=result.lost_writes,
            rows=result.lost_rows,
            vanished=result.lost_entries,
            copy=str(backup_folder / "db"),
            aside=str(backup_folder),
            uncounted=uncounted,
        )

    def _check_rebuilt(self, target: Database) -> None:
        """Check all of the new database before it replaces the old one. Raise StoreUnreadable."""
        checker = IntegrityChecker(ContentStore(target, Quarantine(self._store_files.quarantine)))
        entries = target.read(checker.count_entries)
        while target.read(checker.check_next_slice):
            self._progress.report(_STAGES - 1, checker.result.contents, entries)
        if checker.result.problems:
            raise store_unreadable(
                text("The recovered data is inconsistent: {problem}.", problem=checker.result.problems[0])
            )


def another_version(error: RowUnknown) -> StoreUnreadable:
    return StoreUnreadable(
        text("Part of the workspace data was written by another version of Helix Desktop."),
        verbatim(f"{str(error)[:1].upper()}{str(error)[1:]}."),
        text("Nothing was changed. Open it with the newest version, or with the one that wrote it."),
    )


class OpenFiles(msgspec.Struct, frozen=True):
    """A store's open files, and the repair report if the user has not seen it yet."""

    store_files: StoreFiles
    lock: OwnerLock
    database: Database
    report: RepairReport | None

    def close(self) -> None:
        """Write the store's state, then close everything; call when there are no more readers."""
        try:
            if (missing := self.database.missing_files()) is not None:
                raise missing
            state = _read_clean_state(self.database)
            ends = _read_last_seqs(self.database)
            self.database.close()
            db = self.store_files.db
            files = file_sizes(db)
            current = read_current_name(db)
            clean_state = msgspec.structs.replace(state, ends=ends, files=files, current=current)
            self.store_files.write_clean(clean_state)
        except RowDamaged as error:
            self.mark_suspect(error)
        except (OSError, StoreUnreadable, StoreWriteFailed) as error:
            # Everything acknowledged is durable already; only the note of a clean end is missing.
            _log.warning("The store was closed without a note of its state: %s", error)
        finally:
            self.database.close()
            self.lock.release()

    def mark_suspect(self, error: RowDamaged) -> StoreUnreadable:
        """Have the store repaired at its next opening; return the error to show until then.

        A repair would drop what another version wrote: that is left as it is, and said.
        """
        if isinstance(error, RowUnknown):
            return another_version(error)
        why = str(error)[:1].upper() + str(error)[1:]
        try:
            self.store_files.repair_notes.mark_suspect(why)
        except OSError as refused:
            _log.warning("It could not be noted that the store is damaged: %s", refused)
        return StoreDamaged(
            text("Part of the workspace data is damaged."),
            verbatim(f"{why}."),
            text("Close and reopen the workspace to repair it. The damaged files are kept."),
        )


def open_files(
    folder: Path,
    workspace_id: str,
    clock: ClockMs = wall_clock_ms,
    on_progress: OnProgress = no_progress,
) -> OpenFiles:
    """Open the store of the workspace with this UUID; create it if nothing is there.

    A damaged store is repaired as far as possible; `on_progress` reports the progress of that.
    Raise StoreLocked, StoreUnreadable, DataDirUnavailable; ValueError if `workspace_id` is not a UUID.
    """
    store_format = StoreFormat(CURRENT_SCHEMA, str(uuid.UUID(workspace_id)))
    layout = StoreFiles(folder)
    layout.create_folders()
    lock = OwnerLock.acquire(layout.owner_lock)
    try:
        _create_missing(layout, store_format)
        handle = RepairLadder(layout, store_format, clock, on_progress).open_database()
        return OpenFiles(layout, lock, handle, layout.repair_notes.read_unreported())
    except BaseException:
        lock.release()
        raise


def _read_or_restore_format(store_files: StoreFiles) -> StoreFormat | None:
    """Return the store's format; a lost or damaged `format` is rewritten from the rows that state it."""
    try:
        store_format = store_files.read_format()
    except StoreUnreadable:
        store_format = _read_format_from_db(store_files.db)
        if store_format is None:
            raise
    else:
        if store_format is not None or not store_files.db.exists():
            return store_format
        store_format = _read_format_from_db(store_files.db)
    if store_format is not None:
        _log.warning("The store's file `format` was lost or damaged, and was written again.")
        store_files.write_format(store_format)
    return store_format


def _create_missing(store_files: StoreFiles, store_format: StoreFormat) -> None:
    """Create what is missing. Each step can be interrupted and is then continued, or done again."""
    try:
        current_format = _read_or_restore_format(store_files)
        if current_format is None:
            if store_files.db.exists() and any(store_files.db.iterdir()):
                raise store_unreadable(
                    text("Its format file is missing, and the data next to it must not be overwritten.")
                )
            shutil.rmtree(store_files.new_db, ignore_errors=True)
            identity = {kinds.SCHEMA_KEY: store_format.schema, kinds.IDENTITY_KEY: store_format.workspace_id}
            create_db(store_files.new_db, {key: kinds.encode(key, value) for key, value in identity.items()})
            store_files.write_format(store_format)
        else:
            _check_format(current_format, store_format, store_files)
        if store_files.new_db.exists() and not store_files.db.exists():
            store_files.adopt_new_db()
    except OSError as error:
        raise DataDirUnavailable(
            text("The workspace data can't be written: {folder}.", folder=store_files.folder),
            system_reason(error),
            text("Make the folder writable, or free up disk space."),
        ) from error


Listener = Callable[[HelixError], None]


class DamageNotifier:
    """Notify listeners of damaged contents, once for each."""

    def __init__(self) -> None:
        self._listeners: Listeners[[HelixError], None] = Listeners()
        self._notified: set[str] = set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        return self._listeners.listen(listener)

    def notify(self, digest: str, error: ContentDamaged) -> None:
        if digest not in self._notified:
            self._notified.add(digest)
            _log.warning("%s", error)
            self._listeners.notify(error)

    def forget_digests(self, digests: Iterable[str]) -> None:
        """Forget earlier notifications of contents that were stored again: later damage is news."""
        self._notified.difference_update(digests)


class LevelDbHealth:
    def __init__(self, files: OpenFiles, access: StoreAccess) -> None:
        self._files = files
        self._access = access
        self.report = files.report  # of a repair at this opening or an earlier one, until acknowledged
        self.damage_notifier = DamageNotifier()

    async def acknowledge(self) -> None:
        self.report = None
        await self._access.run_query(lambda _: self._files.store_files.repair_notes.mark_reported())

    def listen(self, listener: Listener) -> Callable[[], None]:
        return self.damage_notifier.listen(listener)

    async def missing_files(self) -> StoreWriteFailed | None:
        return await asyncio.to_thread(self._files.database.missing_files)

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        checker = IntegrityChecker(self._access.contents)
        total = await self._access.run_query(checker.count_entries)
        while await self._access.run_query(checker.check_next_slice):
            if on_progress is not None:
                on_progress(checker.result.contents, total)
        result = checker.result
        if on_progress is not None:
            on_progress(result.contents, max(total, result.contents))
        if checker.damage:
            self._files.mark_suspect(RowDamaged(checker.damage))
        return result


def _read_stored_format(database: Database) -> StoreFormat:
    """Return the format that the rows state. Raise RowDamaged."""
    schema = ROWS.schema.get(database)
    workspace = ROWS.identity.get(database)
    if schema is None or workspace is None:
        raise RowDamaged("they are missing")
    return StoreFormat(schema, workspace)


def _read_format_from_db(db: Path) -> StoreFormat | None:
    """Return the format that the rows of a closed database state; None if they cannot be read."""
    try:
        handle = Database(db)
    except StoreUnreadable:
        return None
    try:
        return _read_stored_format(handle)
    except (RowDamaged, StoreUnreadable):
        return None
    finally:
        handle.close()


def _read_clean_state(database: Database) -> CleanState:
    """Return the counters that the rows state. Raise RowDamaged."""
    totals = kinds.read_totals(database)
    return CleanState(kinds.read_sequence(database), totals.entries, totals.sessions)


def _read_last_seqs(database: Database) -> dict[str, int]:
    """Return the seq of each session's last event. Raise RowDamaged."""

    def query(view: RowView) -> dict[str, int]:
        # The value first: its checksum covers the key, which may no longer be text.
        last_seqs = ROWS.last_seq.scan(view, kinds.LAST_EVENTS)
        return {kinds.session_of(key, kinds.LAST_EVENTS): seq for key, seq in last_seqs}

    return database.read(query)


def _check_format(actual_format: StoreFormat, expected_format: StoreFormat, store_files: StoreFiles) -> None:
    """Raise StoreUnreadable for another workspace's store, StoreFormatUnknown for an unknown schema."""
    if actual_format.schema != expected_format.schema:
        raise StoreFormatUnknown(
            text("The workspace data was written by another version of Helix Desktop."),
            text(
                "It has schema {actual} of {day}; this version reads schema {expected}.",
                actual=actual_format.schema,
                day=utc_day(store_files.last_written_ms()),
                expected=expected_format.schema,
            ),
            text("Nothing was changed. Open it with the newest version, or with the one that wrote it."),
        )
    if actual_format.workspace_id != expected_format.workspace_id:
        raise store_errors.other_workspace(actual_format.workspace_id, expected_format.workspace_id)
