"""What can still be read of a damaged file history, copied into the one that begins in its place.

Row by row, each content against its hash. The tree as last seen is not among it: the workspace is read anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from helix_desktop.domain.digest import digest_of
from helix_desktop.file_history.database.connection import Connection
from helix_desktop.file_history.database.contents import unpack

_PER_COMMIT = 200  # rows
_MAX_MISSES = 10_000  # ids in a row at which nothing can be read: there is nothing more
_SMALL_TABLES = ("removed", "journal", "running", "running_changes")
"""First `removed`: what the user had removed is not stored again. By the journal a revert that was cut off is
taken back."""


def salvage(damaged: Path, connection: Connection) -> int:
    """Copy what is left of a damaged database into a new one; return how many contents that were.

    Raises StoreWriteFailed if the new one cannot be written.
    """
    try:
        source = sqlite3.connect(f"{damaged.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error:
        return 0
    with closing(source):
        connection.begin()
        try:
            for table in _SMALL_TABLES:
                _insert(connection, table, _until_damage(source, f"SELECT * FROM {table}"))
            captures = _by_id(source, "SELECT rowid, * FROM captures WHERE rowid > ? ORDER BY rowid LIMIT 1")
            _insert(connection, "captures", (row[1:] for row in captures))
            contents = _copy_contents(source, connection)
            connection.commit()
        finally:
            connection.roll_back()  # nothing, after a commit
    return contents


def _copy_contents(source: sqlite3.Connection, connection: Connection) -> int:
    contents = 0
    rows = _by_id(
        source,
        "SELECT c.id, c.digest, c.size, c.stored_size, c.encoding, c.used_ms, d.data"
        " FROM contents c JOIN content_data d ON d.id = c.id WHERE c.id > ? ORDER BY c.id LIMIT 1",
    )
    for *row, data in rows:
        id_, digest, size, _, encoding, _ = row
        if isinstance(data, bytes) and digest_of(unpack(encoding, size, data)) == digest.hex():
            contents += _insert(connection, "contents", [row])
            _insert(connection, "content_data", [(id_, data)])
            if contents % _PER_COMMIT == 0:
                connection.commit()
                connection.begin()
    return contents


def _insert(connection: Connection, table: str, rows: Iterable[Iterable[Any]]) -> int:
    """Add rows to a table, each whose key is not there; return how many rows these were."""
    count = 0
    for values in map(tuple, rows):
        marks = ", ".join("?" * len(values))
        count += connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)
    return count


def _until_damage(source: sqlite3.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    try:
        yield from source.execute(sql)
    except sqlite3.Error:
        return


def _by_id(source: sqlite3.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table one after the other, by their ids, past those that are damaged."""
    id_ = misses = 0
    while misses < _MAX_MISSES:
        try:
            row = source.execute(sql, (id_,)).fetchone()
        except sqlite3.Error:
            id_, misses = id_ + 1, misses + 1
            continue
        if row is None:
            return
        id_, misses = row[0], 0
        yield row
