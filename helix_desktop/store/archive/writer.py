"""Writing of an archive from a snapshot of a store; it is verified before it gets its name."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop import __version__
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.draft import Draft
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, InvalidArchive
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.progress import OnProgress
from helix_desktop.domain.store.archive_report import ArchiveTotals, ExportResult
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.archive.archive_format import (
    END,
    FORMAT,
    LOG_PART_BYTES,
    MANIFEST,
    ArchiveManifest,
    SessionHeader,
    invalid_archive,
    refused_write,
    write_failed,
)
from helix_desktop.store.archive.reader import Stopped, check_archive
from helix_desktop.store.archive.scope import ArchiveScope
from helix_desktop.store.archive.tar_stream import TarStreamWriter
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.threads.bulk_access import StoreSnapshot

text = TextContext("Store")

_PART_FILE = re.compile(r"\.[0-9a-f]{32}\.part")  # an export that has no name yet
_ABANDONED_S = 24 * 3600  # seconds without a write
_STAGES = 5  # of the whole job; the last, checking the file, takes a quarter of the time of writing it


def write_archive(
    snapshot: StoreSnapshot,
    scope: ArchiveScope,
    path: Path,
    name: str,
    at_ms: int,
    on_progress: OnProgress = lambda *_: None,
) -> ExportResult:
    """Write what is in the scope to `path`, verified; a file of that name is replaced at the end.

    Raise ArchiveWriteFailed, StoreUnreadable, Stopped; then nothing is left, and an older file stays.
    """
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    _clear_abandoned(path.parent)
    try:
        part.touch(mode=0o600, exist_ok=False)
        with part.open("wb") as file:
            tar = TarStreamWriter(file)
            totals = _ArchiveWriter(snapshot, scope, tar, on_progress).write(name, at_ms)
            tar.close()
            file.flush()
            os.fsync(file.fileno())
        if check_archive(part, snapshot.stop_event, _last_stage_progress(on_progress)) != totals:
            raise invalid_archive(text("It wasn't written correctly."))
        size = part.stat().st_size
        part.replace(path)
    except InvalidArchive as error:
        raise write_failed(path, text("The file failed its check: {reason}", reason=error.why)) from error
    except OSError as error:
        raise refused_write(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink()
    return ExportResult(str(path), size, totals)


def _clear_abandoned(folder: Path) -> None:
    """Delete what a killed process left of an export: it is hidden, and may be large."""
    for path in folder.glob(".*.part"):
        with suppress(OSError):
            if _PART_FILE.fullmatch(path.name) and time.time() - path.stat().st_mtime > _ABANDONED_S:
                path.unlink()


def _last_stage_progress(on_progress: OnProgress) -> OnProgress:
    return lambda done, size: on_progress((_STAGES - 1) * size + done, _STAGES * size)


class _ArchiveWriter:
    """One archive in the making, with its totals so far."""

    def __init__(
        self, snapshot: StoreSnapshot, scope: ArchiveScope, tar: TarStreamWriter, on_progress: OnProgress
    ) -> None:
        self._snapshot, self._scope, self._tar, self._on_progress = snapshot, scope, tar, on_progress
        self._view = snapshot.view
        self._entries = self._size = self._sessions = self._events = 0
        self._subagents = self._trashed_sessions = self._trashed_entries = 0
        self._missing: dict[str, None] = {}
        self._left_out: list[str] = []

    def write(self, name: str, at_ms: int) -> ArchiveTotals:
        scope, workspace_id = self._scope, ROWS.identity.get(self._view) or ""
        planned = (scope.entries, scope.size, len(scope.sessions))
        self._write_note(MANIFEST, ArchiveManifest(FORMAT, __version__, workspace_id, name, at_ms, *planned))
        for digest in scope.digests:
            self._write_content(digest)
            self._report_progress(scope.size)
        for session_id in scope.sessions:
            self._write_session(session_id)
            self._report_progress(scope.size)
        end = ArchiveTotals(
            self._entries,
            self._size,
            self._sessions,
            self._events,
            tuple(self._missing),
            tuple(self._left_out),
            self._subagents,
            self._trashed_sessions,
            self._trashed_entries,
            {digest: at for digest in self._missing if (at := self._removed_at(digest))},
        )
        self._write_note(END, end)
        return end

    def _write_content(self, digest: str) -> None:
        try:
            record = ROWS.record.get(self._view, digest)
            data = self._snapshot.contents.read(self._view, digest)
        except (ContentDamaged, DigestUnknown, RowDamaged):
            record, data = None, b""
        if record is None:
            self._missing[digest] = None
            return
        self._write_note(f"contents/{digest}.json", msgspec.structs.asdict(record))
        self._tar.add(f"contents/{digest}", data)
        self._entries += 1
        self._size += len(data)
        self._trashed_entries += bool(record.trashed)

    def _removed_at(self, digest: str) -> int:
        """Return when the user removed a content; 0 if they did not."""
        tombstone = ROWS.tombstone.get(self._view, digest) if is_digest(digest) else None
        return tombstone.at if tombstone is not None else 0

    def _write_session(self, session_id: str) -> None:
        try:
            log = self._scope.log(session_id)
            summary = ROWS.summary.get(self._view, session_id)
            stored_draft = ROWS.draft.get(self._view, session_id)
            draft = stored_draft if stored_draft is not None else Draft()
            note = SessionHeader(
                session_id,
                len(log.events),
                summary,
                draft.text,
                draft.attachments,
                log.branch,
                draft.partial_answer,
                draft.partial_outputs,
            )
        except RowDamaged:
            self._left_out.append(session_id)
            return
        self._sessions += 1
        self._events += len(log.events)
        if summary is not None and not summary.is_removed:
            self._subagents += bool(summary.parent)
            self._trashed_sessions += bool(summary.trashed and not summary.parent)
        folder = f"sessions/{self._sessions}"
        self._write_note(f"{folder}/session.json", note)
        for number, part in enumerate(_log_parts(log.events), 1):
            self._tar.add(f"{folder}/events-{number}.jsonl", part)
        for digest in (digest for recorded in log.events for digest in digests_in(recorded.event)):
            if digest not in self._missing and self._view.get(keys.record(digest)) is None:
                self._missing[digest] = None

    def _write_note(self, name: str, note: object) -> None:
        self._tar.add(name, msgspec.json.encode(note))

    def _report_progress(self, total: int) -> None:
        if self._snapshot.stop_event.is_set():
            raise Stopped
        self._on_progress((_STAGES - 1) * self._size, _STAGES * max(total, self._size))


def _log_parts(events: Sequence[RecordedEvent]) -> Iterator[bytes]:
    """Yield the log as JSON lines, in parts of about LOG_PART_BYTES bytes."""
    lines: list[bytes] = []
    size = 0
    for recorded in events:
        lines.append(msgspec.json.encode(recorded) + b"\n")
        size += len(lines[-1])
        if size >= LOG_PART_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)
