"""Single values of a file history, by name."""

from __future__ import annotations

from helix_desktop.file_history.database.connection import Connection, blob


class MetaRows:
    """The single values in one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, name: str) -> bytes | None:
        """Return a value; None: it was never set."""
        rows = self._connection.query("SELECT value FROM meta WHERE name = ?", (name,))
        with self._connection.reading():
            return blob(rows[0][0]) if rows else None

    def put(self, name: str, value: bytes) -> None:
        """Set a value."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
