"""Every version of every row that a database's files still hold, without its manifest and indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from helix_desktop.store.repair.leveldb_log import read_batch, read_log
from helix_desktop.store.repair.leveldb_table import TableBlock, has_index, read_table
from helix_desktop.system.files import read_regular


class RowVersion(NamedTuple):
    """A row as it was once written; `age` is smaller for newer ones, `is_intact` verifies its checksum."""

    key: bytes
    age: int
    row: bytes | None
    is_intact: Callable[[], bool]


def read_versions(
    db: Path, on_unreadable: Callable[[str, OSError], None]
) -> Iterator[tuple[bytes, list[RowVersion]]]:
    """Yield each key in order with its versions, best first: those with a valid checksum, then newer ones.

    A deletion has no row; an untrusted one is left out. `on_unreadable` is called for files that the disk
    cannot read.
    """
    tables = [path for pattern in ("*.ldb", "*.sst") for path in sorted(db.glob(pattern))]
    sources = [_reporting_errors(path, _table_versions, on_unreadable) for path in tables]
    sources += [_reporting_errors(path, _log_versions, on_unreadable) for path in sorted(db.glob("*.log"))]
    for key, versions in groupby(merge(*sources, key=itemgetter(0, 1)), key=itemgetter(0)):
        yield key, _best_first(list(versions))


def _best_first(versions: list[RowVersion]) -> list[RowVersion]:
    if len(versions) == 1 and versions[0].row is not None:
        return versions  # only one version: its checksum need not be verified
    ranked = sorted(versions, key=lambda version: (not version.is_intact(), version.age))
    return [version for version in ranked if version.row is not None or version.is_intact()]


def _reporting_errors(
    path: Path, read: Callable[[Path], Iterator[RowVersion]], on_unreadable: Callable[[str, OSError], None]
) -> Iterator[RowVersion]:
    try:
        yield from read(path)
    except OSError as error:
        on_unreadable(path.name, error)


def _table_versions(path: Path) -> Iterator[RowVersion]:
    versions = (version for block in read_table(path) for version in _block_versions(block))
    yield from versions if has_index(path) else sorted(versions, key=itemgetter(0, 1))


def _block_versions(block: TableBlock) -> Iterator[RowVersion]:
    def is_intact() -> bool:
        return block.is_intact

    return (RowVersion(key, -number, row, is_intact) for key, row, number in block.changes)


def _log_versions(path: Path) -> Iterator[RowVersion]:
    versions: list[RowVersion] = []
    for record in read_log(read_regular(path)):
        is_intact = _always_intact if record.is_intact else _never_intact
        versions += [
            RowVersion(key, -number, row, is_intact) for key, row, number in read_batch(record.payload)
        ]
    yield from sorted(versions, key=itemgetter(0, 1))


def _always_intact() -> bool:
    return True


def _never_intact() -> bool:
    return False
