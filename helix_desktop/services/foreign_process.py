"""Converts sessions of other agents to archives: in a process of its own where there is much to read.

That process holds the vocabulary and what records become: both are gone when the store reads the archive,
and the window's thread never waits for the interpreter meanwhile.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.foreign import RecordCount
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store_reports import ArchiveTotals
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.foreign.discovery import FoundSession
from helix_desktop.providers.tiktoken_counter import PrefetchingTokenCounter
from helix_desktop.services.foreign_conversion import Conversion, Marks, converted, session_id_of
from helix_desktop.store.archive_file import ArchiveSpool
from helix_desktop.system.worker_process import end_process, run_in_background, start_process

text = TextContext("Services")

T = TypeVar("T")

_LEAST_BYTES = 4 * 1024 * 1024  # of a session; reading less takes less time than a process to start
_NICENESS = 5


class ForeignSession(msgspec.Struct, frozen=True):
    """A session to convert, with what earlier imports wrote down in it and in those of its subagents.

    The archive is made at `at_ms`, in an empty folder that somebody else deletes.
    """

    found: FoundSession
    marks: Mapping[str, Marks]
    vocabulary: Path
    at_ms: int
    folder: Path


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
    found, marks = session.found, session.marks
    children = {name: session_id_of(found.agent, name) for name, _ in found.subagents}
    main_id = session_id_of(found.agent, found.id)
    with ArchiveSpool(session.folder) as spool, PrefetchingTokenCounter(session.vocabulary) as counter:
        main = Conversion(found.source, found.id, spool, counter, title=found.title, subagents=children)
        asyncio.run(main.run(marks[main_id], on_progress))
        conversions = [main]
        for name, source in found.subagents:
            title = main.subagent_titles.get(children[name], "")
            child = Conversion(source, name, spool, counter, parent=main_id, title=title)
            asyncio.run(child.run(marks[children[name]], on_progress))
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
