"""The database of one workspace's file history: contents, the tree as last seen, calls, captures, reverts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.file_history.file_coverage import FileHistoryTotals
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.file_history.database.connection import BUSY_S
from helix_desktop.file_history.database.contents import ContentRows
from helix_desktop.file_history.database.rows import CaptureRows, JournalRows, MetaRows, TreeRows
from helix_desktop.file_history.database.schema import SALVAGED, damaged_files, open_database
from helix_desktop.system.clock import ClockMs

text = TextContext("Changes")
log = logging.getLogger(__name__)

_PAGES_AT_ONCE = 2_000  # 8 MB
_PURGE, _PURGE_WAIT_MS = "purge", 3_000
_REPORTED = "reported-damage"


class FileHistoryDatabase:
    """One open database, for one thread at a time; several processes may have it open.

    Every method of it and its parts may raise StoreClosed, StoreUnreadable and StoreWriteFailed, and no
    error of SQLite. What writes belongs in `write`: outside, each statement is a transaction of its own.
    """

    def __init__(self, path: Path, clock: ClockMs) -> None:
        """Open the file, or make it; a damaged one is moved aside (`damaged_file`).

        `clock` returns the time in milliseconds since 1970. Raises StoreUnreadable, StoreWriteFailed.
        """
        self.path, self.clock = path, clock
        self._connection = open_database(path, clock)
        self._depth = 0
        self.contents = ContentRows(self._connection, clock)
        self.tree = TreeRows(self._connection)
        self.captures = CaptureRows(self._connection)
        self.journal = JournalRows(self._connection)
        self.meta = MetaRows(self._connection)
        self._finish_purge()

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a block as one transaction, durable at its end, alone among all processes; blocks may nest.

        What it raises rolls the whole back.
        """
        if self._depth:
            yield
            return
        self._connection.begin()
        self._depth = 1
        try:
            yield
            self._connection.commit()
        finally:
            self._depth = 0
            self._connection.roll_back()  # nothing, after a commit

    @property
    def version(self) -> int:
        """A number that changes when another process wrote."""
        return int(self._connection.query("PRAGMA data_version")[0][0])

    @property
    def damaged_file(self) -> str:
        """The name of a damaged file that this one replaced, until that was reported; mostly empty."""
        files = damaged_files(self.path)
        name = files[-1].name if files else ""
        return "" if self.meta.get(_REPORTED) == name.encode() else name

    @property
    def salvaged(self) -> int:
        """How many contents of the damaged file could be copied."""
        return int(self.meta.get(SALVAGED) or 0)

    def mark_damage_reported(self) -> None:
        """Note that the user knows of `damaged_file`."""
        self.meta.put(_REPORTED, self.damaged_file.encode())

    def totals(self) -> FileHistoryTotals:
        """Return what is stored, and what it takes on disk."""
        contents, size, stored_size = self.contents.totals()
        versions = contents - sum(map(self.contents.has, self.captures.lists()))
        disk_size = sum(file.stat().st_size for file in self.path.parent.glob(f"{self.path.name}*"))
        return FileHistoryTotals(versions, size, stored_size, self.tree.stored_size(), disk_size)

    def integrity_problems(self) -> tuple[str, ...]:
        """Return what is wrong with the structure of the file, at most a few lines; it is read as a whole."""
        lines = [line for (line,) in self._connection.query("PRAGMA integrity_check(5)")]
        if lines == ["ok"]:
            return ()
        self._connection.damaged(verbatim(lines[0]))
        return tuple(lines)

    def shrink(self) -> None:
        """Give what was removed back to the system, in steps for which nobody waits long."""
        free, before = self._free_pages(), -1
        while free not in (0, before):
            self._connection.query(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")
            before, free = free, self._free_pages()
        self._connection.query("PRAGMA wal_checkpoint(PASSIVE)")

    def begin_purge(self) -> None:
        """Note that what is removed now is to be gone from the files too, whatever is cut off."""
        self.meta.put(_PURGE, b"1")

    def purge(self) -> None:
        """Have nothing left in the files of what was removed. Raises StoreWriteFailed."""
        self.shrink()
        self._connection.query(f"PRAGMA busy_timeout = {_PURGE_WAIT_MS}")
        [[is_busy, _, _]] = self._connection.query("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.query(f"PRAGMA busy_timeout = {BUSY_S * 1000:.0f}")
        if is_busy:
            raise StoreWriteFailed(
                text("Removed text may still be in the files of the file history."),
                text("Another Helix Desktop is reading them."),
                text("It is removed when the workspace is opened next. Close its other windows before that."),
            )
        self.meta.put(_PURGE, b"")

    def _finish_purge(self) -> None:
        if self.meta.get(_PURGE):
            try:
                self.purge()
            except StoreWriteFailed as error:
                log.warning("%s", error)

    def _free_pages(self) -> int:
        return int(self._connection.query("PRAGMA freelist_count")[0][0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
