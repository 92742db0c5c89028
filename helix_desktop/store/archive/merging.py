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

from helix_desktop.context.archive import End, Imported, Progress
from helix_desktop.context.content import Content, SessionSummary
from helix_desktop.context.digest import size_text
from helix_desktop.context.draft import Draft
from helix_desktop.context.errors import ArchiveUnusable, HelixError
from helix_desktop.context.event import Recorded
from helix_desktop.store import keys
from helix_desktop.store.archive.form import Manifest
from helix_desktop.store.archive.reading import Kept, Log, Stopped, check_archive, read_archive
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.content import Contents
from helix_desktop.store.event_log import stage_events
from helix_desktop.store.leveldb import LevelStore
from helix_desktop.store.record import Record, read_record, write_record
from helix_desktop.store.staging import stage_summary

_GROUP_BYTES = 4 * 1024 * 1024
_GROUP_EVENTS = 2_000
_SPARE = 64 * 1024 * 1024  # bytes that stay free on the disk beside what is merged
_GROWTH = 2  # times its own size that a store may need for an archive while it tidies its files

Fate = Literal["new", "extended", "unchanged", "apart", "busy"]
Free = Callable[[str], bool]
"""Whether the log of a session may be written now."""


async def merge_archive(
    store: LevelStore, path: Path, free: Free, progress: Progress = lambda *_: None
) -> Imported:
    """Check the whole file, then merge it; what became of it.

    Raises ArchiveUnusable (nothing was changed), StoreWriteFailed and StoreClosed (what was merged until then
    is whole, and importing again goes on).
    """
    stop = threading.Event()
    try:
        end = await asyncio.to_thread(_checked, path, stop, _half(progress, 0))
        return await _Merge(store, free, end).run(path, stop, _half(progress, 1))
    finally:
        stop.set()


def _checked(path: Path, stop: threading.Event, progress: Progress) -> End:
    try:
        return check_archive(path, stop, progress)
    except OSError as error:
        raise ArchiveUnusable(f"{path} cannot be read.", f"{error.strerror or error}.") from error


def _half(progress: Progress, half: int) -> Progress:
    return lambda done, size: progress(half * size + done, 2 * size)


class _Merge:
    """One import: what was done so far."""

    def __init__(self, store: LevelStore, free: Free, end: End) -> None:
        self._store, self._free, self._end = store, free, end
        self._missing = frozenset(end.missing)
        self._done = Imported("", missing=end.missing)
        self._group: list[Kept] = []
        self._bytes = 0

    async def run(self, path: Path, stop: threading.Event, progress: Progress) -> Imported:
        await asyncio.to_thread(_check_room, self._store.backstage.folder, path)
        pieces = read_archive(path, stop, progress)
        try:
            while piece := await asyncio.to_thread(next, pieces, None):
                match piece:
                    case Manifest(name=name):
                        self._done = msgspec.structs.replace(self._done, name=name)
                    case Kept():
                        await self._keep(piece)
                    case Log():
                        await self._flush()
                        await self._take(piece)
                    case End():
                        await self._flush()
        except (ArchiveUnusable, Stopped) as error:  # it was whole a moment ago: somebody changes it
            raise ArchiveUnusable(
                "The import was cut off.",
                f"The file changed while it was read ({error}).",
                "What was imported until then is whole; importing again goes on.",
            ) from error
        return self._done

    async def _keep(self, kept: Kept) -> None:
        self._group.append(kept)
        self._bytes += len(kept.data)
        if self._bytes >= _GROUP_BYTES or len(self._group) >= _GROUP_EVENTS:
            await self._flush()

    async def _flush(self) -> None:
        if not self._group:
            return
        group, size, self._group, self._bytes = self._group, self._bytes, [], 0
        added: list[int] = []

        def stage(batch: Batch, codec: Codec, contents: Contents) -> None:
            added.append(_stage_contents(batch, codec, contents, group))

        await self._store.backstage.stage(stage, size)
        self._done = msgspec.structs.replace(
            self._done, added=self._done.added + added[0], known=self._done.known + len(group) - added[0]
        )

    async def _take(self, log: Log) -> None:
        """Bring one session in, as what it is here: new, longer, the same, or another."""
        here = await self._store.events(log.note.id)
        session, fate = log.note.id, _fate(here, log.events)
        if fate == "apart":
            session = _other_id(log)
            here = await self._store.events(session)
            fate = "unchanged" if here == log.events else "apart"
        if fate in ("extended", "apart") and not self._free(session):
            fate = "busy"
        if fate != "busy":
            await self._write(session, log, len(here))
        named: tuple[str, ...] = (*getattr(self._done, fate), session)
        self._done = msgspec.structs.replace(self._done, **{fate: named})

    async def _write(self, session: str, log: Log, known: int) -> None:
        summary = log.note.summary
        if summary is not None:
            summary = msgspec.structs.replace(summary, id=session)
        *before, last = [*_groups(log.events[known:])] or [[]]
        for group in before:
            await self._append(session, group, None)
        await self._append(session, last, summary)
        draft = Draft(log.note.draft, log.note.attachments)
        if draft and not await self._store.draft(session):
            await self._store.save_draft(session, draft.text, draft.attachments)

    async def _append(self, session: str, events: list[Recorded], summary: SessionSummary | None) -> None:
        """The summary comes with the last events: cut off, the import goes on where the log ends."""

        def stage(batch: Batch, codec: Codec, _: Contents) -> None:
            stage_events(batch, codec, session, events, self._missing)
            if summary is not None and (events or batch.get(keys.summary(session)) is None):
                stage_summary(batch, codec, summary)

        await self._store.backstage.stage(stage, _GROUP_BYTES)


def _fate(here: Sequence[Recorded], there: Sequence[Recorded]) -> Fate:
    shared = min(len(here), len(there))
    if here[:shared] != there[:shared]:
        return "apart"
    if not here:
        return "new"
    return "extended" if len(there) > len(here) else "unchanged"


def _other_id(log: Log) -> str:
    """An id for a session that went another way: the same for the same log."""
    words = hashlib.sha256(log.note.id.encode())
    for one in log.events:
        words.update(msgspec.json.encode(one))
    return words.hexdigest()[:32]


def _groups(events: list[Recorded]) -> Iterator[list[Recorded]]:
    for first in range(0, len(events), _GROUP_EVENTS):
        yield events[first : first + _GROUP_EVENTS]


def _stage_contents(batch: Batch, codec: Codec, contents: Contents, group: list[Kept]) -> int:
    """Put contents with what was known of them into a batch; how many are new."""
    added = 0
    for one in group:
        old = _record(batch, codec, one.digest)
        about = one.record
        content = Content(
            one.digest, one.data, about.tool, about.target, about.first_line, about.tokens, about.kind
        )
        contents.stage(batch, content, about.created if old is None else old.last_used)
        fresh = _record(batch, codec, one.digest) if old is None else None
        if fresh is not None:
            kept = msgspec.structs.replace(
                about, size=fresh.size, stored_size=fresh.stored_size, references=fresh.references
            )
            write_record(batch, codec, one.digest, kept)
            added += 1
    return added


def _record(batch: Batch, codec: Codec, digest: str) -> Record | None:
    try:
        return read_record(batch.get, codec, digest)
    except RowDamaged:  # it is made anew when the content is stored
        return None


def _check_room(folder: Path, path: Path) -> None:
    """Raises HelixError when the disk could not take an archive of this size."""
    needed = _GROWTH * path.stat().st_size + _SPARE
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise HelixError(
            f"There is not enough room to import {path.name}.",
            f"About {size_text(needed)} are needed, {size_text(free)} are free.",
            "Nothing was changed. Free some room on the disk, and import it again.",
        )
