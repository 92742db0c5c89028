"""What can be seen of a damaged database before it is opened: files that are missing or too short."""

from __future__ import annotations

from itertools import dropwhile
from pathlib import Path
from typing import NamedTuple

from helix_desktop.domain.digest import pluralize
from helix_desktop.store.core.row_codec import Codec
from helix_desktop.store.files.store_files import CleanState
from helix_desktop.store.repair.leveldb_log import find_gap, read_batch, read_log
from helix_desktop.store.repair.leveldb_manifest import LevelDbManifest, read_current, read_newest
from helix_desktop.store.repair.salvage import is_intact


class PreflightReport(NamedTuple):
    """What is wrong, each as a sentence without its full stop; nothing for a database that looks whole.

    `uncounted`: a file, or a part of one, is gone of which nobody knows what it held.
    """

    problems: list[str]
    has_unknown_losses: bool = False


def inspect_files(db: Path, clean_state: CleanState | None) -> PreflightReport:
    """What can be seen from outside.

    LevelDB itself misses a lost log, and a stretch of zeros in one; a table that was cut short it takes for a
    failing disk. Its list names the log that it writes to and the size of each table, `clean` names every
    file, and the changes in a log are numbered.
    """
    found = []
    if not (db / "CURRENT").exists():
        found.append("CURRENT, the file that leads to all others, is missing")
    listed = read_current(db) or read_newest(db)
    missing = listed.missing_files(db) if listed is not None else []
    short = listed.truncated_tables(db) if listed is not None else []
    found += [*(f"{name} is missing" for name in missing), *short]
    counted = (
        clean_state is not None and bool(clean_state.files) and read_current_name(db) == clean_state.current
    )
    if counted and clean_state is not None:
        found += [
            _truncation_text(db / name, size)
            for name, size in clean_state.files.items()
            if _size(db / name) < size
        ]
    holes = _log_gaps(db, listed) if listed is not None and not found else []
    unknown = bool(holes) or (bool(missing or short) and not counted)
    return PreflightReport(list(dict.fromkeys(found + holes)), unknown)


def _log_gaps(db: Path, manifest: LevelDbManifest) -> list[str]:
    """The logs that LevelDB would read, and lack changes before or between those that they have."""
    found, last = [], manifest.last_sequence
    for path in sorted(db.glob("*.log")):
        if path.stem.isdigit() and int(path.stem) >= manifest.log_number:
            missing, last = find_gap(path.read_bytes(), last)
            if missing:
                found.append(f"{path.name} lacks {pluralize(missing, 'change')} that it had")
    return found


def read_current_name(db: Path) -> str:
    """What CURRENT holds."""
    try:
        return (db / "CURRENT").read_bytes().decode("ascii", "replace")
    except OSError:
        return ""


def file_sizes(db: Path) -> dict[str, int]:
    """The size in bytes of each file that holds something of the database."""
    kept = {".log", ".ldb", ".sst"}
    return {
        path.name: path.stat().st_size
        for path in db.iterdir()
        if path.suffix in kept or path.name.startswith("MANIFEST-")
    }


def find_torn_log(db: Path, codec: Codec) -> Path | None:
    """The log whose end alone is damaged, with nothing readable in it or behind it; None when there is more.

    That is what a power cut leaves of a write that was never acknowledged.
    """
    listed = read_current(db)
    if listed is None or not listed.is_intact or listed.missing_files(db) or listed.truncated_tables(db):
        return None
    *before, last = sorted(db.glob("*.log"))
    if any(not one.is_intact for path in before for one in read_log(path.read_bytes())):
        return None
    behind = dropwhile(lambda one: one.is_intact, read_log(last.read_bytes()))
    rows = (row for one in behind for row in read_batch(one.payload))
    return None if any(is_intact(codec, key, row) for key, row, _ in rows) else last


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _truncation_text(path: Path, size: int) -> str:
    there = _size(path)
    return f"{path.name} is missing" if there < 0 else f"{path.name} has {there} of {size} bytes"
