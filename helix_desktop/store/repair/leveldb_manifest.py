"""LevelDB's manifest: which tables and which log there should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.repair.leveldb_encoding import ByteReader, Malformed
from helix_desktop.store.repair.leveldb_log import read_log
from helix_desktop.system.files import read_regular

text = TextContext("Store")


@dataclass(slots=True)
class LevelDbManifest:
    """The numbers of the files that make up a database; `is_intact` if all of the manifest was readable.

    `tables`: their sizes in bytes by number. `last_sequence`: the number of the last change that is known to
    come before the logs' next one, at the latest.
    """

    tables: dict[int, int] = field(default_factory=dict)
    log_number: int = 0
    last_sequence: int = 0
    is_intact: bool = True

    def truncated_tables(self, db: Path) -> list[str]:
        """Return a description of each table that is shorter than when it was written."""
        paths = ((db / f"{number:06d}.ldb", size) for number, size in sorted(self.tables.items()))
        sizes = ((path, path.stat().st_size, size) for path, size in paths if path.exists())
        return [
            text("{file} has {actual} of {size} bytes", file=path.name, actual=actual, size=size)
            for path, actual, size in sizes
            if actual < size
        ]

    def missing_files(self, db: Path) -> list[str]:
        """Return the names of the files that should exist and do not."""
        names = [f"{number:06d}.ldb" for number in sorted(self.tables)]
        lost = [name for name in names if not _any_exists(db, name, name.replace(".ldb", ".sst"))]
        log = f"{self.log_number:06d}.log"
        return lost + ([log] if self.log_number and not _any_exists(db, log) else [])


def read_current(db: Path) -> LevelDbManifest | None:
    """Return the manifest that CURRENT names; None if there is none."""
    try:
        name = read_regular(db / "CURRENT").decode("ascii").removesuffix("\n")
        if not name.startswith("MANIFEST-") or "/" in name:
            return None
        return _read_manifest(read_regular(db / name))
    except (OSError, UnicodeDecodeError, ValueError):
        return None


def read_newest(db: Path) -> LevelDbManifest | None:
    """Return the newest manifest, for a database whose CURRENT is lost."""
    try:
        names = sorted(db.glob("MANIFEST-*"))
        return _read_manifest(read_regular(names[-1])) if names else None
    except OSError:
        return None


def _read_manifest(data: bytes) -> LevelDbManifest:
    """Return the content of a manifest, as far as it can be read."""
    manifest = LevelDbManifest()
    for record in read_log(data):
        try:
            if not record.is_intact:
                raise Malformed("a damaged record")
            _apply_edit(manifest, ByteReader(record.payload))
        except Malformed:
            manifest.is_intact = False
    return manifest


def _apply_edit(manifest: LevelDbManifest, reader: ByteReader) -> None:
    """Apply one change of the manifest. Raise Malformed."""
    while not reader.is_done:
        step = _EDIT_READERS.get(reader.read_varint())
        if step is None:
            raise Malformed("an unknown kind of change")
        step(manifest, reader)


def _set_log(manifest: LevelDbManifest, reader: ByteReader) -> None:
    manifest.log_number = reader.read_varint()


def _set_last_sequence(manifest: LevelDbManifest, reader: ByteReader) -> None:
    manifest.last_sequence = reader.read_varint()


def _drop_table(manifest: LevelDbManifest, reader: ByteReader) -> None:
    reader.read_varint()
    manifest.tables.pop(reader.read_varint(), None)


def _add_table(manifest: LevelDbManifest, reader: ByteReader) -> None:
    reader.read_varint()
    number = reader.read_varint()
    manifest.tables[number] = reader.read_varint()
    reader.read_prefixed()
    reader.read_prefixed()


def _skip_number(manifest: LevelDbManifest, reader: ByteReader) -> None:
    reader.read_varint()


def _skip_text(manifest: LevelDbManifest, reader: ByteReader) -> None:
    reader.read_prefixed()


def _skip_pointer(manifest: LevelDbManifest, reader: ByteReader) -> None:
    reader.read_varint()
    reader.read_prefixed()


_EDIT_READERS: dict[int, Callable[[LevelDbManifest, ByteReader], None]] = {
    1: _skip_text,  # name of the key comparator
    2: _set_log,
    3: _skip_number,  # next file
    4: _set_last_sequence,
    5: _skip_pointer,  # where compaction continues
    6: _drop_table,
    7: _add_table,
    9: _skip_number,  # previous log
}


def _any_exists(db: Path, *names: str) -> bool:
    return any((db / name).is_file() for name in names)
