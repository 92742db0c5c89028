"""The database of one workspace's file history: contents, the tree as last seen, calls, captures, reverts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from helix_desktop.file_history.database.captures import CaptureRows
from helix_desktop.file_history.database.contents import ContentRows
from helix_desktop.file_history.database.journal import JournalRows
from helix_desktop.file_history.database.meta import MetaRows
from helix_desktop.file_history.database.schema import open_database
from helix_desktop.file_history.database.tree_rows import TreeRows


class HistoryDatabase:
    """One open database. Every use of its parts is within `write` or `read`, in one thread at a time."""

    def __init__(self, path: Path, clock: Callable[[], int]) -> None:
        """`clock` returns the time in milliseconds since 1970. Raises StoreUnreadable."""
        self.path = path
        self._connection = open_database(path)
        self._depth = 0
        self.contents = ContentRows(self._connection, clock)
        self.tree = TreeRows(self._connection)
        self.captures = CaptureRows(self._connection)
        self.journal = JournalRows(self._connection)
        self.meta = MetaRows(self._connection)

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a block as one transaction, durable at its end, alone among all processes; blocks may nest.

        What it raises rolls the whole back.
        """
        if self._depth:
            yield
            return
        self._connection.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        else:
            self._connection.execute("COMMIT")
        finally:
            self._depth = 0

    @property
    def version(self) -> int:
        """A number that changes when another process wrote."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
