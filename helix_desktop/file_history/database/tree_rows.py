"""The tree as last seen: what stands at each path, and the stamp that shows whether it still does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from helix_desktop.domain.file_history.state import FileState
from helix_desktop.file_history.database.connection import Connection, blob


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
