"""Writes an archive from a snapshot of a store, then reads it again before it gets its name."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop import __version__
from helix_desktop.context.archive import End, Exported, Progress
from helix_desktop.context.errors import ArchiveUnusable, ContentDamaged, DigestUnknown
from helix_desktop.context.event import Attachment, Recorded, digests_in
from helix_desktop.store import keys
from helix_desktop.store.archive.form import (
    END,
    FORMAT,
    LOG_PART,
    MANIFEST,
    Manifest,
    SessionNote,
    damaged,
    not_written,
)
from helix_desktop.store.archive.reading import Stopped, check_archive
from helix_desktop.store.archive.tape import TapeWriter
from helix_desktop.store.backstage import Survey
from helix_desktop.store.codec import RowDamaged
from helix_desktop.store.counters import read_totals
from helix_desktop.store.draft_rows import read_draft
from helix_desktop.store.event_log import read_events
from helix_desktop.store.listing import SUMMARY
from helix_desktop.store.record import read_record
from helix_desktop.store.staging import TEXT

_PART = re.compile(r"\.[0-9a-f]{32}\.part")  # an export that has no name yet
_ABANDONED_S = 24 * 3600  # without a word written to it
_PARTS = 5  # of the whole work, of which checking the file is the last: it takes a quarter of writing it


def write_archive(
    survey: Survey, path: Path, name: str, at: int, progress: Progress = lambda *_: None
) -> Exported:
    """Write a store as it is in the survey to `path`, verified; a file of that name is replaced at the end.

    Raises ArchiveNotWritten, StoreUnreadable, Stopped; then nothing is left, and an older file stays.
    """
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    _clear_abandoned(path.parent)
    try:
        part.touch(mode=0o600, exist_ok=False)
        with part.open("wb") as file:
            tape = TapeWriter(file)
            held = _Writing(survey, tape, progress).write(name, at)
            tape.close()
            file.flush()
            os.fsync(file.fileno())
        if check_archive(part, survey.stop, _last_part_of(progress)) != held:
            raise damaged("it was not written as it should be")
        size = part.stat().st_size
        part.replace(path)
    except ArchiveUnusable as error:
        raise not_written(path, f"What was written reads otherwise: {error.why}") from error
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        part.unlink(missing_ok=True)
    return Exported(str(path), size, held)


def _clear_abandoned(folder: Path) -> None:
    """Delete what a process that was killed left of an export: nobody sees it, and it may be large."""
    for one in folder.glob(".*.part"):
        with suppress(OSError):
            if _PART.fullmatch(one.name) and time.time() - one.stat().st_mtime > _ABANDONED_S:
                one.unlink()


def _last_part_of(progress: Progress) -> Progress:
    return lambda done, size: progress((_PARTS - 1) * size + done, _PARTS * size)


class _Writing:
    """One archive in the making: what came so far."""

    def __init__(self, survey: Survey, tape: TapeWriter, progress: Progress) -> None:
        self._survey, self._tape, self._progress = survey, tape, progress
        self._view, self._codec = survey.view, survey.codec
        self._entries = self._size = self._sessions = self._events = 0
        self._missing: dict[str, None] = {}
        self._left_out: list[str] = []

    def write(self, name: str, at: int) -> End:
        totals = read_totals(self._view.get, self._codec)
        sessions = list(self._names())
        workspace = self._view.get(keys.IDENTITY)
        identity = "" if workspace is None else self._codec.unseal(keys.IDENTITY, workspace, TEXT)
        planned = (totals.entries, totals.size, len(sessions))
        self._add(MANIFEST, Manifest(FORMAT, __version__, identity, name, at, *planned))
        for digest in self._digests():
            self._content(digest)
            self._go_on(totals.size)
        for session in sessions:
            self._session(session)
            self._go_on(totals.size)
        counts = (self._entries, self._size, self._sessions, self._events)
        end = End(*counts, tuple(self._missing), tuple(self._left_out))
        self._add(END, end)
        return end

    def _digests(self) -> Iterator[str]:
        return (keys.digest_in(key) for key, _ in self._view.scan(keys.RECORDS))

    def _names(self) -> Iterator[str]:
        """Every session that has a log, a summary or a draft, each once."""
        spans = (keys.LAST_EVENTS, keys.SUMMARIES, keys.DRAFTS)
        names = {keys.session_of(key, span) for span in spans for key, _ in self._view.scan(span)}
        return iter(sorted(names))

    def _content(self, digest: str) -> None:
        try:
            record = read_record(self._view.get, self._codec, digest)
            data = self._survey.contents.read(self._view, digest)
        except (ContentDamaged, DigestUnknown, RowDamaged):
            record, data = None, b""
        if record is None:
            self._missing[digest] = None
            return
        self._add(f"contents/{digest}.json", msgspec.structs.asdict(record))
        self._tape.add(f"contents/{digest}", data)
        self._entries += 1
        self._size += len(data)

    def _session(self, session: str) -> None:
        try:
            events = read_events(self._view, self._codec, session)
            note = SessionNote(session, len(events), *self._beside(session))
        except RowDamaged:
            self._left_out.append(session)
            return
        self._sessions += 1
        self._events += len(events)
        place = f"sessions/{self._sessions}"
        self._add(f"{place}/session.json", note)
        for number, part in enumerate(_parts(events), 1):
            self._tape.add(f"{place}/events-{number}.jsonl", part)
        for digest in (digest for one in events for digest in digests_in(one.event)):
            if digest not in self._missing and self._view.get(keys.record(digest)) is None:
                self._missing[digest] = None

    def _beside(self, session: str) -> tuple[Any, str, tuple[Attachment, ...]]:
        """Return a session's summary, and its draft: the text and what goes along."""
        key, draft_key = keys.summary(session), keys.draft(session)
        row = self._view.get(key)
        summary = None if row is None else self._codec.unseal(key, row, SUMMARY)
        draft = read_draft(self._codec, draft_key, self._view.get(draft_key))
        return summary, draft.text, draft.attachments

    def _add(self, name: str, note: object) -> None:
        self._tape.add(name, msgspec.json.encode(note))

    def _go_on(self, total: int) -> None:
        if self._survey.stop.is_set():
            raise Stopped
        self._progress((_PARTS - 1) * self._size, _PARTS * max(total, self._size))


def _parts(events: list[Recorded]) -> Iterator[bytes]:
    """The log as JSON lines, in parts of about LOG_PART bytes."""
    lines: list[bytes] = []
    size = 0
    for one in events:
        lines.append(msgspec.json.encode(one) + b"\n")
        size += len(lines[-1])
        if size >= LOG_PART:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)
