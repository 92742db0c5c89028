"""Finds sessions of other agents and imports them into workspaces. No Qt here."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.choices import AGENT_NAMES
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.foreign import ForeignRecords, RecordCount
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.store import Content
from helix_desktop.domain.store_reports import ArchiveTotals, ImportResult
from helix_desktop.domain.translatable_text import TextContext, system_reason, verbatim
from helix_desktop.foreign.discovery import (
    AgentFolders,
    FoundSession,
    default_folders,
    find_in,
    find_sessions,
)
from helix_desktop.foreign.sources import Source
from helix_desktop.providers.tiktoken_counter import PrefetchingTokenCounter
from helix_desktop.services.closed_workspaces import AnyStore, BorrowStore
from helix_desktop.services.foreign_conversion import Conversion, Marks, converted, session_id_of
from helix_desktop.store.archive_file import ArchiveSpool
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.worker_process import end_process, run_in_background, start_process

text = TextContext("Services")


T = TypeVar("T")

_LEAST_BYTES = 4 * 1024 * 1024  # of a session; reading less takes less time than a process to start
_NICENESS = 5
_GROWING_MS = 60_000  # an agent has written a record, and the one that it follows, long before


class ForeignSession(msgspec.Struct, frozen=True):
    """A session to convert, with what earlier imports wrote down in it and in those of its subagents.

    The archive is made at `at_ms`, in an empty folder that somebody else deletes.
    """

    found: FoundSession
    marks: Mapping[str, Marks]
    vocabulary: Path
    at_ms: int
    folder: Path

    def is_growing(self, source: Source) -> bool:
        """Return True if a source was written to a moment ago. Raises OSError."""
        age_ms = self.at_ms - int(source.path.stat().st_mtime * 1000)
        return 0 <= age_ms < _GROWING_MS


class Converted(msgspec.Struct, frozen=True):
    """The archive, None for a session without messages, and what is kept as data or damaged."""

    archive: tuple[Path, ArchiveTotals] | None
    by_kind: tuple[RecordCount, ...] = ()
    damaged: int = 0


class _Stopped(Exception):
    """The user canceled the import."""


def convert(session: ForeignSession, on_progress: OnProgress) -> Converted:
    """Convert a session and those of its subagents. Raises OSError, EOFError, sqlite3.Error, HelixError.

    Call it where no event loop runs.
    """
    found = session.found
    marks = session.marks
    children = {name: session_id_of(found.agent, name) for name, _ in found.subagents}
    main_id = session_id_of(found.agent, found.id)
    with ArchiveSpool(session.folder) as spool, PrefetchingTokenCounter(session.vocabulary) as counter:
        main = Conversion(found.source, found.id, spool, counter, title=found.title, subagents=children)
        is_growing = session.is_growing(found.source)
        asyncio.run(main.run(marks[main_id], on_progress, is_growing=is_growing))
        conversions = [main]
        for name, source in found.subagents:
            title = main.subagent_titles.get(children[name], "")
            child = Conversion(source, name, spool, counter, parent=main_id, title=title)
            is_growing = session.is_growing(source)
            asyncio.run(child.run(marks[children[name]], on_progress, is_growing=is_growing))
            conversions.append(child)
        if not main.main.is_started:
            return Converted(None)
        listed = [(one.summary, one.branch) for each in conversions for one in converted(each.sessions)]
        archive = spool.write(found.title, session.at_ms, listed)
    by_kind = tuple(
        RecordCount(kind, sum(each.data_counts[kind, known] for each in conversions), known)
        for kind, known in dict.fromkeys(key for each in conversions for key in sorted(each.data_counts))
    )
    return Converted(archive, by_kind, sum(len(each.damaged) for each in conversions))


async def convert_session(session: ForeignSession, on_progress: OnProgress) -> Converted:
    """Do what `convert` does in a thread or, for a large session, in a process that ends with it."""
    if session.found.size < _LEAST_BYTES:
        return await _run_in_thread(session, on_progress)
    what = text("This session can't be imported.")
    fix = text("Close other programs and try again.")
    starting = _in_thread(start_process, _serve, "import")
    receiving: asyncio.Future[Any] | None = None
    try:
        _, connection = await asyncio.shield(starting)
        await _in_thread(connection.send, session)
        while True:
            receiving = _in_thread(connection.recv)
            match await asyncio.shield(receiving):
                case Converted() as result:
                    return result
                case Exception() as error:
                    raise error
                case done, size:
                    on_progress(done, size)
    except (EOFError, ConnectionError) as error:
        raise HelixError(what, text("The process that reads it ended."), fix) from error
    finally:
        await asyncio.wait([starting])  # canceled, it is started nevertheless
        if starting.exception() is None:
            process, connection = starting.result()
            await _in_thread(end_process, process)
            if receiving is not None:  # its thread reads until the process has ended
                await asyncio.wait([receiving])
                receiving.exception()
            connection.close()


def _in_thread(work: Callable[..., T], *args: object) -> asyncio.Future[T]:
    return asyncio.get_running_loop().run_in_executor(None, partial(work, *args))


async def _run_in_thread(session: ForeignSession, on_progress: OnProgress) -> Converted:
    stop = threading.Event()

    def report(done: int, size: int) -> None:
        if stop.is_set():
            raise _Stopped
        on_progress(done, size)

    running = _in_thread(convert, session, report)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        with suppress(_Stopped):
            await running  # its files are deleted next
        raise


def _serve(connection: Connection) -> None:
    """Convert one session, and send how far it is."""
    run_in_background(_NICENESS)
    reply: Converted | Exception
    with suppress(EOFError, OSError):  # nobody waits any more
        session: ForeignSession = connection.recv()
        tempfile.tempdir = str(session.folder)  # whatever is left there is deleted
        try:
            reply = convert(session, lambda done, size: connection.send((done, size)))
        except EOFError as error:
            reply = OSError(str(error))
        except (OSError, sqlite3.Error, HelixError) as error:
            reply = error
        except Exception as error:  # noqa: BLE001 - shown to the user
            reply = HelixError(
                text("This session can't be imported."), verbatim(f"{type(error).__name__}: {error}")
            )
        connection.send(reply)


OnFound = Callable[[int], None]
"""Told how many sessions were found so far; in another thread."""


class ForeignImport(msgspec.Struct, frozen=True):
    """What came of an import: the sessions by what was done with them, and what is kept as data or damaged.

    `sessions` are the ids of the imported sessions, in the order of those that were found; empty where one
    has no messages. `failed` are the names of those that could not be read, with the reason.
    """

    result: ImportResult
    sessions: tuple[str, ...] = ()
    by_kind: tuple[RecordCount, ...] = ()
    damaged: int = 0
    failed: tuple[tuple[str, str], ...] = ()


def ids_of(found: FoundSession) -> tuple[str, ...]:
    """Return the ids that a session has here once it is imported: its own, then those of its subagents."""
    return tuple(
        session_id_of(found.agent, name) for name in (found.id, *(name for name, _ in found.subagents))
    )


class ForeignSessions:
    """Sessions of other agents: what there is on this computer, and its import. Nothing is written there."""

    def __init__(
        self,
        vocabulary: Path,
        borrow_store: BorrowStore,
        clock: ClockMs,
        folders: Callable[[], AgentFolders] = default_folders,
    ) -> None:
        self._vocabulary = vocabulary
        self._borrow_store = borrow_store
        self._clock = clock
        self._folders = folders

    async def find(
        self, paths: Sequence[Path] = (), on_found: OnFound = lambda _: None
    ) -> list[FoundSession]:
        """Return the sessions in these files and folders; without any, all in the agents' own folders.

        Those used last come first. Raises HelixError for a path that can't be read.
        """
        found, errors = await self.find_readable(paths, on_found)
        if errors:
            raise errors[0]
        return found

    async def find_readable(
        self, paths: Sequence[Path] = (), on_found: OnFound = lambda _: None
    ) -> tuple[list[FoundSession], list[HelixError]]:
        """Return what `find` does, and an error for each path that can't be read or has no sessions."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._find, tuple(paths), on_found, stop)
        finally:
            stop.set()

    def _find(
        self, paths: Sequence[Path], on_found: OnFound, stop: threading.Event
    ) -> tuple[list[FoundSession], list[HelixError]]:
        found: list[FoundSession] = []
        errors: list[HelixError] = []
        for session in self._search(paths, errors):
            if stop.is_set():
                break
            found.append(session)
            on_found(len(found))
        return sorted(found, key=lambda session: -session.updated), errors

    def _search(self, paths: Sequence[Path], errors: list[HelixError]) -> Iterator[FoundSession]:
        if not paths:
            yield from find_sessions(self._folders())
        for path in paths:
            try:
                path.stat()
                sessions = list(find_in(path))
            except (OSError, sqlite3.Error) as error:
                reason = system_reason(error) if isinstance(error, OSError) else verbatim(str(error))
                what = text("{path} can't be read.", path=path)
                errors.append(HelixError(what, reason, text("Choose another file or folder.")))
                continue
            if not sessions:
                missing = HelixError(
                    text("No sessions found in {path}.", path=path),
                    text("Known are those of {agents}.", agents=tuple(AGENT_NAMES.values())),
                    text("Choose a session file, or the folder that an agent keeps them in."),
                )
                errors.append(missing)
            yield from sessions

    async def import_into(
        self, workspace_id: str, sessions: Sequence[FoundSession], on_progress: OnProgress = no_progress
    ) -> ForeignImport:
        """Import sessions, one after the other; each is there as a whole or not at all. Raises StoreError."""
        total = sum(max(1, found.size) for found in sessions)
        done = ForeignImport(ImportResult(""))
        before = 0
        async with self._borrow_store(workspace_id) as store:
            for found in sessions:
                size = max(1, found.size)

                def report(part: int, of: int, begin: int = before, share: int = size) -> None:
                    on_progress(begin + (share * part // of if of else 0), total)

                try:
                    one = await self._import(store, found, report)
                except (OSError, EOFError, sqlite3.Error) as error:
                    reason = system_reason(error) if isinstance(error, OSError) else verbatim(str(error))
                    name = found.title or found.id
                    one = ForeignImport(ImportResult(""), ("",), failed=((name, str(reason)),))
                done = _sum(done, one)
                before += size
        return done

    async def _import(self, store: AnyStore, found: FoundSession, on_progress: OnProgress) -> ForeignImport:
        main_id, *_ = ids = ids_of(found)
        marks = {session_id: await _marks(store, session_id) for session_id in ids}
        folder = await asyncio.to_thread(mkdtemp, prefix="helix-import-")
        try:
            session = ForeignSession(found, marks, self._vocabulary, self._clock(), Path(folder))
            done = await convert_session(session, lambda done, size: on_progress(2 * done, 3 * size))
            if done.archive is None:
                return ForeignImport(ImportResult(""), ("",))
            path, totals = done.archive
            result = await store.import_from(
                path, lambda done, size: on_progress(2 * size + done, 3 * size), totals
            )
            missing = [digest for digest in totals.missing if not await store.find(digest)]
            result = replace(result, missing=tuple(missing))
        finally:
            await asyncio.to_thread(rmtree, folder, ignore_errors=True)
        return ForeignImport(result, (main_id,), done.by_kind, done.damaged)


class _InMemory:
    """What comes of a session's records, in memory."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.logs: dict[str, list[RecordedEvent]] = {}

    def add_content(self, content: Content, at_ms: int, session_id: str) -> None:
        self.contents[content.digest] = content.data

    def add_event(self, session_id: str, recorded: RecordedEvent) -> None:
        self.logs.setdefault(session_id, []).append(recorded)


def read_session(found: FoundSession, vocabulary: Path) -> tuple[list[RecordedEvent], dict[str, bytes]]:
    """Return the log that a session would have, and its contents by digest; nothing is stored.

    Where the user went back, it is the way to the newest record. Raises OSError, EOFError,
    sqlite3.Error. Call it where no event loop runs.
    """
    records = _InMemory()
    with PrefetchingTokenCounter(vocabulary) as counter:
        conversion = Conversion(found.source, found.id, records, counter, title=found.title)
        asyncio.run(conversion.run())
    return records.logs.get(conversion.main.id, []), records.contents


async def _marks(store: AnyStore, session_id: str) -> Marks:
    """Return what the imports of a session wrote down at their ends."""
    marks: dict[tuple[int, bool], list[ForeignRecords]] = {}
    notes: list[ForeignRecords] = []
    for recorded in await store.events(session_id):
        notes = [*notes, recorded.event] if isinstance(recorded.event, ForeignRecords) else []
        if notes and notes[-1].records:
            marks[notes[-1].records, notes[-1].waiting > 0] = notes
    return marks


def _sum(one: ForeignImport, other: ForeignImport) -> ForeignImport:
    first = one.result
    second = other.result
    counts: dict[tuple[str, bool], int] = {}
    for each in (*one.by_kind, *other.by_kind):
        counts[each.kind, each.is_known] = counts.get((each.kind, each.is_known), 0) + each.count
    counted = [name for name in ImportResult.__struct_fields__ if name != "name"]
    return ForeignImport(
        replace(first, **{name: getattr(first, name) + getattr(second, name) for name in counted}),
        one.sessions + other.sessions,
        tuple(RecordCount(kind, count, is_known) for (kind, is_known), count in counts.items()),
        one.damaged + other.damaged,
        one.failed + other.failed,
    )
