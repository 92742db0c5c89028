"""What LevelDB's own list of its files says: which tables and which log there should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from helix_desktop.store.log_file import read_log
from helix_desktop.store.wire import Malformed, Reader


@dataclass(slots=True)
class Manifest:
    """The numbers of the files that make up a database; `sound` when all of the list could be read.

    `tables`: their sizes in bytes by number. `last`: the number of the last change that is known to come
    before the logs' next one, at the latest.
    """

    tables: dict[int, int] = field(default_factory=dict)
    log: int = 0
    last: int = 0
    sound: bool = True

    def short(self, db: Path) -> list[str]:
        """What is said of the tables that are shorter than they were when they were written."""
        paths = ((db / f"{number:06d}.ldb", size) for number, size in sorted(self.tables.items()))
        sizes = ((path, path.stat().st_size, size) for path, size in paths if path.exists())
        return [f"{path.name} has {found} of {size} bytes" for path, found, size in sizes if found < size]

    def missing(self, db: Path) -> list[str]:
        """The names of the files that should be there and are not."""
        names = [f"{number:06d}.ldb" for number in sorted(self.tables)]
        lost = [one for one in names if not _there(db, one, one.replace(".ldb", ".sst"))]
        log = f"{self.log:06d}.log"
        return lost + ([log] if self.log and not _there(db, log) else [])


def read_current(db: Path) -> Manifest | None:
    """The list that CURRENT names; None when there is none."""
    try:
        name = (db / "CURRENT").read_bytes().decode("ascii").removesuffix("\n")
        if not name.startswith("MANIFEST-") or "/" in name:
            return None
        return read_manifest((db / name).read_bytes())
    except (OSError, UnicodeDecodeError, ValueError):
        return None


def read_newest(db: Path) -> Manifest | None:
    """The newest list that is there, for a database whose CURRENT is lost."""
    try:
        names = sorted(db.glob("MANIFEST-*"))
        return read_manifest(names[-1].read_bytes()) if names else None
    except OSError:
        return None


def read_manifest(data: bytes) -> Manifest:
    """What a list says, as far as it can be read."""
    found = Manifest()
    for record in read_log(data):
        try:
            if not record.sound:
                raise Malformed("a damaged record")
            _apply(found, Reader(record.payload))
        except Malformed:
            found.sound = False
    return found


def _apply(found: Manifest, reader: Reader) -> None:
    """One change of the list. Raises Malformed."""
    while not reader.done:
        step = _STEPS.get(reader.varint())
        if step is None:
            raise Malformed("an unknown kind of change")
        step(found, reader)


def _set_log(found: Manifest, reader: Reader) -> None:
    found.log = reader.varint()


def _set_last(found: Manifest, reader: Reader) -> None:
    found.last = reader.varint()


def _drop_table(found: Manifest, reader: Reader) -> None:
    reader.varint()
    found.tables.pop(reader.varint(), None)


def _add_table(found: Manifest, reader: Reader) -> None:
    reader.varint()
    number = reader.varint()
    found.tables[number] = reader.varint()
    reader.text()
    reader.text()


def _pass_number(found: Manifest, reader: Reader) -> None:
    reader.varint()


def _pass_text(found: Manifest, reader: Reader) -> None:
    reader.text()


def _pass_pointer(found: Manifest, reader: Reader) -> None:
    reader.varint()
    reader.text()


_STEPS: dict[int, Callable[[Manifest, Reader], None]] = {
    1: _pass_text,  # how keys are compared
    2: _set_log,
    3: _pass_number,  # next file
    4: _set_last,
    5: _pass_pointer,  # where compaction goes on
    6: _drop_table,
    7: _add_table,
    9: _pass_number,  # former log
}


def _there(db: Path, *names: str) -> bool:
    return any((db / name).exists() for name in names)
