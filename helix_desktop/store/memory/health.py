"""The health of the store in memory: nothing there outlives the process, so nothing has to be mended."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.store.repair_report import IntegrityReport, LostContent, RepairReport


class MemoryHealth:
    """Answers as the health of a sound store on disk does."""

    def __init__(self, contents: Mapping[str, bytes], check_open: Callable[[], None]) -> None:
        self._contents, self._check_open = contents, check_open

    @property
    def report(self) -> RepairReport | None:
        """None: there was nothing to mend."""
        return None

    async def acknowledge(self) -> None:
        """Nothing was to be told."""
        self._check_open()

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Bytes in memory are what was stored: nobody will hear anything."""
        return lambda: None

    async def check(self, progress: Callable[[int, int], None] | None = None) -> IntegrityReport:
        """Compare every content with its SHA-256."""
        self._check_open()
        wrong = [digest for digest, data in self._contents.items() if digest_of(data) != digest]
        count = len(self._contents)
        if progress is not None:
            progress(count, count)
        return IntegrityReport(count, count, tuple(map(LostContent, wrong)))
