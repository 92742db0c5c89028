"""The journal of reverts under way: what is needed to finish or take back one that a kill cut off."""

from __future__ import annotations

from helix_desktop.file_history.database.connection import Connection, blob


class JournalRows:
    """The rows of the journal in one database; an entry's bytes are the revert's own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, revert_id: str, state: str, entry: bytes) -> None:
        """Write how far a revert is."""
        self._connection.execute("INSERT OR REPLACE INTO journal VALUES (?, ?, ?)", (revert_id, state, entry))

    def all(self) -> list[tuple[str, str, bytes]]:
        """Return the reverts under way: id, state, entry."""
        rows = self._connection.query("SELECT id, state, entry FROM journal ORDER BY rowid")
        with self._connection.reading():
            return [(str(id_), str(state), blob(entry)) for id_, state, entry in rows]

    def remove(self, revert_id: str) -> None:
        """Remove a revert that ended."""
        self._connection.execute("DELETE FROM journal WHERE id = ?", (revert_id,))
