"""Reading of an archive, part by part; every part is verified."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.digest import digest_of, is_digest
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.progress import OnProgress
from helix_desktop.domain.store.archive_report import ArchiveInfo, ArchiveTotals
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.archive.archive_format import (
    END,
    FORMAT,
    MANIFEST,
    MAX_LOG_PART_BYTES,
    MAX_NOTE_BYTES,
    MAX_SESSION_BYTES,
    ArchiveManifest,
    SessionHeader,
    invalid_archive,
    unreadable_archive,
)
from helix_desktop.store.archive.tar_stream import TarStreamReader
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES
from helix_desktop.store.leveldb.entry_record import EntryRecord

text = TextContext("Store")

_MAX_COUNT = 2**62  # upper limit of all counts
_MAX_TIME_MS = 253_370_764_800_000  # milliseconds, the year 9999: calendars end there
# By names: rows hold a record as an array, which a field of another version would shift.
_RECORD_NOTE = msgspec.defstruct(
    "RecordNote",
    [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(EntryRecord)
    ],
    frozen=True,
)
_EVENT_DECODER = msgspec.json.Decoder(RecordedEvent)
T = TypeVar("T")


class Stopped(Exception):
    """The work was canceled."""


class ArchivedContent(msgspec.Struct, frozen=True):
    """A content as it was stored; its bytes are verified by its digest."""

    digest: str
    record: EntryRecord
    data: bytes


class ArchivedSession(msgspec.Struct, frozen=True):
    """A session with its log, a branch with its own part of it."""

    header: SessionHeader
    events: list[RecordedEvent]


ArchivePart = ArchiveManifest | ArchivedContent | ArchivedSession | ArchiveTotals


def read_archive(
    path: Path, stop: threading.Event, on_progress: OnProgress = lambda *_: None
) -> Iterator[ArchivePart]:
    """Yield the manifest, all contents, all sessions, and the end. Raise InvalidArchive, Stopped, OSError."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise invalid_archive(
            text("It must be a regular file, not a pipe or device.")
        )  # opening a pipe may never end
    size = path.stat().st_size
    with path.open("rb") as file:
        tar = TarStreamReader(file, size)
        for part in _read_parts(tar):
            if stop.is_set():
                raise Stopped
            yield part
            on_progress(file.tell(), size)


def read_info(path: Path) -> ArchiveInfo:
    """Return an archive's own description; the rest is not read. Raise InvalidArchive."""
    parts = read_archive(path, threading.Event())
    try:
        manifest = next(parts)
    except OSError as error:
        raise unreadable_archive(path, error) from error
    assert isinstance(manifest, ArchiveManifest)  # the first part always is, or there is none
    return ArchiveInfo(
        manifest.name, manifest.workspace_id, manifest.created, manifest.entries, manifest.sessions
    )


def check_archive(
    path: Path, stop: threading.Event, on_progress: OnProgress = lambda *_: None
) -> ArchiveTotals:
    """Read an archive to its end; return its totals. Raise InvalidArchive, Stopped, OSError."""
    for part in read_archive(path, stop, on_progress):
        if isinstance(part, ArchiveTotals):
            return part
    raise invalid_archive(text("Its end is missing."))


def _read_parts(tar: TarStreamReader) -> Iterator[ArchivePart]:
    yield _read_manifest(tar)
    entries = size = sessions = events = 0
    last_digest = ""
    stored_digests: set[bytes] = set()
    missing: set[str] = set()
    last_seqs: dict[str, int] = {}
    while tar.next_name().startswith("contents/"):
        content = _read_content(tar, last_digest)
        last_digest = content.digest
        stored_digests.add(bytes.fromhex(last_digest))
        entries, size = entries + 1, size + len(content.data)
        yield content
    while tar.next_name().startswith("sessions/"):
        sessions += 1
        log = _read_session(tar, sessions, last_seqs)
        events += len(log.events)
        names = {digest for recorded in log.events for digest in digests_in(recorded.event)}
        missing |= {
            digest for digest in names if not is_digest(digest) or bytes.fromhex(digest) not in stored_digests
        }
        yield log
    end = _read_note(tar, END, ArchiveTotals)
    if (end.entries, end.size, end.sessions, end.events) != (entries, size, sessions, events):
        raise invalid_archive(text("Its contents don't match its totals."))
    for digest in missing.difference(end.missing):
        raise invalid_archive(
            text("An event uses the output {digest}, which is missing.", digest=repr(digest[:80]))
        )
    tar.finish()
    yield end


def _read_manifest(tar: TarStreamReader) -> ArchiveManifest:
    manifest = _read_note(tar, MANIFEST, ArchiveManifest)
    if manifest.format != FORMAT:
        raise invalid_archive(
            text(
                "It has format {actual}, from Helix Desktop {version}; this version reads format {expected}.",
                actual=manifest.format,
                version=manifest.version[:20],
                expected=FORMAT,
            )
        )
    return manifest


def _read_content(tar: TarStreamReader, previous_digest: str) -> ArchivedContent:
    digest = tar.next_name().removeprefix("contents/").removesuffix(".json")
    if not is_digest(digest) or digest <= previous_digest:
        raise invalid_archive(text("Its output {digest} is out of order.", digest=repr(digest[:70])))
    record = EntryRecord(**msgspec.structs.asdict(_read_note(tar, f"contents/{digest}.json", _RECORD_NOTE)))
    data = tar.read_member(f"contents/{digest}", MAX_CONTENT_BYTES)
    if digest_of(data) != digest:
        raise invalid_archive(text("The bytes of its output {digest} don't match.", digest=digest))
    times = (record.created, record.last_used, record.trashed)
    if not _are_valid_times(*times) or not all(
        0 <= count < _MAX_COUNT for count in (record.tokens, record.recalls)
    ):
        raise invalid_archive(text("The record of its output {digest} is invalid.", digest=digest))
    return ArchivedContent(digest, record, data)


def _read_session(tar: TarStreamReader, number: int, last_seqs: dict[str, int]) -> ArchivedSession:
    """Read session `number`; `last_seqs` are the last events of those before it, and gets its own."""
    folder = f"sessions/{number}"
    header = _read_note(tar, f"{folder}/session.json", SessionHeader)
    try:
        keys.session_bytes(header.id)
    except ValueError as error:
        raise invalid_archive(text("A session ID in it is invalid ({detail}).", detail=str(error))) from error
    if header.summary is not None and header.summary.id != header.id:
        raise invalid_archive(text("Its session {number} has the summary of another session.", number=number))
    if header.summary and not _are_valid_times(
        header.summary.created, header.summary.updated, header.summary.trashed
    ):
        raise invalid_archive(text("Its session {number} has an invalid time.", number=number))
    events: list[RecordedEvent] = []
    part = size = 0
    while len(events) < header.events:
        part += 1
        data = tar.read_member(f"{folder}/events-{part}.jsonl", MAX_LOG_PART_BYTES)
        events += _decode(_decode_events, data, f"session {number}")
        size += len(data)
        if size > MAX_SESSION_BYTES:
            raise invalid_archive(text("Its session {number} is too long.", number=number))
        if not data:
            raise invalid_archive(text("Its session {number} has too few events.", number=number))
    shared = header.branch.seq if header.branch is not None else 0
    if header.branch is not None and not 1 <= shared <= last_seqs.get(header.branch.parent, 0):
        raise invalid_archive(text("The beginning of its session {number} is missing.", number=number))
    last_seqs[header.id] = shared + header.events
    if [recorded.seq for recorded in events] != list(range(shared + 1, last_seqs[header.id] + 1)):
        raise invalid_archive(text("The events of its session {number} are out of order.", number=number))
    if not _are_valid_times(*(recorded.at for recorded in events)):
        raise invalid_archive(text("An event of its session {number} has an invalid time.", number=number))
    return ArchivedSession(header, events)


def _are_valid_times(*times: int) -> bool:
    """Return True if all times are valid dates: ms since 1970, or 0 for never."""
    return all(0 <= time_ms < _MAX_TIME_MS for time_ms in times)


def _read_note(tar: TarStreamReader, name: str, note_type: type[T]) -> T:
    return _decode(msgspec.json.Decoder(note_type).decode, tar.read_member(name, MAX_NOTE_BYTES), name)


def _decode_events(data: bytes) -> list[RecordedEvent]:
    return [_EVENT_DECODER.decode(line) for line in data.splitlines()]


def _decode(decode: Callable[[bytes], T], data: bytes, name: str) -> T:
    try:
        return decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise invalid_archive(
            text("Its part {name} can't be read ({detail}).", name=name, detail=str(error))
        ) from error
