"""The rows of a file history: the tree as last seen, running calls, captures, reverts under way, values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from helix_desktop.domain.file_history.changes import CallMark, Capture, FileChange, FileState
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


class SeenPath(NamedTuple):
    """A path as last seen. `stamp` is what a stat said; `is_fresh`: it may have changed without another.

    `state.stored` is False for what is known by hash only.
    """

    state: FileState
    stamp: bytes
    is_fresh: bool


class TreeRows:
    """The rows of the tree in one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def load(self) -> dict[str, SeenPath]:
        """Return all of them by path."""
        rows = self._connection.query(
            "SELECT path, kind, digest, size, mode, target, stored, modified_ns, stamp, fresh FROM tree"
        )
        with self._connection.reading():
            return {
                _text(path): SeenPath(
                    FileState(kind, blob(digest).hex(), size, mode, target, bool(stored), modified_ns),
                    blob(stamp),
                    bool(fresh),
                )
                for path, kind, digest, size, mode, target, stored, modified_ns, stamp, fresh in rows
            }

    def digests(self) -> set[bytes]:
        """Return the contents that the files have which are stored."""
        return {digest for (digest,) in self._connection.query("SELECT digest FROM tree WHERE stored = 1")}

    def stored_size(self) -> int:
        """Return the stored bytes of these contents."""
        [[size]] = self._connection.query(
            "SELECT coalesce(sum(stored_size), 0) FROM contents"
            " WHERE digest IN (SELECT digest FROM tree WHERE stored = 1)"
        )
        with self._connection.reading():
            return int(size)

    def paths_of(self, digests: Iterable[str]) -> list[str]:
        """Return the files that have one of these contents, sorted."""
        rows = (
            self._connection.query("SELECT path FROM tree WHERE digest = ?", (bytes.fromhex(digest),))
            for digest in digests
        )
        with self._connection.reading():
            return sorted(path for found in rows for (path,) in found)

    def mark_not_stored(self, digests: Iterable[str]) -> None:
        """Note that contents are not stored any more, until their files change."""
        self._connection.execute_many(
            "UPDATE tree SET stored = 0 WHERE digest = ?", ((bytes.fromhex(digest),) for digest in digests)
        )

    def mark_unread(self, digests: Iterable[str]) -> None:
        """Have the files with these contents read again by the next scan."""
        self._connection.execute_many(
            "UPDATE tree SET fresh = 1 WHERE digest = ?", ((bytes.fromhex(digest),) for digest in digests)
        )

    def put(self, rows: Iterable[tuple[str, SeenPath]]) -> None:
        """Store what was seen at paths."""
        self._connection.execute_many(
            "INSERT OR REPLACE INTO tree VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    path,
                    row.state.kind,
                    bytes.fromhex(row.state.digest),
                    row.state.size,
                    row.state.mode,
                    row.state.target,
                    row.state.stored,
                    row.state.modified_ns,
                    row.stamp,
                    row.is_fresh,
                )
                for path, row in rows
            ),
        )

    def remove(self, paths: Iterable[str]) -> None:
        """Remove paths at which nothing stands any more."""
        self._connection.execute_many("DELETE FROM tree WHERE path = ?", ((path,) for path in paths))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text but {type(value).__name__}")
    return value


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
