"""The health of a store: repairs that were made, damage that is met, and the full check."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from helix_desktop.domain.errors import ContentDamaged, HelixError, StoreWriteFailed
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.progress import OnProgress
from helix_desktop.domain.store.repair_report import IntegrityReport, RepairReport
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.access import StoreAccess
from helix_desktop.store.open.open_files import OpenFiles
from helix_desktop.store.repair.integrity_check import IntegrityChecker

_log = logging.getLogger(__name__)

Listener = Callable[[HelixError], None]


class DamageNotifier:
    """Notify listeners of damaged contents, once for each."""

    def __init__(self) -> None:
        self._listeners: Listeners[[HelixError], None] = Listeners()
        self._notified: set[str] = set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Subscribe to damage. Call the returned function to unsubscribe."""
        return self._listeners.listen(listener)

    def notify(self, digest: str, error: ContentDamaged) -> None:
        """Notify the listeners that damaged bytes were met."""
        if digest not in self._notified:
            self._notified.add(digest)
            _log.warning("%s", error)
            self._listeners.notify(error)

    def forget_digests(self, digests: Iterable[str]) -> None:
        """Forget earlier notifications of contents that were stored again: later damage is news."""
        self._notified.difference_update(digests)


class LevelDbHealth:
    """The health of a store on disk."""

    def __init__(self, files: OpenFiles, access: StoreAccess) -> None:
        self._files, self._access = files, access
        self._report = files.report
        self.damage_notifier = DamageNotifier()

    @property
    def report(self) -> RepairReport | None:
        """Return the report of a repair at this opening or an earlier one, until acknowledged; else None."""
        return self._report

    async def acknowledge(self) -> None:
        """Mark the report as seen by the user."""
        self._report = None
        await self._access.run_query(lambda _: self._files.store_files.repair_notes.mark_reported())

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Subscribe to damaged contents, once for each, with what to do. Call the result to unsubscribe."""
        return self.damage_notifier.listen(listener)

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return why nothing can be saved while the files are not in their place; None: they are."""
        return await asyncio.to_thread(self._files.database.missing_files)

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        """Check everything, in slices between which others are served; if canceled, end after a slice.

        Damage to rows other than contents is repaired at the next opening.
        """
        checker = IntegrityChecker(self._access.contents)
        total = await self._access.run_query(checker.count_entries)
        while await self._access.run_query(checker.check_next_slice):
            if on_progress is not None:
                on_progress(checker.result.contents, total)
        result = checker.result
        if on_progress is not None:
            on_progress(result.contents, max(total, result.contents))
        if result.problems:
            self._files.mark_suspect(RowDamaged(result.problems[0]))
        return result
