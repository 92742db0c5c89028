"""Finds what a crashed run left unfinished, in the workspaces that it had open."""

from __future__ import annotations

import asyncio
import logging

from helix_desktop.agent.ports import Store
from helix_desktop.app.desk import Desk
from helix_desktop.app.last_run import LastRun
from helix_desktop.context.content import SessionSummary
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event import Recorded, TurnEnded
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.crash_notice import Recovery

_MOST_SESSIONS = 200  # of a workspace, the newest ones
log = logging.getLogger(__name__)


async def recovery_of(desk: Desk, run: LastRun, now: int) -> Recovery:
    """Return what is there again; `now` is when this run began, in milliseconds since 1970."""
    found = Recovery()
    known = {record.id: record.name for record in desk.registry.listed()}
    for identity in run.workspaces:
        if identity not in known:
            continue
        try:
            async with desk.lend(identity) as store:
                repaired = (known[identity],) if store.health.report is not None else ()
                found = found.plus(await _look(store, run, now)).plus(Recovery(repaired=repaired))
        except HelixError as error:  # opening it says so, with what can be done
            log.warning("what a crashed run left in a workspace is not known: %s", error)
    return found


async def _look(store: Store, run: LastRun, now: int) -> Recovery:
    found = Recovery()
    for session in (await store.sessions())[:_MOST_SESSIONS]:
        draft = await store.draft(session.id)
        found = found.plus(Recovery(drafts=1 if draft else 0))
        if session.updated >= run.started and not session.parent:
            found = found.plus(await _unfinished(store, session, now))
    return found


async def _unfinished(store: Store, session: SessionSummary, now: int) -> Recovery:
    events = await store.events(session.id)
    transcript = await asyncio.to_thread(Transcript, events)
    broken = transcript.turn_open or _closed_since(events, now)
    return Recovery(turns=1 if broken else 0, queued=len(transcript.queued))


def _closed_since(events: list[Recorded], now: int) -> bool:
    """Return whether opening the session in this run marked its turn as interrupted."""
    ends = [one for one in events if isinstance(one.event, TurnEnded)]
    return bool(ends) and ends[-1].at >= now and ends[-1].event == TurnEnded("interrupted")
