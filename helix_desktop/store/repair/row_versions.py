"""Every version of every row that a database's files still hold, whatever became of its lists and indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from helix_desktop.store.repair.leveldb_log import read_batch, read_log
from helix_desktop.store.repair.leveldb_table import TableBlock, has_index, read_table


class RowVersion(NamedTuple):
    """A row as it was written once; `age` is smaller for newer ones, `trusted` asks for its checksum."""

    key: bytes
    age: int
    row: bytes | None
    is_intact: Callable[[], bool]


def read_versions(
    db: Path, on_unreadable: Callable[[str, OSError], None]
) -> Iterator[tuple[bytes, list[RowVersion]]]:
    """Each key in order, with its versions, best first: those whose checksum matches, then newer ones.

    A deletion has no row; one that cannot be trusted is left out. `failed` hears of files that the disk does
    not give.
    """
    tables = [path for pattern in ("*.ldb", "*.sst") for path in sorted(db.glob(pattern))]
    sources = [_reporting_errors(path, _table_versions, on_unreadable) for path in tables]
    sources += [_reporting_errors(path, _log_versions, on_unreadable) for path in sorted(db.glob("*.log"))]
    for key, versions in groupby(merge(*sources, key=itemgetter(0, 1)), key=itemgetter(0)):
        yield key, _best_first(list(versions))


def _best_first(versions: list[RowVersion]) -> list[RowVersion]:
    if len(versions) == 1 and versions[0].row is not None:
        return versions  # nothing to choose from: its checksum need not be asked
    ranked = sorted(versions, key=lambda one: (not one.is_intact(), one.age))
    return [one for one in ranked if one.row is not None or one.is_intact()]


def _reporting_errors(
    path: Path, read: Callable[[Path], Iterator[RowVersion]], on_unreadable: Callable[[str, OSError], None]
) -> Iterator[RowVersion]:
    try:
        yield from read(path)
    except OSError as error:
        on_unreadable(path.name, error)


def _table_versions(path: Path) -> Iterator[RowVersion]:
    found = (version for block in read_table(path) for version in _block_versions(block))
    yield from found if has_index(path) else sorted(found, key=itemgetter(0, 1))


def _block_versions(block: TableBlock) -> Iterator[RowVersion]:
    def trusted() -> bool:
        return block.is_intact

    return (RowVersion(key, -number, row, trusted) for key, row, number in block.changes)


def _log_versions(path: Path) -> Iterator[RowVersion]:
    found: list[RowVersion] = []
    for record in read_log(path.read_bytes()):
        sure = _always_intact if record.is_intact else _never_intact
        found += [RowVersion(key, -number, row, sure) for key, row, number in read_batch(record.payload)]
    yield from sorted(found, key=itemgetter(0, 1))


def _always_intact() -> bool:
    return True


def _never_intact() -> bool:
    return False
