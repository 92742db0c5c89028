"""Merges an archive into a store: what is there already is never changed, only added to.

Contents go by digest, sessions by id. A session that is there and goes on in the archive is extended; one
that went another way stands apart under an id made of both, so that importing again adds nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from helix_desktop.domain.digest import format_bytes
from helix_desktop.domain.draft import Draft
from helix_desktop.domain.errors import HelixError, InvalidArchive
from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.store.archive_report import ArchiveTotals, ImportResult, Progress
from helix_desktop.domain.store.entries import Content, SessionSummary
from helix_desktop.store.archive.archive_format import ArchiveManifest
from helix_desktop.store.archive.reader import (
    ArchivedContent,
    ArchivedSession,
    Stopped,
    check_archive,
    read_archive,
)
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowDamaged
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.commit_rows import stage_summary
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb.entry_record import EntryRecord, read_record, write_record
from helix_desktop.store.leveldb.event_log import stage_events
from helix_desktop.store.leveldb_store import LevelDbStore

_GROUP_BYTES = 4 * 1024 * 1024
_GROUP_EVENTS = 2_000
_RESERVED_BYTES = 64 * 1024 * 1024  # bytes that stay free on the disk beside what is merged
_DISK_FACTOR = 2  # times its own size that a store may need for an archive while it tidies its files

SessionOutcome = Literal["new", "extended", "unchanged", "apart", "busy"]
IsWritable = Callable[[str], bool]
"""Whether the log of a session may be written now."""


async def merge_archive(
    store: LevelDbStore, path: Path, is_writable: IsWritable, on_progress: Progress = lambda *_: None
) -> ImportResult:
    """Check the whole file, then merge it; what became of it.

    Raise ArchiveUnusable (nothing was changed), StoreWriteFailed and StoreClosed (what was merged until then
    is whole, and importing again goes on).
    """
    stop = threading.Event()
    try:
        end = await asyncio.to_thread(_check_readable, path, stop, _half_progress(on_progress, 0))
        return await _Importer(store, is_writable, end).run(path, stop, _half_progress(on_progress, 1))
    finally:
        stop.set()


def _check_readable(path: Path, stop: threading.Event, on_progress: Progress) -> ArchiveTotals:
    try:
        return check_archive(path, stop, on_progress)
    except OSError as error:
        raise InvalidArchive(f"{path} cannot be read.", f"{error.strerror or error}.") from error


def _half_progress(on_progress: Progress, half: int) -> Progress:
    return lambda done, size: on_progress(half * size + done, 2 * size)


class _Importer:
    """One import: what was done so far."""

    def __init__(self, store: LevelDbStore, is_writable: IsWritable, totals: ArchiveTotals) -> None:
        self._store, self._is_writable, self._totals = store, is_writable, totals
        self._missing = frozenset(totals.missing)
        self._result = ImportResult("", missing=totals.missing)
        self._group: list[ArchivedContent] = []
        self._bytes = 0

    async def run(self, path: Path, stop: threading.Event, on_progress: Progress) -> ImportResult:
        await asyncio.to_thread(_check_free_space, self._store.bulk_access.folder, path)
        pieces = read_archive(path, stop, on_progress)
        try:
            while piece := await asyncio.to_thread(next, pieces, None):
                match piece:
                    case ArchiveManifest(name=name):
                        self._result = msgspec.structs.replace(self._result, name=name)
                    case ArchivedContent():
                        await self._add_content(piece)
                    case ArchivedSession():
                        await self._flush()
                        await self._import_session(piece)
                    case ArchiveTotals():
                        await self._flush()
        except (InvalidArchive, Stopped) as error:  # it was whole a moment ago: somebody changes it
            raise InvalidArchive(
                "The import was cut off.",
                f"The file changed while it was read ({error}).",
                "What was imported until then is whole; importing again goes on.",
            ) from error
        return self._result

    async def _add_content(self, content: ArchivedContent) -> None:
        self._group.append(content)
        self._bytes += len(content.data)
        if self._bytes >= _GROUP_BYTES or len(self._group) >= _GROUP_EVENTS:
            await self._flush()

    async def _flush(self) -> None:
        if not self._group:
            return
        group, size, self._group, self._bytes = self._group, self._bytes, [], 0
        added: list[int] = []

        def stage(batch: WriteBatch, codec: Codec, contents: ContentStore) -> None:
            added.append(_stage_contents(batch, codec, contents, group))

        await self._store.bulk_access.write(stage, size)
        self._result = msgspec.structs.replace(
            self._result,
            added=self._result.added + added[0],
            known=self._result.known + len(group) - added[0],
        )

    async def _import_session(self, archived: ArchivedSession) -> None:
        """Bring one session in, as what it is here: new, longer, the same, or another."""
        here = await self._store.events(archived.header.id)
        session, fate = archived.header.id, _outcome_of(here, archived.events)
        if fate == "apart":
            session = _diverged_id(archived)
            here = await self._store.events(session)
            fate = "unchanged" if here == archived.events else "apart"
        if fate in ("extended", "apart") and not self._is_writable(session):
            fate = "busy"
        if fate != "busy":
            await self._write_session(session, archived, len(here))
        named: tuple[str, ...] = (*getattr(self._result, fate), session)
        self._result = msgspec.structs.replace(self._result, **{fate: named})

    async def _write_session(self, session: str, archived: ArchivedSession, stored_count: int) -> None:
        summary = archived.header.summary
        if summary is not None:
            summary = msgspec.structs.replace(summary, id=session)
        *before, last = [*_groups(archived.events[stored_count:])] or [[]]
        for group in before:
            await self._append_events(session, group, None)
        await self._append_events(session, last, summary)
        draft = Draft(archived.header.draft, archived.header.attachments)
        if draft and not await self._store.draft(session):
            await self._store.save_draft(session, draft.text, draft.attachments)

    async def _append_events(
        self, session: str, events: list[RecordedEvent], summary: SessionSummary | None
    ) -> None:
        """The summary comes with the last events: cut off, the import goes on where the log ends."""

        def stage(batch: WriteBatch, codec: Codec, _: ContentStore) -> None:
            stage_events(batch, codec, session, events, self._missing)
            if summary is not None and (events or batch.get(keys.summary(session)) is None):
                stage_summary(batch, codec, summary)

        await self._store.bulk_access.write(stage, _GROUP_BYTES)


def _outcome_of(stored: Sequence[RecordedEvent], archived: Sequence[RecordedEvent]) -> SessionOutcome:
    shared = min(len(stored), len(archived))
    if stored[:shared] != archived[:shared]:
        return "apart"
    if not stored:
        return "new"
    return "extended" if len(archived) > len(stored) else "unchanged"


def _diverged_id(archived: ArchivedSession) -> str:
    """Return an id for a session that went another way: the same for the same log."""
    words = hashlib.sha256(archived.header.id.encode())
    for one in archived.events:
        words.update(msgspec.json.encode(one))
    return words.hexdigest()[:32]


def _groups(events: list[RecordedEvent]) -> Iterator[list[RecordedEvent]]:
    for first in range(0, len(events), _GROUP_EVENTS):
        yield events[first : first + _GROUP_EVENTS]


def _stage_contents(
    batch: WriteBatch, codec: Codec, contents: ContentStore, group: list[ArchivedContent]
) -> int:
    """Put contents with what was known of them into a batch; how many are new."""
    added = 0
    for one in group:
        old = _read_record_or_none(batch, codec, one.digest)
        about = one.record
        content = Content(
            one.digest, one.data, about.tool, about.target, about.first_line, about.tokens, about.kind
        )
        contents.stage(batch, content, about.created if old is None else old.last_used)
        fresh = _read_record_or_none(batch, codec, one.digest) if old is None else None
        if fresh is not None:
            kept = msgspec.structs.replace(
                about, size=fresh.size, stored_size=fresh.stored_size, references=fresh.references
            )
            write_record(batch, codec, one.digest, kept)
            added += 1
    return added


def _read_record_or_none(batch: WriteBatch, codec: Codec, digest: str) -> EntryRecord | None:
    try:
        return read_record(batch.get, codec, digest)
    except RowDamaged:  # it is made anew when the content is stored
        return None


def _check_free_space(folder: Path, path: Path) -> None:
    """Raise HelixError when the disk could not take an archive of this size."""
    needed = _DISK_FACTOR * path.stat().st_size + _RESERVED_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise HelixError(
            f"There is not enough room to import {path.name}.",
            f"About {format_bytes(needed)} are needed, {format_bytes(free)} are free.",
            "Nothing was changed. Free some room on the disk, and import it again.",
        )
