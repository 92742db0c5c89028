"""After a crash: the marker of a run, the report on it, and what it left unfinished in its workspaces."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from datetime import datetime
from pathlib import Path

import msgspec

from helix_desktop import __version__
from helix_desktop.agent.ports import Store
from helix_desktop.config.paths import LOG_FILE, STACKS_FILE
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.private_details import PrivateDetails
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.files import read_regular
from helix_desktop.ui.window.quit import RecoverySummary
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

log = logging.getLogger(__name__)
tr = Translator("Window")

_MS = 1_000


class LastRun(msgspec.Struct, frozen=True):
    """A run of the window: its start in milliseconds since 1970, its process, and the workspaces it opened.

    `stacks` is how long the file of crash stacks was then, in bytes; `workspaces` are ids.
    """

    started: int
    pid: int = 0
    stacks: int = 0
    workspaces: tuple[str, ...] = ()


class RunMarker:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._run = LastRun(0)

    def crashed_run(self) -> LastRun | None:
        """Return the run that crashed; None if the last one ended well. Call it before `start`."""
        try:
            data = read_regular(self._path)
            changed = self._path.stat().st_mtime
        except OSError:
            return None
        try:
            return msgspec.json.decode(data, type=LastRun)
        except (msgspec.DecodeError, RecursionError):  # cut off while it was written
            return LastRun(int(changed * _MS))

    def start(self, now_ms: int, stacks: int) -> None:
        """Write the marker of this run; `now_ms` is in milliseconds since 1970."""
        self._run = LastRun(now_ms, os.getpid(), stacks)
        self._write()

    def add_workspace(self, workspace_id: str) -> None:
        if workspace_id not in self._run.workspaces:
            opened = (*self._run.workspaces, workspace_id)
            self._run = msgspec.structs.replace(self._run, workspaces=opened)
            self._write()

    def clear(self) -> None:
        """Delete the marker: this run ended well."""
        self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        try:
            self._path.write_bytes(msgspec.json.encode(self._run))
        except OSError:  # a full disk costs the notice after a crash, nothing else
            self._path.touch()


_MAX_LINES = 400
_STAMP = "%Y-%m-%d %H:%M:%S"


def crash_report(logs: Path, run: LastRun, next_start_ms: int, home: Path) -> str:
    """Return the stacks and log lines of a run, up to the start of the one after it. Blocks: reads files."""
    started = datetime.fromtimestamp(run.started / _MS)
    head = (
        f"Helix Desktop {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"Started {started:{_STAMP}}, did not close properly.",
    )
    stacks = _tail(logs / STACKS_FILE, run.stacks).strip()
    log_text = _tail(logs / f"{LOG_FILE}.1", 0) + _tail(logs / LOG_FILE, 0)
    lines = _lines_between(log_text.splitlines(), run.started, next_start_ms)
    parts = (
        "\n".join(head),
        f"Crash stacks\n{stacks or 'None. The process was ended from outside, or the system went down.'}",
        f"Log\n{chr(10).join(lines[-_MAX_LINES:]) or 'No warnings or errors in this run.'}",
    )
    return PrivateDetails(str(home)).redact("\n\n".join(parts))


def _tail(path: Path, start: int) -> str:
    try:
        data = read_regular(path)
    except OSError:
        return ""
    return data[start if start <= len(data) else 0 :].decode("utf-8", "replace")


def _lines_between(lines: list[str], start_ms: int, end_ms: int) -> list[str]:
    return lines[_first_line_since(start_ms, lines) : _first_line_since(end_ms, lines)]


def _first_line_since(at_ms: int, lines: list[str]) -> int:
    """Return the place of the first line with this timestamp or a later one; the end if there is none."""
    stamp = f"{datetime.fromtimestamp(at_ms // _MS):{_STAMP}},{at_ms % _MS:03}"
    places = (at for at, line in enumerate(lines) if line[:4].isdigit() and line[: len(stamp)] >= stamp)
    return next(places, len(lines))


_MAX_SESSIONS = 200  # of a workspace, the newest ones


async def find_unfinished(services: AppServices, last_run: LastRun) -> RecoverySummary:
    """Return what a crashed run left."""
    summary = RecoverySummary()
    names = {record.id: record.name for record in services.registry.list_workspaces()}
    for workspace_id in last_run.workspaces:
        if workspace_id not in names:
            continue
        try:
            async with services.borrow_store(workspace_id) as store:
                name = names[workspace_id]
                repaired = (name,) if store.health.report is not None else ()
                summary = summary.plus(await _workspace_recovery(store, name, last_run))
                summary = summary.plus(RecoverySummary(repaired=repaired))
        except HelixError as error:  # opening it says so, with what can be done
            log.warning("what a crashed run left in a workspace is not known: %s", error)
    return summary


async def _workspace_recovery(store: Store, workspace_name: str, last_run: LastRun) -> RecoverySummary:
    summary = RecoverySummary()
    for session in (await store.sessions())[:_MAX_SESSIONS]:
        found = RecoverySummary(drafts=1 if await store.draft(session.id) else 0)
        if session.updated >= last_run.started and not session.parent:
            found = found.plus(await _session_recovery(store, session))
        if found != RecoverySummary():
            title = ellipsize_title(session_title(session.title))
            name = tr("“{title}” in {workspace}", title=title, workspace=workspace_name)
            summary = summary.plus(found).plus(RecoverySummary(sessions=(name,)))
    return summary


async def _session_recovery(store: Store, session: SessionSummary) -> RecoverySummary:
    events = await store.events(session.id)
    transcript = await asyncio.to_thread(Transcript, events)
    return RecoverySummary(turns=1 if transcript.turn_open else 0, queued=len(transcript.queued_messages))
