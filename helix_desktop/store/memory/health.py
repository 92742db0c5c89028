"""The health of the in-memory store: nothing outlives the process, so nothing ever needs a repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.progress import OnProgress
from helix_desktop.domain.store.repair_report import IntegrityReport, LostContent, RepairReport


class MemoryHealth:
    """The health of a store that never has damage."""

    def __init__(self, contents: Mapping[str, bytes], check_open: Callable[[], None]) -> None:
        self._contents, self._check_open = contents, check_open

    @property
    def report(self) -> RepairReport | None:
        """Return None: nothing is ever repaired."""
        return None

    async def acknowledge(self) -> None:
        """Do nothing: there is no report to acknowledge."""
        self._check_open()

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Return an unsubscribe function; the listener is never called, bytes in memory cannot be damaged."""
        return lambda: None

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return None: there are no files."""
        return None

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        """Compare the content of every entry with its SHA-256."""
        self._check_open()
        wrong = [digest for digest, data in self._contents.items() if digest_of(data) != digest]
        count = len(self._contents)
        if on_progress is not None:
            on_progress(count, count)
        return IntegrityReport(count, count, tuple(map(LostContent, wrong)))
