"""Every version of every row that a database's files still hold, whatever became of its lists and indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from helix_desktop.store.log_file import read_batch, read_log
from helix_desktop.store.table_file import Block, indexed, read_table


class Version(NamedTuple):
    """A row as it was written once; `age` is smaller for newer ones, `trusted` asks for its checksum."""

    key: bytes
    age: int
    row: bytes | None
    trusted: Callable[[], bool]


def read_versions(db: Path, failed: Callable[[str, OSError], None]) -> Iterator[tuple[bytes, list[Version]]]:
    """Each key in order, with its versions, best first: those whose checksum matches, then newer ones.

    A deletion has no row; one that cannot be trusted is left out. `failed` hears of files that the disk does
    not give.
    """
    tables = [path for pattern in ("*.ldb", "*.sst") for path in sorted(db.glob(pattern))]
    sources = [_guarded(path, _of_table, failed) for path in tables]
    sources += [_guarded(path, _of_log, failed) for path in sorted(db.glob("*.log"))]
    for key, versions in groupby(merge(*sources, key=itemgetter(0, 1)), key=itemgetter(0)):
        yield key, _best_first(list(versions))


def _best_first(versions: list[Version]) -> list[Version]:
    if len(versions) == 1 and versions[0].row is not None:
        return versions  # nothing to choose from: its checksum need not be asked
    ranked = sorted(versions, key=lambda one: (not one.trusted(), one.age))
    return [one for one in ranked if one.row is not None or one.trusted()]


def _guarded(
    path: Path, read: Callable[[Path], Iterator[Version]], failed: Callable[[str, OSError], None]
) -> Iterator[Version]:
    try:
        yield from read(path)
    except OSError as error:
        failed(path.name, error)


def _of_table(path: Path) -> Iterator[Version]:
    found = (version for block in read_table(path) for version in _of_block(block))
    yield from found if indexed(path) else sorted(found, key=itemgetter(0, 1))


def _of_block(block: Block) -> Iterator[Version]:
    def trusted() -> bool:
        return block.sound

    return (Version(key, -number, row, trusted) for key, row, number in block.changes)


def _of_log(path: Path) -> Iterator[Version]:
    found: list[Version] = []
    for record in read_log(path.read_bytes()):
        sure = _yes if record.sound else _no
        found += [Version(key, -number, row, sure) for key, row, number in read_batch(record.payload)]
    yield from sorted(found, key=itemgetter(0, 1))


def _yes() -> bool:
    return True


def _no() -> bool:
    return False
