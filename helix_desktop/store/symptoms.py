"""What can be seen of a damaged database before it is opened: files that are missing or too short."""

from __future__ import annotations

from itertools import dropwhile
from pathlib import Path
from typing import NamedTuple

from helix_desktop.context.digest import count_text
from helix_desktop.store.codec import Codec
from helix_desktop.store.layout import Clean
from helix_desktop.store.log_file import find_hole, read_batch, read_log
from helix_desktop.store.manifest_file import Manifest, read_current, read_newest
from helix_desktop.store.salvage import is_sound


class Symptoms(NamedTuple):
    """What is wrong, each as a sentence without its full stop; nothing for a database that looks whole.

    `uncounted`: a file, or a part of one, is gone of which nobody knows what it held.
    """

    wrong: list[str]
    uncounted: bool = False


def symptoms(db: Path, clean: Clean | None) -> Symptoms:
    """What can be seen from outside.

    LevelDB itself misses a lost log, and a stretch of zeros in one; a table that was cut short it takes for a
    failing disk. Its list names the log that it writes to and the size of each table, `clean` names every
    file, and the changes in a log are numbered.
    """
    found = []
    if not (db / "CURRENT").exists():
        found.append("CURRENT, the file that leads to all others, is missing")
    listed = read_current(db) or read_newest(db)
    missing = listed.missing(db) if listed is not None else []
    short = listed.short(db) if listed is not None else []
    found += [*(f"{name} is missing" for name in missing), *short]
    counted = clean is not None and bool(clean.files) and current_of(db) == clean.current
    if counted and clean is not None:
        found += [_told(db / name, size) for name, size in clean.files.items() if _size(db / name) < size]
    holes = _holes(db, listed) if listed is not None and not found else []
    unknown = bool(holes) or (bool(missing or short) and not counted)
    return Symptoms(list(dict.fromkeys(found + holes)), unknown)


def _holes(db: Path, listed: Manifest) -> list[str]:
    """The logs that LevelDB would read, and lack changes before or between those that they have."""
    found, last = [], listed.last
    for path in sorted(db.glob("*.log")):
        if path.stem.isdigit() and int(path.stem) >= listed.log:
            missing, last = find_hole(path.read_bytes(), last)
            if missing:
                found.append(f"{path.name} lacks {count_text(missing, 'change')} that it had")
    return found


def current_of(db: Path) -> str:
    """What CURRENT holds."""
    try:
        return (db / "CURRENT").read_bytes().decode("ascii", "replace")
    except OSError:
        return ""


def sizes_of(db: Path) -> dict[str, int]:
    """The size in bytes of each file that holds something of the database."""
    kept = {".log", ".ldb", ".sst"}
    return {
        path.name: path.stat().st_size
        for path in db.iterdir()
        if path.suffix in kept or path.name.startswith("MANIFEST-")
    }


def only_tail(db: Path, codec: Codec) -> Path | None:
    """The log whose end alone is damaged, with nothing readable in it or behind it; None when there is more.

    That is what a power cut leaves of a write that was never acknowledged.
    """
    listed = read_current(db)
    if listed is None or not listed.sound or listed.missing(db) or listed.short(db):
        return None
    *before, last = sorted(db.glob("*.log"))
    if any(not one.sound for path in before for one in read_log(path.read_bytes())):
        return None
    behind = dropwhile(lambda one: one.sound, read_log(last.read_bytes()))
    rows = (row for one in behind for row in read_batch(one.payload))
    return None if any(is_sound(codec, key, row) for key, row, _ in rows) else last


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _told(path: Path, size: int) -> str:
    there = _size(path)
    return f"{path.name} is missing" if there < 0 else f"{path.name} has {there} of {size} bytes"
