"""The tree as last seen: what stands at each path, and the stamp that shows whether it still does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from helix_desktop.domain.file_history.state import FileState


class SeenPath(NamedTuple):
    """A path as last seen. `stamp` is what a stat said; `is_fresh`: it may have changed without another.

    `state.stored` is False for what is known by hash only.
    """

    state: FileState
    stamp: bytes
    is_fresh: bool


class TreeRows:
    """The rows of the tree in one database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def load(self) -> dict[str, SeenPath]:
        """Return all of them by path."""
        rows = self._connection.execute(
            "SELECT path, kind, digest, size, mode, target, stored, modified_ns, stamp, fresh FROM tree"
        )
        return {
            path: SeenPath(
                FileState(kind, digest.hex(), size, mode, target, bool(stored), modified_ns),
                stamp,
                bool(fresh),
            )
            for path, kind, digest, size, mode, target, stored, modified_ns, stamp, fresh in rows
        }

    def put(self, rows: Iterable[tuple[str, SeenPath]]) -> None:
        """Store what was seen at paths."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO tree VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    path,
                    seen.state.kind,
                    bytes.fromhex(seen.state.digest),
                    seen.state.size,
                    seen.state.mode,
                    seen.state.target,
                    seen.state.stored,
                    seen.state.modified_ns,
                    seen.stamp,
                    seen.is_fresh,
                )
                for path, seen in rows
            ),
        )

    def remove(self, paths: Iterable[str]) -> None:
        """Remove paths at which nothing stands any more."""
        self._connection.executemany("DELETE FROM tree WHERE path = ?", ((path,) for path in paths))
