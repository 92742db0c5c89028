"""Session usage: how full the listed sessions of a workspace are, and how many summaries fell back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.ports.store import Store
from helix_desktop.agent.run_settings import SessionModels
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy, policy_from_event
from helix_desktop.context.summaries.summary_task import FallbackRate, fallback_rate
from helix_desktop.context.window.usage_gauge import UsageGauge, count_window, is_outdated, usage_from_count
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store.commit import Commit
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


log = logging.getLogger(__name__)


def spending_of_session(session: SessionSummary) -> Spending:
    """Return what a listed session spent, its subagents not among it; of provider caches nothing.

    Where an older version stored it, all of it had no price if it cost nothing, as in its events.
    """
    unpriced, is_demo = session.unpriced, session.model.startswith("demo/")
    if unpriced is None:
        unpriced = 0 if session.cost or is_demo else session.spent
    demo = session.spent if is_demo else 0
    return Spending(session.spent, session.cost, session.estimated, unpriced=unpriced, demo=demo)


def subagent_sessions(listed: Iterable[SessionSummary]) -> dict[str, list[SessionSummary]]:
    """Return the sessions of subagents by the session that they work for."""
    sessions: dict[str, list[SessionSummary]] = {}
    for summary in listed:
        if summary.parent:
            sessions.setdefault(summary.parent, []).append(summary)
    return sessions


def total_spending(session: SessionSummary, subagents: Mapping[str, Sequence[SessionSummary]]) -> Spending:
    """Return what a session and its subagents spent; `subagents` by the session that they work for."""
    paid = (session, *subagents.get(session.id, ()))
    return sum(map(spending_of_session, paid), Spending())


class SessionUsage:
    """The usage of one workspace's sessions, open or not, as the gauge counts it."""

    def __init__(
        self,
        store: Store,
        models: SessionModels,
        policy: Callable[[], ContextPolicy],
        find_open: Callable[[str], Conversation | None],
    ) -> None:
        self._store, self._models, self._policy, self._find_open = store, models, policy, find_open
        self._uncountable: set[str] = set()  # sessions whose logs cannot be read

    def of(self, summary: SessionSummary) -> UsageGauge | None:
        """Return the usage of a listed session's next request; None until `recount_missing` has counted it.

        None also for a subagent's session that is not open: it has a model and a policy of its own.
        """
        conversation = self._find_open(summary.id)
        if conversation is not None:
            return conversation.window.measure()[1]
        if summary.count is None or summary.counts is None or summary.unpriced is None:
            return None
        if summary.parent or not self._models.shared.is_ready:
            return None
        info = self._models.known_model(summary.count.chosen)
        policy = policy_from_event(summary.count.policy) or self._policy()
        if info is None or is_outdated(summary.count, policy, info.window):
            return None
        _, frame, _ = self._models.shared()
        ratio = self._models.ratios.get(info.label, 1.0)
        return usage_from_count(summary.count, policy, replace(frame, info=info, ratio=ratio))

    async def recount_missing(self) -> bool:
        """Count the listed sessions without a usage from their logs. Return True if any was counted.

        These are sessions of an older version, whose messages and tokens without a price are counted too, and
        those whose handover quotes more or less under another policy or model.
        """
        counted = False
        for summary in await self._store.sessions():
            if (
                not summary.parent
                and self._models.shared.is_ready
                and summary.id not in self._uncountable
                and self.of(summary) is None
            ):
                counted = await self._recount(summary) or counted
        return counted

    async def _recount(self, summary: SessionSummary) -> bool:
        if summary.count is not None and self._models.known_model(summary.count.chosen) is None:
            await self._models.resolve_model(summary.count.chosen)
            if self.of(summary) is not None:
                return True
        try:
            events = await self._store.events(summary.id)
            state = await asyncio.to_thread(Transcript, events)
            info = await self._models.resolve_model(state.chosen_model)
            frame = replace(self._models.shared()[1], info=info)
            policy = state.session_policy or self._policy()
            count = count_window(state, policy, info.window)
            used = usage_from_count(count, policy, frame).used
            counts = state.messages.counts()
            counted = replace(
                summary,
                count=count,
                used=used,
                window=info.window,
                messages=counts.messages,
                calls=counts.calls,
                unpriced=state.spending.unpriced,
            )
            if summary not in await self._store.sessions() or self._find_open(summary.id) is not None:
                return False  # opened or changed meanwhile: that code counts it
            await self._store.commit(Commit(summary.id, summary=counted))
        except StoreError as error:
            log.info("the session %s could not be counted again: %s", summary.id, error)
            self._uncountable.add(summary.id)
            return False
        return True
