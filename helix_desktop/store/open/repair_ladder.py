"""Open a LevelDB that may be damaged: as it is; without a torn end of its log; else rebuilt.

Nothing damaged is changed or deleted: a database that had to be rebuilt is kept as it was found.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import msgspec

from helix_desktop.domain.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.store.repair_report import RepairReport, TruncatedSession
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.core.store_errors import write_failure_reason
from helix_desktop.store.files.quarantine import Quarantine
from helix_desktop.store.files.store_files import CleanState, StoreFiles, StoreFormat
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.database import Database, store_damaged, store_unreadable
from helix_desktop.store.leveldb.identity import check_identity, read_clean_state, read_last_seqs
from helix_desktop.store.repair.integrity_check import IntegrityChecker
from helix_desktop.store.repair.preflight import find_torn_log, inspect_files
from helix_desktop.store.repair.progress import StagedProgress
from helix_desktop.store.repair.salvage import Salvage, SalvageResult
from helix_desktop.system.clock import ClockMs

text = TextContext("Store")

_log = logging.getLogger(__name__)

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
        """`on_progress` reports the progress of a repair."""
        self._progress = StagedProgress(on_progress, _STAGES)
        self._store_files, self._store_format, self._clock = store_files, store_format, clock
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
            check_identity(handle, self._store_format)
            state = read_clean_state(handle)
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
            self._report_lost_writes(lost, state, read_last_seqs(handle))
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
        report = self._build_report(problems, result, backup_folder)
        return msgspec.structs.replace(report, uncounted=uncounted)

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

    def _build_report(
        self, problems: list[str], salvaged: SalvageResult, backup_folder: Path
    ) -> RepairReport:
        return RepairReport(
            self._clock(),
            tuple(dict.fromkeys([*problems, *salvaged.problems])),
            salvaged.totals.entries,
            salvaged.totals.sessions,
            salvaged.events,
            tuple(salvaged.lost_contents),
            tuple(salvaged.truncated_sessions),
            writes=salvaged.lost_writes,
            rows=salvaged.lost_rows,
            vanished=salvaged.lost_entries,
            copy=str(backup_folder / "db"),
            aside=str(backup_folder),
        )
