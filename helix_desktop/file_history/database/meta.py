"""Single values of a file history, by name."""

from __future__ import annotations

import sqlite3


class MetaRows:
    """The single values in one database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, name: str) -> bytes | None:
        """Return a value; None: it was never set."""
        row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
