r"""An archive of a workspace, `.helix`: its format, and its reading part by part, each one verified.

    manifest.json              format, workspace, counts
    contents/DIGEST.json       metadata of a content           \ by digest,
    contents/DIGEST            its bytes                        / each once
    sessions/N/session.json    its id, summary and draft       \ N counts from 1,
    sessions/N/events-K.jsonl  its log, in parts                / parents before branches
    end.json                   the actual totals

A tar and not a zip: it is written and read in one pass with the same little memory, however many contents
there are; `tar --zstd -xf` opens it. It holds no key, no rule, and no path of the machine except those
within messages and outputs.

The reader trusts nothing: only regular files, only complete ones, none longer than its caller allows, and not
more in total than so small a file could plausibly hold. No member's name is ever opened as a path.
"""

from __future__ import annotations

import copy
import os
import re
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Annotated, BinaryIO, Self, TypeVar

import msgspec
import zstandard

from helix_desktop import __version__
from helix_desktop.domain.choices import ARCHIVE_SUFFIX
from helix_desktop.domain.digest import digest_of, is_digest
from helix_desktop.domain.errors import ArchiveWriteFailed, InvalidArchive
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in, format_problem
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store import BranchPoint, Content, EntryRecord, PartialOutput, SessionSummary
from helix_desktop.domain.store_reports import ArchiveInfo, ArchiveTotals
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    folder_reason,
    system_reason,
)
from helix_desktop.store.contents import new_record
from helix_desktop.store.kinds import MAX_VALUE_BYTES, MAX_ZSTD_RATIO, EventTime, session_bytes
from helix_desktop.system.files import non_folder_in

text = TextContext("Store")

FORMAT = 1
MAX_SESSION_BYTES = 2 * 1024 * 1024 * 1024  # largest log of one session, in bytes: it is completely in memory
LOG_PART_BYTES = 4 * 1024 * 1024  # bytes after which a log continues in another part
_ESCAPED = 6  # bytes of JSON that one byte of a stored value may become: "\u0001"
MAX_NOTE_BYTES = _ESCAPED * MAX_VALUE_BYTES + LOG_PART_BYTES
"""The most bytes of a part of a log, of a draft with its session, and of what else is JSON.

What the store takes must come back from an archive: the largest event, as JSON, behind the rest of its part.
"""
_NAME_BYTES = 120  # of a workspace's name that go into a file's: systems allow 255 with all suffixes
MANIFEST = "manifest.json"
END = "end.json"

_NonNegative = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class ArchiveManifest(msgspec.Struct, frozen=True):
    """The first member of an archive: its workspace, and the planned totals; sizes in bytes, time in ms."""

    format: int
    version: str
    workspace_id: str = msgspec.field(name="workspace")
    name: str
    created: _NonNegative
    entries: _NonNegative
    size: _NonNegative
    sessions: _NonNegative


class SessionHeader(msgspec.Struct, frozen=True):
    """A session without its log; of a branch the log here is its own part, behind `branch`.

    `partial_answer` is what was saved of an answer that was still being received, and `partial_outputs` of
    calls that ran, as in a Draft.
    """

    id: str
    events: _NonNegative
    summary: SessionSummary | None = None
    draft: str = ""
    attachments: tuple[Attachment, ...] = ()
    branch: BranchPoint | None = None
    partial_answer: RecordedEvent | None = None
    partial_outputs: tuple[PartialOutput, ...] = ()


def file_name(name: str, stamp: str = "") -> str:
    """Return a file name for an archive of the workspace `name`, valid on every system."""
    safe_name = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "workspace"
    short_name = safe_name.encode()[:_NAME_BYTES].decode(errors="ignore")
    return f"{short_name}{'-' if stamp else ''}{stamp}{ARCHIVE_SUFFIX}"


def invalid_archive(why: TranslatableText, fix: OptionalText = "") -> InvalidArchive:
    fix = fix or text("Nothing was changed. Use another copy, or export it again.")
    return InvalidArchive(text("This file can't be imported."), why, fix)


def write_failed(path: Path, why: TranslatableText, fix: OptionalText = "") -> ArchiveWriteFailed:
    return ArchiveWriteFailed(
        text("{file} wasn't written.", file=path),
        why,
        fix or text("Nothing was left behind. Choose another place, or free up space there."),
    )


def refused_write(path: Path, error: OSError) -> ArchiveWriteFailed:
    folder = path.parent
    if os.path.isdir(path):
        return write_failed(path, text("A folder has this name."), text("Choose another name."))
    if not os.path.lexists(folder):
        why = text("The folder {folder} doesn't exist.", folder=folder)
        return write_failed(path, why, text("Create it, or choose another place."))
    return write_failed(path, folder_reason(error, path, non_folder_in(folder)))


def unreadable_archive(path: Path, error: OSError) -> InvalidArchive:
    return InvalidArchive(
        text("{file} can't be read.", file=path),
        system_reason(error),
        text("Choose a file that an export wrote."),
    )


_LOG_LEVEL = 1  # of packing a log in memory
_ZSTD_LEVEL = 3
_BLOCK_BYTES = 512
_MAX_WINDOW_BYTES = 16 * 1024 * 1024  # bytes that decompression may look back
_FEED_BYTES = 2048  # bytes that are decompressed at a time: they cannot become more than about 64 MB
_ALWAYS_ALLOWED_BYTES = 1024 * 1024 * 1024  # bytes


_private = tarfile.TarInfo()
_private.mode = 0o600
_EMPTY_HEADER = bytearray(_private.tobuf(tarfile.USTAR_FORMAT))
_EMPTY_HEADER[124:136] = bytes(12)  # its size
_EMPTY_HEADER[148:156] = bytes(8)  # its checksum
_EMPTY_SUM = sum(_EMPTY_HEADER) + 8 * ord(" ")  # in which a checksum counts as spaces


class TarStreamWriter:
    """Append members to a file; `close` completes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._packed = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).stream_writer(
            file, closefd=False
        )

    def add(self, name: str, data: bytes) -> None:
        self._packed.write(_header(name.encode(), len(data)))
        self._packed.write(data)
        self._packed.write(bytes(-len(data) % _BLOCK_BYTES))

    def add_note(self, name: str, note: object) -> None:
        self.add(name, msgspec.json.encode(note))

    def close(self) -> None:
        self._packed.write(bytes(2 * _BLOCK_BYTES))
        self._packed.flush(zstandard.FLUSH_FRAME)


def _header(name: bytes, size: int) -> bytes:
    """Return what `tarfile` writes above a member, ten times faster. A name has at most 100 bytes."""
    block = bytearray(_EMPTY_HEADER)
    octal = b"%011o\0" % size
    block[: len(name)] = name
    block[124:136] = octal
    block[148:156] = b"%06o\0 " % (_EMPTY_SUM + sum(name) + sum(octal))
    return bytes(block)


class TarStreamReader:
    """Read members in order. Every method raises InvalidArchive for what TarStreamWriter never writes."""

    def __init__(self, file: BinaryIO, file_size: int) -> None:
        self._file = file
        self._packed = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).decompressobj()
        self._unpacked = bytearray()
        self._bytes_left = _ALWAYS_ALLOWED_BYTES + MAX_ZSTD_RATIO * file_size
        self._next_header: tuple[str, int] | None = None

    def next_name(self) -> str:
        return self._read_header()[0]

    def read_member(self, name: str, max_bytes: int) -> bytes:
        """Return the bytes of the next member, which must have this name and at most `max_bytes` bytes."""
        member_name, size = self._read_header()
        if member_name != name:
            raise invalid_archive(
                text(
                    "It contains {actual} instead of {expected}.",
                    actual=repr(member_name[:100]),
                    expected=name,
                )
            )
        if size > max_bytes:
            raise invalid_archive(text("Its part {name} is too large ({size} bytes).", name=name, size=size))
        self._next_header = None
        data = self._read(size)
        self._read(-size % _BLOCK_BYTES)
        return data

    def finish(self) -> None:
        """Read to the end, where nothing more may follow; the stream's own checksum is verified there."""
        if (
            any(self._read(2 * _BLOCK_BYTES))
            or self._unpack_more()
            or self._packed.unused_data
            or self._file.read(1)
        ):
            raise invalid_archive(text("More data follows its end."))
        if not self._packed.eof:
            raise invalid_archive(text("It ends early: its last bytes are missing."))

    def _read_header(self) -> tuple[str, int]:
        if self._next_header is None:
            block = self._read(_BLOCK_BYTES)
            name = block[:100].rstrip(b"\0")
            size = block[124:135]
            if not size.strip(b"01234567") and block == _header(name, int(size, 8)):  # as our writer makes it
                self._next_header = name.decode(errors="replace"), int(size, 8)
                return self._next_header
            if not any(block):
                raise invalid_archive(text("It ends early: its last part is missing."))
            try:
                member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
            except (tarfile.HeaderError, UnicodeDecodeError) as error:
                raise invalid_archive(
                    text("The name of a part is invalid ({detail}).", detail=str(error))
                ) from error
            if member.type != tarfile.REGTYPE or member.size < 0:
                raise invalid_archive(
                    text("It contains {name}, which must be a regular file.", name=repr(member.name[:100]))
                )
            self._next_header = member.name, member.size
        return self._next_header

    def _read(self, size: int) -> bytes:
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise invalid_archive(text("It claims more data than a file of its size can hold."))
        while len(self._unpacked) < size:
            if not self._unpack_more():
                raise invalid_archive(text("It ends early: a part of it is missing."))
        data = bytes(memoryview(self._unpacked)[:size])
        del self._unpacked[:size]
        return data

    def _unpack_more(self) -> bool:
        """Decompress a little more; return False at the end."""
        while not self._packed.eof:
            packed = self._file.read(_FEED_BYTES)
            try:
                plain = self._packed.decompress(packed)
            except zstandard.ZstdError as error:
                raise invalid_archive(
                    text("It can't be decompressed ({detail}).", detail=str(error))
                ) from error
            self._unpacked += plain
            if plain or not packed:
                return bool(plain)
        return False


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
_OTHER_FORMAT = text("Nothing was changed. Import it with the newest version, or with the one that wrote it.")
_EVENT_DECODER = msgspec.json.Decoder(RecordedEvent)
T = TypeVar("T")


class Stopped(Exception):
    """The work was canceled."""


class ArchivedContent(msgspec.Struct, frozen=True):
    """A content as it was stored; its bytes are verified by its digest."""

    digest: str
    record: EntryRecord
    data: bytes


class ArchivedLog:
    """The events of a session, in order; packed, and read part by part: a long log takes little memory."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._count = 0
        self.digests: set[str] = set()
        """The contents that the events name."""
        self._changes: list[Callable[[RecordedEvent], RecordedEvent]] = []

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[RecordedEvent]:
        for part in self._parts:
            events: Iterable[RecordedEvent] = _decode_events(zstandard.decompress(part))
            for change in self._changes:
                events = map(change, events)
            yield from events

    def add(self, lines: bytes) -> list[RecordedEvent]:
        """Add events; return them. Raises msgspec.MsgspecError, UnicodeDecodeError, RecursionError."""
        events = _decode_events(lines)
        packed = zstandard.compress(lines, _LOG_LEVEL)
        self._parts.append(bytes(memoryview(packed)))  # a copy: it has the room of the worst case
        self._count += len(events)
        self.digests.update(chain.from_iterable(digests_in(recorded.event) for recorded in events))
        return events

    def changed(self, change: Callable[[RecordedEvent], RecordedEvent]) -> ArchivedLog:
        """Return the same events, each changed."""
        log = copy.copy(self)
        log._changes = [*self._changes, change]
        return log


class ArchivedSession(msgspec.Struct, frozen=True):
    """A session with its log, a branch with its own part of it."""

    header: SessionHeader
    events: ArchivedLog


ArchivePart = ArchiveManifest | ArchivedContent | ArchivedSession | ArchiveTotals


def read_archive(
    path: Path, stop: threading.Event, on_progress: OnProgress = lambda *_: None
) -> Iterator[ArchivePart]:
    """Yield the manifest, all contents, all sessions, and the end. Raise InvalidArchive, Stopped, OSError."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        # Opening a pipe may never end.
        raise invalid_archive(text("It must be a regular file, not a pipe or device."))
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
        entries = entries + 1
        size = size + len(content.data)
        yield content
    while tar.next_name().startswith("sessions/"):
        sessions += 1
        log = _read_session(tar, sessions, last_seqs)
        events += len(log.events)
        missing |= {
            digest
            for digest in log.events.digests
            if not is_digest(digest) or bytes.fromhex(digest) not in stored_digests
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
    data = tar.read_member(f"contents/{digest}", MAX_VALUE_BYTES)
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
        session_bytes(header.id)
    except ValueError as error:
        raise invalid_archive(text("A session ID in it is invalid ({detail}).", detail=str(error))) from error
    if header.summary is not None and header.summary.id != header.id:
        raise invalid_archive(text("Its session {number} has the summary of another session.", number=number))
    if header.summary and not _are_valid_times(
        header.summary.created, header.summary.updated, header.summary.trashed
    ):
        raise invalid_archive(text("Its session {number} has an invalid time.", number=number))
    events = ArchivedLog()
    part = 0
    size = 0
    seqs = list[int]()
    times_are_valid = True
    while len(events) < header.events:
        part += 1
        data = tar.read_member(f"{folder}/events-{part}.jsonl", MAX_NOTE_BYTES)
        added = _decode(events.add, data, f"session {number}")
        seqs += [recorded.seq for recorded in added]
        times_are_valid &= _are_valid_times(*(recorded.at for recorded in added))
        size += len(data)
        if size > MAX_SESSION_BYTES:
            raise invalid_archive(text("Its session {number} is too long.", number=number))
        if not data:
            raise invalid_archive(text("Its session {number} has too few events.", number=number))
    shared = header.branch.seq if header.branch is not None else 0
    if header.branch is not None and not 1 <= shared <= last_seqs.get(header.branch.parent, 0):
        raise invalid_archive(text("The beginning of its session {number} is missing.", number=number))
    last_seqs[header.id] = shared + header.events
    if seqs != list(range(shared + 1, last_seqs[header.id] + 1)):
        raise invalid_archive(text("The events of its session {number} are out of order.", number=number))
    if not times_are_valid:
        raise invalid_archive(text("An event of its session {number} has an invalid time.", number=number))
    return ArchivedSession(header, events)


def _are_valid_times(*times: int) -> bool:
    """Return True if all times are valid dates: ms since 1970, or 0 for never."""
    return all(0 <= time_ms < _MAX_TIME_MS for time_ms in times)


def _read_note(tar: TarStreamReader, name: str, note_type: type[T]) -> T:
    return _decode(msgspec.json.Decoder(note_type).decode, tar.read_member(name, MAX_NOTE_BYTES), name)


def _decode_events(data: bytes) -> list[RecordedEvent]:
    """Return the events in some lines. Raise as `ArchivedLog.add` does, with the day of an event."""
    events = list[RecordedEvent]()
    for line in data.splitlines():
        try:
            recorded = _EVENT_DECODER.decode(line)
        except msgspec.ValidationError as error:
            time = msgspec.json.decode(line, type=EventTime)
            raise msgspec.ValidationError(f"event {time.seq} of {utc_day(time.at)}: {error}") from error
        problem = format_problem(recorded.event)
        if problem:
            raise msgspec.ValidationError(f"event {recorded.seq} of {utc_day(recorded.at)}: {problem}")
        events.append(recorded)
    return events


def _decode(decode: Callable[[bytes], T], data: bytes, name: str) -> T:
    try:
        return decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        is_complete = isinstance(error, msgspec.ValidationError)  # it says what is not known here
        raise invalid_archive(
            text("Its part {name} can't be read ({detail}).", name=name, detail=str(error)),
            _OTHER_FORMAT if is_complete else "",
        ) from error


class ArchiveSpool:
    """Collects sessions and contents on disk, in any order, and writes them as an archive to import.

    What was made elsewhere, as another agent's session, comes into a store this way: by the same merging as
    everything else, in little memory. Every method raises OSError when the disk takes no more.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` is empty, and somebody else deletes it."""
        self._stack = ExitStack()
        self._folder = folder
        self._contents: BinaryIO = self._stack.enter_context((self._folder / "contents").open("w+b"))
        self._places: dict[str, tuple[int, EntryRecord]] = {}
        self._logs: dict[str, BinaryIO] = {}
        self._counts: dict[str, int] = {}
        self._end = 0
        self._references: set[bytes] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add_content(self, content: Content, at_ms: int, session_id: str) -> None:
        """Add a content that was stored at a time, by a session first; what is here already stays."""
        if content.digest in self._places:
            return
        size = len(content.data)
        self._contents.write(content.data)
        self._places[content.digest] = self._end, new_record(content, size, at_ms, session_id)
        self._end += size

    def add_event(self, session_id: str, recorded: RecordedEvent) -> None:
        log = self._logs.get(session_id)
        if log is None:
            path = self._folder / f"log-{len(self._logs)}"
            log = self._logs[session_id] = self._stack.enter_context(path.open("w+b"))
        log.write(msgspec.json.encode(recorded) + b"\n")
        self._counts[session_id] = self._counts.get(session_id, 0) + 1
        self._references.update(map(bytes.fromhex, digests_in(recorded.event)))

    def write(
        self, name: str, at_ms: int, sessions: Iterable[tuple[SessionSummary, BranchPoint | None]]
    ) -> tuple[Path, ArchiveTotals]:
        """Write the sessions, parents before branches, to an archive in the folder; return both."""
        listed = list(sessions)
        path = self._folder / "sessions.helix"
        with path.open("wb") as file:
            os.chmod(path, 0o600)
            tar = TarStreamWriter(file)
            totals = (len(self._places), self._end, len(listed))
            tar.add_note(MANIFEST, ArchiveManifest(FORMAT, __version__, "", name, at_ms, *totals))
            for digest in sorted(self._places):
                offset, record = self._places[digest]
                self._contents.seek(offset)
                tar.add_note(f"contents/{digest}.json", msgspec.structs.asdict(record))
                tar.add(f"contents/{digest}", self._contents.read(record.size))
            for number, (summary, branch) in enumerate(listed, 1):
                count = self._counts.get(summary.id, 0)
                header = SessionHeader(summary.id, count, summary, branch=branch)
                tar.add_note(f"sessions/{number}/session.json", header)
                for part_number, part in enumerate(self._log_parts(summary.id), 1):
                    tar.add(f"sessions/{number}/events-{part_number}.jsonl", part)
            events = sum(self._counts.get(summary.id, 0) for summary, _ in listed)
            missing = sorted(digest.hex() for digest in self._references if digest.hex() not in self._places)
            end = ArchiveTotals(*totals, events, tuple(missing))
            tar.add_note(END, end)
            tar.close()
        return path, end

    def _log_parts(self, session_id: str) -> Iterator[bytes]:
        log = self._logs[session_id]
        log.seek(0)
        while lines := log.readlines(LOG_PART_BYTES):
            yield b"".join(lines)
