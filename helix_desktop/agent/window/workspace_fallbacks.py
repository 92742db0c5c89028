"""Counts the summaries of a workspace that needed a fallback; a session is read again once it went on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from helix_desktop.agent.ports.store import Store
from helix_desktop.context.summaries.summary_task import FallbackRate, fallback_rate
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store.entries import SessionSummary


class WorkspaceFallbacks:
    """The fallbacks of all sessions of one workspace, those of subagents among them."""

    def __init__(self, store: Store, open_log: Callable[[str], Sequence[RecordedEvent] | None]) -> None:
        """`open_log` returns the log of a session that is open, None for others."""
        self._store, self._open_log = store, open_log
        self._counted: dict[str, tuple[int, FallbackRate]] = {}  # by session: events, and what they hold
        self._lock = asyncio.Lock()

    async def count(self) -> FallbackRate:
        """Return them; reads the sessions that are not counted yet one by one. Raises StoreError."""
        async with self._lock:
            listed = await self._store.sessions()
            for session in listed:
                if self._counted.get(session.id, (0,))[0] != session.events:
                    self._counted[session.id] = session.events, await self._count_session(session)
            return sum((self._counted[session.id][1] for session in listed), FallbackRate())

    async def _count_session(self, session: SessionSummary) -> FallbackRate:
        """Count those of one session; what a branch shares counts in its parent."""
        log = self._open_log(session.id)
        if log is not None:
            return fallback_rate(log[session.branch_seq :])
        events = await self._store.events(session.id)
        return await asyncio.to_thread(fallback_rate, events[session.branch_seq :])
