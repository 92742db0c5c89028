"""What goes into an archive, and its writing from a snapshot; it is verified before it gets its name."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop import __version__
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, InvalidArchive
from helix_desktop.domain.events.conversation import SubagentStarted, ToolAnswered
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store.commit import BranchPoint, Draft
from helix_desktop.domain.store.entries import SessionVersions
from helix_desktop.domain.store.reports import ArchiveTotals, ExportResult
from helix_desktop.domain.store.retention import indexed_digests
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.archive.archive_file import (
    END,
    FORMAT,
    LOG_PART_BYTES,
    MANIFEST,
    ArchiveManifest,
    SessionHeader,
    Stopped,
    TarStreamWriter,
    check_archive,
    invalid_archive,
    refused_write,
    write_failed,
)
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.access import StoreSnapshot
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.event_log import log_parts, read_events
from helix_desktop.store.leveldb.identity import read_totals
from helix_desktop.store.leveldb.rows import ROWS


class ArchivedLog(msgspec.Struct, frozen=True):
    """The events of a session that an archive has of it, behind `branch` if its parent has the others."""

    events: Sequence[RecordedEvent]
    branch: BranchPoint | None = None


class WorkspaceScope:
    """All sessions and contents of a store; a branch goes behind its parent, with its own events alone.

    `entries` and `size`, in bytes, are the planned totals of the contents; `sessions` begins with parents.
    """

    def __init__(self, view: ReadView) -> None:
        self._view = view
        totals = read_totals(view)
        self.entries, self.size = totals.entries, totals.size
        self.digests: Iterable[str] = (keys.digest_in(key) for key, _ in view.scan(keys.RECORDS))
        spans = (keys.LAST_EVENTS, keys.SUMMARIES, keys.DRAFTS)
        names = {keys.session_of(key, span) for span in spans for key, _ in view.scan(span)}
        self.sessions = sorted(names, key=lambda name: (self._depth(name), name))

    def log(self, session_id: str) -> ArchivedLog:
        """Return the own events of a session. Raise RowDamaged."""
        point = ROWS.branch.get(self._view, session_id)
        return ArchivedLog(
            read_events(self._view, session_id)[point.seq if point is not None else 0 :], point
        )

    def _depth(self, session_id: str) -> int:
        """Return how many sessions a log begins with; 0 also for one that cannot be read."""
        try:
            return len(log_parts(self._view, session_id)) - 1
        except RowDamaged:
            return 0


class SessionScope:
    """A session with its versions, their subagents, and the contents that their logs and drafts lead to.

    A branch is archived with its whole log, as a session of its own: the rest of its parent's stays private.
    So is each version.
    `entries` and `size`, in bytes, are the planned totals of the contents.
    """

    def __init__(self, snapshot: StoreSnapshot, session_id: str) -> None:
        self._snapshot, self._view = snapshot, snapshot.view
        self.sessions: list[str] = []
        digests: set[str] = set()
        waiting = [session_id, *self._other_versions(session_id)]
        while waiting:
            name = waiting.pop(0)
            if name in self.sessions:
                continue
            self.sessions.append(name)
            try:
                events = [recorded.event for recorded in self.log(name).events]
                draft = ROWS.draft.get(self._view, name) or Draft()
            except RowDamaged:
                continue  # the writer says so
            events += [draft.partial_answer.event] if draft.partial_answer is not None else []
            digests |= draft.digests.union(*map(digests_in, events))
            waiting += filter(self._is_stored, map(_subagent_in, events))
        self.digests = sorted(self._with_indexed(digests))
        sizes = [self._stored_size(digest) for digest in self.digests]
        self.entries, self.size = len(sizes), sum(sizes)

    def log(self, session_id: str) -> ArchivedLog:
        """Return all events of a session. Raise RowDamaged."""
        return ArchivedLog(read_events(self._view, session_id))

    def _other_versions(self, session_id: str) -> list[str]:
        """Return the listed versions of a session that is listed, without itself. Raise RowDamaged."""
        summaries = [summary for _, summary in ROWS.summary.scan(self._view, keys.SUMMARIES)]
        listed = (summary for summary in summaries if not (summary.trashed or summary.is_removed))
        return [version for version in SessionVersions(listed).ids_of(session_id) if version != session_id]

    def _is_stored(self, session_id: str) -> bool:
        return bool(session_id) and ROWS.last_seq.get(self._view, session_id) is not None

    def _with_indexed(self, digests: set[str]) -> set[str]:
        """Return the contents, and those that index entries among them lead to."""
        found, waiting = set(digests), list(digests)
        while waiting:
            digest = waiting.pop()
            try:
                record = ROWS.record.get(self._view, digest)
                if record is None or record.kind != "index":
                    continue
                index = self._snapshot.contents.read(self._view, digest)
            except (ContentDamaged, DigestUnknown, RowDamaged):
                continue
            new = {
                name
                for name in indexed_digests(index) - found
                if self._view.get(keys.record(name)) is not None
            }
            found |= new
            waiting += new
        return found

    def _stored_size(self, digest: str) -> int:
        try:
            record = ROWS.record.get(self._view, digest)
        except RowDamaged:
            return 0
        return record.size if record is not None else 0


ArchiveScope = WorkspaceScope | SessionScope


def _subagent_in(event: Event) -> str:
    """Return the session of the subagent that an event began or has the result of; empty for none."""
    match event:
        case SubagentStarted(session=session_id) | ToolAnswered(subagent=session_id):
            return session_id
    return ""


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
