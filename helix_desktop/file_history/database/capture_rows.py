"""Running calls with what changed during them so far, and captures until they stand in a session's log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from helix_desktop.domain.file_history.capture import CallMark, Capture
from helix_desktop.domain.file_history.state import FileChange
from helix_desktop.file_history.database.connection import Connection, blob


class RunningCallRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that runs in a process, or ran when that ended; `others` ran at the same time, by their titles.

    `process` names the lock that the process holds as long as it lives.
    """

    mark: CallMark
    process: str
    started_ms: int
    others: tuple[str, ...] = ()


class CaptureRows:
    """The rows of calls and captures in one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put_running(self, call: RunningCallRow) -> None:
        """Add a running call, or replace what is stored of it."""
        mark = call.mark
        self._connection.execute(
            "INSERT INTO running VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (session, call_id) DO UPDATE SET call = excluded.call",
            (mark.session, mark.call_id, call.process, call.started_ms, msgspec.json.encode(call)),
        )

    def running(self) -> list[RunningCallRow]:
        """Return the running calls of all processes, oldest first."""
        rows = self._connection.query("SELECT call FROM running ORDER BY started_ms, rowid")
        return [self._connection.decode(row[0], RunningCallRow) for row in rows]

    def put_changes(self, mark: CallMark, changes: Iterable[FileChange]) -> None:
        """Set what changed at paths during a running call so far."""
        self._connection.execute_many(
            "INSERT OR REPLACE INTO running_changes VALUES (?, ?, ?, ?)",
            ((mark.session, mark.call_id, change.path, msgspec.json.encode(change)) for change in changes),
        )

    def changes(self, mark: CallMark) -> dict[str, FileChange]:
        """Return what changed during a running call so far, by path."""
        rows = self._connection.query(
            "SELECT path, change FROM running_changes WHERE session = ? AND call_id = ? ORDER BY path",
            (mark.session, mark.call_id),
        )
        return {path: self._connection.decode(change, FileChange) for path, change in rows}

    def end(self, mark: CallMark) -> None:
        """Remove a running call and its changes."""
        key = (mark.session, mark.call_id)
        self._connection.execute("DELETE FROM running WHERE session = ? AND call_id = ?", key)
        self._connection.execute("DELETE FROM running_changes WHERE session = ? AND call_id = ?", key)

    def add(self, capture: Capture) -> None:
        """Add a capture that is to be recorded in its session's log."""
        self._connection.execute(
            "INSERT INTO captures VALUES (?, ?, ?, ?, ?, 0)",
            (
                capture.id,
                capture.session,
                bytes.fromhex(capture.changes),
                msgspec.json.encode(capture),
                capture.created_ms,
            ),
        )

    def unrecorded(self, session_id: str) -> list[Capture]:
        """Return a session's captures that were not acknowledged, oldest first."""
        rows = self._connection.query(
            "SELECT capture FROM captures WHERE session = ? AND recorded = 0 ORDER BY created_ms, rowid",
            (session_id,),
        )
        return [self._connection.decode(row[0], Capture) for row in rows]

    def acknowledge(self, ids: Sequence[str]) -> None:
        """Note that captures stand in their session's log."""
        self._connection.execute_many(
            "UPDATE captures SET recorded = 1 WHERE id = ?", ((id_,) for id_ in ids)
        )

    def all(self) -> list[Capture]:
        """Return every capture, oldest first."""
        rows = self._connection.query("SELECT capture FROM captures ORDER BY created_ms, rowid")
        return [self._connection.decode(row[0], Capture) for row in rows]

    def since(self, created_ms: int) -> list[Capture]:
        """Return the captures made from a time on, newest first."""
        rows = self._connection.query(
            "SELECT capture FROM captures WHERE created_ms >= ? ORDER BY created_ms DESC", (created_ms,)
        )
        return [self._connection.decode(row[0], Capture) for row in rows]

    def lists(self) -> set[str]:
        """Return the digests of all lists of changes."""
        rows = self._connection.query("SELECT changes FROM captures")
        with self._connection.reading():
            return {blob(digest).hex() for (digest,) in rows}

    def replace(self, capture: Capture) -> None:
        """Replace what is stored of a capture."""
        self._connection.execute(
            "UPDATE captures SET changes = ?, capture = ? WHERE id = ?",
            (bytes.fromhex(capture.changes), msgspec.json.encode(capture), capture.id),
        )

    def remove(self, ids: Iterable[str]) -> None:
        """Remove captures whose session is gone; their contents go with the next clean-up."""
        self._connection.execute_many("DELETE FROM captures WHERE id = ?", ((id_,) for id_ in ids))
