"""Damage that is visible before a database is opened: files that are missing or too short."""

from __future__ import annotations

from itertools import dropwhile
from pathlib import Path
from typing import NamedTuple

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.files.store_files import CleanState
from helix_desktop.store.repair.leveldb_log import find_gap, read_batch, read_log
from helix_desktop.store.repair.leveldb_manifest import LevelDbManifest, read_current, read_newest
from helix_desktop.store.repair.salvage import is_intact
from helix_desktop.system.files import read_regular

text = TextContext("Store")


class PreflightReport(NamedTuple):
    """The problems, each as a sentence without its full stop; empty for a database that looks intact.

    `has_unknown_losses`: a file, or a part of one, is gone and its content is not known.
    """

    problems: list[str]
    has_unknown_losses: bool = False


def inspect_files(db: Path, clean_state: CleanState | None) -> PreflightReport:
    """Return the problems that are visible from outside.

    LevelDB itself misses a lost log, and a range of zeros in one; it takes a truncated table for a failing
    disk. The manifest names the current log and the size of each table, `clean_state` names every file, and
    the changes in a log are numbered.
    """
    problems: list[str] = []
    if not (db / "CURRENT").is_file():
        problems.append(text("CURRENT, the file that names all others, is missing"))
    listed = read_current(db) or read_newest(db)
    missing = listed.missing_files(db) if listed is not None else []
    short = listed.truncated_tables(db) if listed is not None else []
    missing += [path.name for path in db.iterdir() if not (path.is_file() or path.is_dir())]  # pipes, say
    problems += [*(text("{file} is missing", file=name) for name in missing), *short]
    counted = (
        clean_state is not None and bool(clean_state.files) and read_current_name(db) == clean_state.current
    )
    if counted and clean_state is not None:
        problems += [
            _truncation_text(db / name, size)
            for name, size in clean_state.files.items()
            if _size(db / name) < size
        ]
    gaps = _log_gaps(db, listed) if listed is not None and not problems else []
    unknown = bool(gaps) or (bool(missing or short) and not counted)
    return PreflightReport(list(dict.fromkeys([*problems, *gaps])), unknown)


def _log_gaps(db: Path, manifest: LevelDbManifest) -> list[str]:
    """Return the logs that LevelDB would read and that lack changes before or between those they have."""
    last_sequence = manifest.last_sequence
    problems: list[str] = []
    for path in sorted(db.glob("*.log")):
        if path.stem.isdigit() and int(path.stem) >= manifest.log_number:
            missing, last_sequence = find_gap(path.read_bytes(), last_sequence)
            if missing:
                problems.append(
                    text.plural(
                        missing, "{file} is missing %n change", "{file} is missing %n changes", file=path.name
                    )
                )
    return problems


def read_current_name(db: Path) -> str:
    """Return the content of CURRENT."""
    try:
        return read_regular(db / "CURRENT").decode("ascii", "replace")
    except OSError:
        return ""


def file_sizes(db: Path) -> dict[str, int]:
    """Return the size in bytes of each file with data of the database."""
    suffixes = {".log", ".ldb", ".sst"}
    return {
        path.name: path.stat().st_size
        for path in db.iterdir()
        if path.suffix in suffixes or path.name.startswith("MANIFEST-")
    }


def find_torn_log(db: Path) -> Path | None:
    """Return the log of which only the end is damaged, with nothing readable in or after it; else None.

    That is what a power cut leaves of a write that was never acknowledged.
    """
    listed = read_current(db)
    if listed is None or not listed.is_intact or listed.missing_files(db) or listed.truncated_tables(db):
        return None
    *before, last = sorted(db.glob("*.log"))
    if any(not record.is_intact for path in before for record in read_log(path.read_bytes())):
        return None
    damaged_on = dropwhile(lambda record: record.is_intact, read_log(last.read_bytes()))
    rows = (row for record in damaged_on for row in read_batch(record.payload))
    return None if any(is_intact(key, row) for key, row, _ in rows) else last


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _truncation_text(path: Path, size: int) -> str:
    actual = _size(path)
    if actual < 0:
        return text("{file} is missing", file=path.name)
    return text("{file} has {actual} of {size} bytes", file=path.name, actual=actual, size=size)
