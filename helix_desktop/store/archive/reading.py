"""Reads an archive, piece by piece, and lets nothing pass that is not verified."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.context.archive import End, Inside, Progress
from helix_desktop.context.digest import digest_of, is_digest
from helix_desktop.context.errors import ArchiveUnusable
from helix_desktop.context.event import Recorded, digests_in
from helix_desktop.store import keys
from helix_desktop.store.archive.form import (
    END,
    FORMAT,
    LOG_CAP,
    MANIFEST,
    NOTE_CAP,
    SESSION_CAP,
    Manifest,
    SessionNote,
    damaged,
)
from helix_desktop.store.archive.tape import TapeReader
from helix_desktop.store.codec import CONTENT_CAP
from helix_desktop.store.record import Record

_MOST = 2**62  # of anything that is counted
_LATEST = 253_370_764_800_000  # milliseconds, the year 9999: calendars end there
# By names: rows hold a record as an array, which a field that another version does not know would shift.
_RECORD = msgspec.defstruct(
    "RecordNote",
    [
        (one.name, one.type) if one.required else (one.name, one.type, one.default)
        for one in msgspec.structs.fields(Record)
    ],
    frozen=True,
)
_EVENT = msgspec.json.Decoder(Recorded)
T = TypeVar("T")


class Stopped(Exception):
    """Somebody asked to end the work."""


class Kept(msgspec.Struct, frozen=True):
    """A content as it was stored; its bytes have its digest."""

    digest: str
    record: Record
    data: bytes


class Log(msgspec.Struct, frozen=True):
    """A session with its whole log."""

    note: SessionNote
    events: list[Recorded]


Piece = Manifest | Kept | Log | End


def read_archive(path: Path, stop: threading.Event, progress: Progress = lambda *_: None) -> Iterator[Piece]:
    """The manifest, every content, every session, and the end. Raises ArchiveUnusable, Stopped, OSError."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise damaged("it is a pipe or a device, and a file is read twice")  # opening a pipe may never end
    size = path.stat().st_size
    with path.open("rb") as file:
        tape = TapeReader(file, size)
        for piece in _pieces(tape):
            if stop.is_set():
                raise Stopped
            yield piece
            progress(file.tell(), size)


def look_into(path: Path) -> Inside:
    """What a file says of itself; what follows is not looked at. Raises ArchiveUnusable."""
    pieces = read_archive(path, threading.Event())
    try:
        manifest = next(pieces)
    except OSError as error:
        raise ArchiveUnusable(f"{path} cannot be read.", f"{error.strerror or error}.") from error
    assert isinstance(manifest, Manifest)  # the first piece is, or there is none
    return Inside(manifest.name, manifest.workspace, manifest.created, manifest.entries, manifest.sessions)


def check_archive(path: Path, stop: threading.Event, progress: Progress = lambda *_: None) -> End:
    """Read an archive to its end; what it holds. Raises ArchiveUnusable, Stopped, OSError."""
    for piece in read_archive(path, stop, progress):
        if isinstance(piece, End):
            return piece
    raise damaged("it has no end")


def _pieces(tape: TapeReader) -> Iterator[Piece]:
    yield _manifest(tape)
    entries = size = sessions = events = 0
    last = ""
    held: set[bytes] = set()
    lacking: set[str] = set()
    while tape.name().startswith("contents/"):
        kept = _kept(tape, last)
        last = kept.digest
        held.add(bytes.fromhex(last))
        entries, size = entries + 1, size + len(kept.data)
        yield kept
    while tape.name().startswith("sessions/"):
        sessions += 1
        log = _log(tape, sessions)
        events += len(log.events)
        named = {digest for one in log.events for digest in digests_in(one.event)}
        lacking |= {digest for digest in named if not is_digest(digest) or bytes.fromhex(digest) not in held}
        yield log
    end = _note(tape, END, End)
    if (end.entries, end.size, end.sessions, end.events) != (entries, size, sessions, events):
        raise damaged("it does not hold what its end says")
    for digest in lacking.difference(end.missing):
        raise damaged(f"an event names the content {digest[:80]!r}, which is not stored in it")
    tape.finish()
    yield end


def _manifest(tape: TapeReader) -> Manifest:
    manifest = _note(tape, MANIFEST, Manifest)
    if manifest.format != FORMAT:
        raise damaged(
            f"it has format {manifest.format}, written by Helix Desktop {manifest.version[:20]}; "
            f"this version reads format {FORMAT}"
        )
    return manifest


def _kept(tape: TapeReader, last: str) -> Kept:
    digest = tape.name().removeprefix("contents/").removesuffix(".json")
    if not is_digest(digest) or digest <= last:
        raise damaged(f"its content {digest[:70]!r} is not in order")
    record = Record(**msgspec.structs.asdict(_note(tape, f"contents/{digest}.json", _RECORD)))
    data = tape.take(f"contents/{digest}", CONTENT_CAP)
    if digest_of(data) != digest:
        raise damaged(f"its content {digest} has other bytes")
    times = (record.created, record.last_used, record.trashed)
    if not _are_times(*times) or not all(0 <= one < _MOST for one in (record.tokens, record.recalls)):
        raise damaged(f"its content {digest} has an impossible record")
    return Kept(digest, record, data)


def _log(tape: TapeReader, number: int) -> Log:
    place = f"sessions/{number}"
    note = _note(tape, f"{place}/session.json", SessionNote)
    try:
        keys.session_bytes(note.id)
    except ValueError as error:
        raise damaged(str(error)) from error
    if note.summary is not None and note.summary.id != note.id:
        raise damaged(f"its session {number} has the summary of another one")
    if note.summary and not _are_times(note.summary.created, note.summary.updated, note.summary.trashed):
        raise damaged(f"its session {number} has an impossible time")
    events: list[Recorded] = []
    part = size = 0
    while len(events) < note.events:
        part += 1
        data = tape.take(f"{place}/events-{part}.jsonl", LOG_CAP)
        events += _understood(_events, data, f"session {number}")
        size += len(data)
        if size > SESSION_CAP:
            raise damaged(f"its session {number} is too long")
        if not data:
            raise damaged(f"its session {number} has too few events")
    if [one.seq for one in events] != list(range(1, note.events + 1)):
        raise damaged(f"the events of its session {number} are not in order")
    if not _are_times(*(one.at for one in events)):
        raise damaged(f"an event of its session {number} has an impossible time")
    return Log(note, events)


def _are_times(*times: int) -> bool:
    """Whether a calendar knows all of these: milliseconds since 1970, or 0 for never."""
    return all(0 <= one < _LATEST for one in times)


def _note(tape: TapeReader, name: str, kind: type[T]) -> T:
    return _understood(msgspec.json.Decoder(kind).decode, tape.take(name, NOTE_CAP), name)


def _events(data: bytes) -> list[Recorded]:
    return [_EVENT.decode(line) for line in data.splitlines()]


def _understood(read: Callable[[bytes], T], data: bytes, name: str) -> T:
    try:
        return read(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise damaged(f"its {name} is not understood ({error})") from error
