"""What can still be read of a damaged file history, copied into the one that begins in its place.

Row by row, each content against its hash. The tree as last seen is not among it: the workspace is read again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.capture import Capture
from helix_desktop.domain.file_history.state import FileChange
from helix_desktop.file_history.database.capture_rows import RunningCallRow
from helix_desktop.file_history.database.connection import Connection
from helix_desktop.file_history.database.contents import unpack

_PER_COMMIT = 200  # rows
_MAX_ROWS = 1_000_000  # of a table that is read at once: damage can lead in circles
_MAX_MISSES = 10_000  # ids in a row at which nothing can be read: there is nothing more
_CONTENT = tuple[int, bytes, int, int, int, int, bytes]
_TABLES: dict[str, tuple[Any, int, Any]] = {
    "removed": (tuple[bytes, int, bytes], -1, None),  # first: what the user had removed is not stored again
    "journal": (tuple[str, str, bytes], -1, None),  # by it a revert that was cut off is taken back
    "running": (tuple[str, str, str, int, bytes], 4, RunningCallRow),
    "running_changes": (tuple[str, str, str, bytes], 3, FileChange),
    "captures": (tuple[str, str, bytes, bytes, int, int], 3, Capture),
}
"""By table the types of a row, the column that holds JSON, and of what."""


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
            for table in _TABLES:
                _insert(connection, table, _sound_rows(source, table))
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
    for row in rows:
        with suppress(msgspec.ValidationError):
            id_, digest, size, stored_size, encoding, used_ms, data = msgspec.convert(row, type=_CONTENT)
            if digest_of(unpack(encoding, size, data)) != digest.hex():
                continue
            contents += _insert(connection, "contents", [(id_, digest, size, stored_size, encoding, used_ms)])
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


def _sound_rows(source: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table that hold what they have to."""
    types, json_column, kind = _TABLES[table]
    if table in ("running_changes", "removed"):
        rows = _until_damage(source, f"SELECT * FROM {table}")
    else:
        found = _by_id(source, f"SELECT rowid, * FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1")
        rows = (row[1:] for row in found)
    for row in rows:
        with suppress(msgspec.MsgspecError):
            values = msgspec.convert(row, type=types)
            if kind is not None:
                msgspec.json.decode(values[json_column], type=kind)
            yield values


def _until_damage(source: sqlite3.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    try:
        yield from islice(source.execute(sql), _MAX_ROWS)
    except sqlite3.Error:
        return


def _by_id(source: sqlite3.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table one after the other, by their ids, past those that are damaged."""
    id_ = misses = 0
    try:
        source.execute(f"EXPLAIN {sql}", (id_,))
    except sqlite3.Error:  # no database, or the table is not in it: no id can be read
        return
    while misses < _MAX_MISSES:
        try:
            row = source.execute(sql, (id_,)).fetchone()
        except sqlite3.Error:
            row = (id_,)
        if row is None:
            return
        if row[0] <= id_:  # damaged: not even the order of the ids holds
            id_, misses = id_ + 1, misses + 1
            continue
        id_, misses = row[0], 0
        yield row
