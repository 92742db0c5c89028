"""Find what a crashed run left unfinished in the workspaces that it had open."""

from __future__ import annotations

import asyncio
import logging

from helix_desktop.agent.ports import Store
from helix_desktop.app.run_marker import LastRun
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.shell.crash_notice import RecoverySummary
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_MAX_SESSIONS = 200  # of a workspace, the newest ones
log = logging.getLogger(__name__)


async def find_unfinished(services: AppServices, last_run: LastRun, started_at_ms: int) -> RecoverySummary:
    """Return what a crashed run left; `started_at_ms` is the start of this run, in ms since 1970."""
    summary = RecoverySummary()
    names = {record.id: record.name for record in services.registry.list_workspaces()}
    for workspace_id in last_run.workspaces:
        if workspace_id not in names:
            continue
        try:
            async with services.borrow_store(workspace_id) as store:
                name = names[workspace_id]
                repaired = (name,) if store.health.report is not None else ()
                summary = summary.plus(await _workspace_recovery(store, name, last_run, started_at_ms))
                summary = summary.plus(RecoverySummary(repaired=repaired))
        except HelixError as error:  # opening it says so, with what can be done
            log.warning("what a crashed run left in a workspace is not known: %s", error)
    return summary


async def _workspace_recovery(
    store: Store, workspace_name: str, last_run: LastRun, started_at_ms: int
) -> RecoverySummary:
    summary = RecoverySummary()
    for session in (await store.sessions())[:_MAX_SESSIONS]:
        found = RecoverySummary(drafts=1 if await store.draft(session.id) else 0)
        if session.updated >= last_run.started and not session.parent:
            found = found.plus(await _session_recovery(store, session, started_at_ms))
        if found != RecoverySummary():
            title = ellipsize_title(session_title(session.title))
            name = tr("“{title}” in {workspace}", title=title, workspace=workspace_name)
            summary = summary.plus(found).plus(RecoverySummary(sessions=(name,)))
    return summary


async def _session_recovery(store: Store, session: SessionSummary, started_at_ms: int) -> RecoverySummary:
    events = await store.events(session.id)
    transcript = await asyncio.to_thread(Transcript, events)
    broken = transcript.turn_open or _closed_since(events, started_at_ms)
    return RecoverySummary(turns=1 if broken else 0, queued=len(transcript.queued_messages))


def _closed_since(events: list[RecordedEvent], started_at_ms: int) -> bool:
    """Return True if opening the session in this run marked its turn as interrupted."""
    ends = [(recorded.at, recorded.event) for recorded in events if isinstance(recorded.event, TurnEnded)]
    return bool(ends) and ends[-1][0] >= started_at_ms and ends[-1][1].interruption == "crash"
