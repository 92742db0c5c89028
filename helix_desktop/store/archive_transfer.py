"""Export and import of an open store: what goes into an archive, its writing from a snapshot, and merging.

Its owner does both, for itself and for clients. An import only adds. Contents are matched by digest, sessions
by id. A session that exists and continues in the archive is extended; a diverged one is stored under an id
derived from both, so that importing again adds nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Literal

import msgspec

from helix_desktop import __version__
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown, HelixError, InvalidArchive
from helix_desktop.domain.events.conversation import AssistantSpoke, SubagentStarted, ToolAnswered, TurnEnded
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.session import ModeChanged, SessionBranched
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.retention import indexed_digests
from helix_desktop.domain.store import (
    BranchPoint,
    Content,
    Draft,
    EntryRecord,
    SessionSummary,
    SessionVersions,
)
from helix_desktop.domain.store_reports import ArchiveTotals, ExportResult, ImportResult
from helix_desktop.domain.translatable_text import ByteSize, TextContext, join_sentences
from helix_desktop.store import kinds
from helix_desktop.store.archive_file import (
    END,
    FORMAT,
    LOG_PART_BYTES,
    MANIFEST,
    ArchivedContent,
    ArchivedSession,
    ArchiveManifest,
    ArchivePart,
    SessionHeader,
    Stopped,
    TarStreamWriter,
    check_archive,
    invalid_archive,
    read_archive,
    refused_write,
    unreadable_archive,
    write_failed,
)
from helix_desktop.store.commits import (
    StoreSnapshot,
    log_parts,
    read_events,
    stage_branch,
    stage_events,
    stage_summary,
)
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.kinds import ROWS, RowDamaged, RowView, Tombstone
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.row_store import read_sessions
from helix_desktop.store.threads import WriteBatch

text = TextContext("Store")


class ArchivedLog(msgspec.Struct, frozen=True):
    """The events of a session that an archive has of it, behind `branch` if its parent has the others."""

    events: Sequence[RecordedEvent]
    branch: BranchPoint | None = None


class WorkspaceScope:
    """All sessions and contents of a store; a branch goes behind its parent, with its own events alone.

    `entries` and `size`, in bytes, are the planned totals of the contents; `sessions` begins with parents.
    """

    def __init__(self, view: RowView) -> None:
        self._view = view
        totals = kinds.read_totals(view)
        self.entries = totals.entries
        self.size = totals.size
        self.digests: Iterable[str] = (kinds.digest_in(key) for key, _ in view.scan(kinds.RECORDS))
        spans = (kinds.LAST_EVENTS, kinds.SUMMARIES, kinds.DRAFTS)
        names = {kinds.session_of(key, span) for span in spans for key, _ in view.scan(span)}
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
        self._snapshot = snapshot
        self._view = snapshot.view
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
        self.entries = len(sizes)
        self.size = sum(sizes)

    def log(self, session_id: str) -> ArchivedLog:
        """Return all events of a session. Raise RowDamaged."""
        return ArchivedLog(read_events(self._view, session_id))

    def _other_versions(self, session_id: str) -> list[str]:
        """Return the listed versions of a session that is listed, without itself. Raise RowDamaged."""
        versions = SessionVersions(read_sessions(self._view)).ids_of(session_id)
        return [version for version in versions if version != session_id]

    def _is_stored(self, session_id: str) -> bool:
        return bool(session_id) and ROWS.last_seq.get(self._view, session_id) is not None

    def _with_indexed(self, digests: set[str]) -> set[str]:
        """Return the contents, and those that index entries among them lead to."""
        found = set(digests)
        waiting = list(digests)
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
                if self._view.get(kinds.record_key(name)) is not None
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

        def report_check(done: int, size: int) -> None:
            on_progress((_STAGES - 1) * size + done, _STAGES * size)

        if check_archive(part, snapshot.stop_event, report_check) != totals:
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


class _ArchiveWriter:
    def __init__(
        self, snapshot: StoreSnapshot, scope: ArchiveScope, tar: TarStreamWriter, on_progress: OnProgress
    ) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._tar = tar
        self._on_progress = on_progress
        self._view = snapshot.view
        self._entries = self._size = self._sessions = self._events = 0
        self._subagents = self._trashed_sessions = self._trashed_entries = 0
        self._missing: dict[str, None] = {}
        self._left_out: list[str] = []

    def write(self, name: str, at_ms: int) -> ArchiveTotals:
        scope = self._scope
        workspace_id = ROWS.identity.get(self._view) or ""
        planned = (scope.entries, scope.size, len(scope.sessions))
        self._tar.add_note(
            MANIFEST, ArchiveManifest(FORMAT, __version__, workspace_id, name, at_ms, *planned)
        )
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
        self._tar.add_note(END, end)
        return end

    def _write_content(self, digest: str) -> None:
        try:
            record = ROWS.record.get(self._view, digest)
            data = self._snapshot.contents.read(self._view, digest)
        except (ContentDamaged, DigestUnknown, RowDamaged):
            record = None
            data = b""
        if record is None:
            self._missing[digest] = None
            return
        self._tar.add_note(f"contents/{digest}.json", msgspec.structs.asdict(record))
        self._tar.add(f"contents/{digest}", data)
        self._entries += 1
        self._size += len(data)
        self._trashed_entries += bool(record.trashed)

    def _removed_at(self, digest: str) -> int:
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
        self._tar.add_note(f"{folder}/session.json", note)
        for number, part in enumerate(_log_parts(log.events), 1):
            self._tar.add(f"{folder}/events-{number}.jsonl", part)
        for digest in (digest for recorded in log.events for digest in digests_in(recorded.event)):
            if digest not in self._missing and self._view.get(kinds.record_key(digest)) is None:
                self._missing[digest] = None

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
            lines = []
            size = 0
    if lines:
        yield b"".join(lines)


_GROUP_BYTES = 4 * 1024 * 1024
_GROUP_EVENTS = 2_000
_READ_BYTES = 512 * 1024
_RESERVED_BYTES = 64 * 1024 * 1024  # bytes that must stay free on the disk in addition to what is merged
_DISK_FACTOR = 2  # times its own size that a store may need for an archive while it compacts its files

SessionOutcome = Literal["new", "extended", "unchanged", "apart", "busy"]
IsWritable = Callable[[str], bool]
"""Return True if the log of a session may be written now."""


def _check_readable(path: Path, stop: threading.Event, on_progress: OnProgress) -> ArchiveTotals:
    try:
        return check_archive(path, stop, on_progress)
    except OSError as error:
        raise unreadable_archive(path, error) from error


def _half_progress(on_progress: OnProgress, half: int) -> OnProgress:
    return lambda done, size: on_progress(half * size + done, 2 * size)


class _Importer:
    def __init__(self, store: LevelDbStore, is_writable: IsWritable, totals: ArchiveTotals) -> None:
        self._store = store
        self._is_writable = is_writable
        self._totals = totals
        self._missing = frozenset(totals.missing)
        self._result = ImportResult("", missing=totals.lost)
        self._group: list[ArchivedContent] = []
        self._session_ids: dict[str, str] = {}  # under which sessions of the archive are stored here
        self._bytes = 0

    async def run(self, path: Path, stop: threading.Event, on_progress: OnProgress) -> ImportResult:
        await asyncio.to_thread(_check_free_space, self._store.bulk_access.folder, path)
        parts = read_archive(path, stop, on_progress)
        try:
            while group := await asyncio.to_thread(_next_parts, parts):
                for part in group:
                    await self._import_part(part)
        except (InvalidArchive, Stopped) as error:  # it was valid a moment ago: another process changes it
            raise InvalidArchive(
                text("The import was interrupted."),
                join_sentences(
                    text("The file changed while it was read."),
                    error.why if isinstance(error, InvalidArchive) else "",
                ),
                text("Everything imported so far is complete. Import again to continue."),
            ) from error
        if self._result.unchanged:  # some may be in the trash here: those are not in the list
            trashed = {session.id for session in (await self._store.retention.trash()).sessions}
            found = (session for session in self._result.unchanged if session in trashed)
            self._result = msgspec.structs.replace(self._result, trashed=(*self._result.trashed, *found))
        return self._result

    async def _import_part(self, part: ArchivePart) -> None:
        match part:
            case ArchiveManifest(name=name):
                self._result = msgspec.structs.replace(self._result, name=name)
            case ArchivedContent():
                self._group.append(part)
                self._bytes += len(part.data)
                if self._bytes >= _GROUP_BYTES or len(self._group) >= _GROUP_EVENTS:
                    await self._flush()
            case ArchivedSession():
                await self._flush()
                await self._import_session(part)
            case ArchiveTotals(removed=removed):
                await self._flush()
                await self._note_removed(removed)

    async def _note_removed(self, removed: Mapping[str, int]) -> None:
        """Note which contents the user removed where the archive was made: here they are not lost either.

        They may be stored here: what an archive says must not refuse what a tool returns.
        """

        def stage(batch: WriteBatch, _: ContentStore) -> None:
            for digest in filter(is_digest, removed):
                if ROWS.record.get(batch, digest) is None and ROWS.tombstone.get(batch, digest) is None:
                    ROWS.tombstone.put(batch, Tombstone(removed[digest], lifted=True), digest)

        if removed:
            await self._store.bulk_access.write(stage, 0)

    async def _flush(self) -> None:
        if not self._group:
            return
        group = self._group
        size = self._bytes
        self._group = []
        self._bytes = 0
        added = await self._store.bulk_access.write(
            lambda batch, contents: _stage_contents(batch, contents, group), size
        )
        self._result = msgspec.structs.replace(
            self._result,
            added=self._result.added + added,
            existing=self._result.existing + len(group) - added,
        )

    async def _import_session(self, archived: ArchivedSession) -> None:
        """Import one session as new, longer, unchanged, or diverged; a branch behind its parent here."""
        unchanged = _with_parent(archived, self._session_ids)
        # Its agent asks: to act unasked is allowed on this computer.
        archived = ArchivedSession(unchanged.header, unchanged.events.changed(_event_in_ask))
        point = archived.header.branch
        shared = (await self._store.events(point.parent))[: point.seq] if point is not None else []
        count = len(shared) + len(archived.events)
        stored = await self._store.events(archived.header.id)
        session_id = archived.header.id

        def outcome_of() -> SessionOutcome:
            if any(
                _event_in_ask(one) != _event_in_ask(other)
                for one, other in zip(stored, chain(shared, archived.events), strict=False)
            ):
                return "apart"
            if not stored:
                return "new"
            return "extended" if count > len(stored) else "unchanged"

        outcome = await asyncio.to_thread(outcome_of)
        if outcome == "apart":
            session_id = _diverged_id(unchanged)  # the same one at each import
            stored = await self._store.events(session_id)
            outcome = "unchanged" if await asyncio.to_thread(outcome_of) == "unchanged" else "apart"
        self._session_ids[archived.header.id] = session_id
        is_parent_short = point is not None and len(shared) < point.seq
        if is_parent_short or (outcome in ("extended", "apart") and not self._is_writable(session_id)):
            outcome = "busy"
        if outcome != "busy":
            await self._write_session(session_id, archived, max(0, len(stored) - len(shared)))
            if archived.header.partial_answer or archived.header.partial_outputs or stored:
                log = stored if len(stored) >= count else [*shared, *archived.events]
                await self._keep_partial_answer(session_id, archived, log)
                await self._keep_partial_outputs(session_id, archived, log)
        session_ids: tuple[str, ...] = (*getattr(self._result, outcome), session_id)
        self._result = msgspec.structs.replace(self._result, **{outcome: session_ids})
        summary = archived.header.summary
        if outcome == "new" and summary is not None and summary.trashed:
            trashed = (*self._result.trashed, session_id)
            self._result = msgspec.structs.replace(self._result, trashed=trashed)

    async def _write_session(self, session_id: str, archived: ArchivedSession, stored_count: int) -> None:
        summary = archived.header.summary
        if summary is not None:
            summary = msgspec.structs.replace(summary, id=session_id)
        point = archived.header.branch
        events = islice(archived.events, stored_count, None)
        group = list[RecordedEvent]()
        while following := await asyncio.to_thread(list, islice(events, _GROUP_EVENTS)):
            if group:
                await self._append_events(session_id, group, None, point)
            group = following
        await self._append_events(session_id, group, summary, point)
        draft = Draft(archived.header.draft, archived.header.attachments)
        if draft and not await self._store.draft(session_id):
            await self._change_draft(session_id, text=draft.text, attachments=draft.attachments)

    async def _keep_partial_answer(
        self, session_id: str, archived: ArchivedSession, log: Sequence[RecordedEvent]
    ) -> None:
        """Keep what came of an answer, here or else in the archive, unless the log has all of it by now."""
        stored = (await self._store.draft(session_id)).partial_answer
        candidates = (answer for answer in (stored, archived.header.partial_answer) if answer is not None)
        partial = next((answer for answer in candidates if not _is_answered(log, answer.seq)), None)
        if partial != stored:
            await self._change_draft(session_id, partial_answer=partial)

    async def _keep_partial_outputs(
        self, session_id: str, archived: ArchivedSession, log: Sequence[RecordedEvent]
    ) -> None:
        """Keep what the calls without an answer in the log had printed, here or else in the archive."""
        stored = (await self._store.draft(session_id)).partial_outputs
        by_call = {output.call_id: output for output in (*archived.header.partial_outputs, *stored)}
        open_calls = _open_calls(log) if by_call else set()
        outputs = tuple(output for call_id, output in by_call.items() if call_id in open_calls)
        if outputs != stored:
            await self._change_draft(session_id, partial_outputs=outputs)

    async def _change_draft(self, session_id: str, **fields: object) -> None:
        """Change a draft, to one of any size: another store has acknowledged what comes from it."""

        def stage(batch: WriteBatch, _: ContentStore) -> None:
            ROWS.draft.change(batch, session_id, lambda stored: msgspec.structs.replace(stored, **fields))

        await self._store.bulk_access.write(stage, _GROUP_BYTES)

    async def _append_events(
        self,
        session_id: str,
        events: list[RecordedEvent],
        summary: SessionSummary | None,
        point: BranchPoint | None,
    ) -> None:
        """Append events; the summary comes with the last ones, so that an interrupted import can continue."""

        def stage(batch: WriteBatch, _: ContentStore) -> None:
            if point is not None and ROWS.last_seq.get(batch, session_id) is None:
                stage_branch(batch, session_id, point)
            stage_events(batch, session_id, events, self._missing)
            stored = ROWS.summary.get(batch, session_id)
            if summary is not None and summary.is_removed and stored is not None:
                stage_summary(
                    batch, msgspec.structs.replace(stored, events=ROWS.last_seq.get(batch, session_id) or 0)
                )
            elif summary is not None and (events or stored is None):
                stage_summary(batch, summary)

        await self._store.bulk_access.write(stage, _GROUP_BYTES)


def _next_parts(parts: Iterator[ArchivePart]) -> list[ArchivePart]:
    """Return some small contents at once, which take less time than a thread to be called; else one part."""
    group = list[ArchivePart]()
    size = 0
    for part in parts:
        group.append(part)
        size += len(part.data) if isinstance(part, ArchivedContent) else _READ_BYTES
        if size >= _READ_BYTES:
            break
    return group


def _is_answered(log: Sequence[RecordedEvent], seq: int) -> bool:
    """Return True if a log has an answer, or the end of its turn, after event `seq`."""
    later = takewhile(lambda recorded: recorded.seq > seq, reversed(log))
    return any(isinstance(recorded.event, AssistantSpoke | TurnEnded) for recorded in later)


def _open_calls(log: Sequence[RecordedEvent]) -> set[str]:
    """Return the ids of the calls in a log that have no answer; an id can come again with a later call."""
    open_calls: set[str] = set()
    for recorded in log:
        match recorded.event:
            case AssistantSpoke(calls=calls):
                open_calls.update(call.id for call in calls)
            case ToolAnswered(call_id=call_id):
                open_calls.discard(call_id)
            case _:
                pass
    return open_calls


def _event_in_ask(recorded: RecordedEvent) -> RecordedEvent:
    if not (isinstance(recorded.event, ModeChanged) and recorded.event.mode == "auto"):
        return recorded
    return msgspec.structs.replace(recorded, event=ModeChanged("ask"))


def _with_parent(archived: ArchivedSession, session_ids: Mapping[str, str]) -> ArchivedSession:
    """Return a session of an archive that names its parent, if it is a branch, as that is stored here."""
    point = archived.header.branch
    summary = archived.header.summary
    if point is None:
        return archived

    def stored_id(session_id: str) -> str:
        return session_ids.get(session_id, session_id)

    def renamed(recorded: RecordedEvent) -> RecordedEvent:
        if not isinstance(recorded.event, SessionBranched):
            return recorded
        event = msgspec.structs.replace(recorded.event, parent=stored_id(recorded.event.parent))
        return msgspec.structs.replace(recorded, event=event)

    if summary is not None:
        summary = msgspec.structs.replace(summary, branch_of=stored_id(summary.branch_of))
    point = BranchPoint(stored_id(point.parent), point.seq)
    header = msgspec.structs.replace(archived.header, branch=point, summary=summary)
    return ArchivedSession(header, archived.events.changed(renamed))


def _diverged_id(archived: ArchivedSession) -> str:
    """Return an id for a diverged session: the same for the same log."""
    hasher = hashlib.sha256(archived.header.id.encode())
    if archived.header.branch is not None:
        hasher.update(msgspec.json.encode(archived.header.branch))
    for recorded in archived.events:
        hasher.update(msgspec.json.encode(recorded))
    return hasher.hexdigest()[:32]


def _stage_contents(batch: WriteBatch, contents: ContentStore, group: list[ArchivedContent]) -> int:
    """Put contents with their archived records into a batch; return how many are new."""
    added = 0
    for archived in group:
        old_record = _read_record_or_none(batch, archived.digest)
        record = archived.record
        content = Content(
            archived.digest,
            archived.data,
            record.tool,
            record.target,
            record.first_line,
            record.tokens,
            record.kind,
        )
        contents.stage(batch, content, record.created if old_record is None else old_record.last_used)
        new_record = _read_record_or_none(batch, archived.digest) if old_record is None else None
        if new_record is not None:
            merged = msgspec.structs.replace(
                record,
                size=new_record.size,
                stored_size=new_record.stored_size,
                references=new_record.references,
            )
            ROWS.record.put(batch, merged, archived.digest)
            added += 1
    return added


def _read_record_or_none(batch: WriteBatch, digest: str) -> EntryRecord | None:
    try:
        return ROWS.record.get(batch, digest)
    except RowDamaged:  # it is rebuilt when the content is stored
        return None


def _check_free_space(folder: Path, path: Path) -> None:
    """Raise HelixError if the disk could not take an archive of this size."""
    needed = _DISK_FACTOR * path.stat().st_size + _RESERVED_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise HelixError(
            text("There isn't enough disk space to import {file}.", file=path.name),
            text("About {needed} are needed; {free} are free.", needed=ByteSize(needed), free=ByteSize(free)),
            text("Nothing was changed. Free up disk space, then import it again."),
        )


async def export_store(
    store: LevelDbStore, path: str, name: str, at_ms: int, on_progress: OnProgress = no_progress
) -> ExportResult:
    """Write a store, as it is at this moment, to a file: under its name only after it was verified.

    The store may be read and written meanwhile. `at_ms` is in ms since 1970. Raise ArchiveWriteFailed,
    StoreUnreadable, StoreClosed; then no file is left, and an older one of that name stays.
    """
    return await store.bulk_access.read_snapshot(
        lambda snapshot: write_archive(
            snapshot, WorkspaceScope(snapshot.view), Path(path), name, at_ms, on_progress
        )
    )


async def export_session(
    store: LevelDbStore,
    path: str,
    name: str,
    at_ms: int,
    session_id: str,
    on_progress: OnProgress = no_progress,
) -> ExportResult:
    """Write one session with its subagents and contents to a file, as `export_store` writes a store."""
    return await store.bulk_access.read_snapshot(
        lambda snapshot: write_archive(
            snapshot, SessionScope(snapshot, session_id), Path(path), name, at_ms, on_progress
        )
    )


async def import_store(
    store: LevelDbStore,
    path: str,
    is_writable: IsWritable = lambda _: True,
    on_progress: OnProgress = no_progress,
    totals: ArchiveTotals | None = None,
) -> ImportResult:
    """Check a file, then merge it; return what was imported. With its `totals` it is merged unchecked.

    `is_writable` is asked for each log. Raise InvalidArchive (nothing was changed), StoreWriteFailed and
    StoreClosed (what was merged until then is complete, and importing again continues).
    """
    archive = Path(path)
    stop = threading.Event()
    try:
        if totals is not None:
            return await _Importer(store, is_writable, totals).run(archive, stop, on_progress)
        end = await asyncio.to_thread(_check_readable, archive, stop, _half_progress(on_progress, 0))
        return await _Importer(store, is_writable, end).run(archive, stop, _half_progress(on_progress, 1))
    finally:
        stop.set()
