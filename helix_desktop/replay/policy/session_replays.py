"""The replays of one session: those of an earlier time if nothing changed since, else the worker's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.replay.policy.session import SessionFacts, facts_of, replayed_part
from helix_desktop.replay.policy.stored_replays import StoredReplays
from helix_desktop.replay.policy_replay import FieldEffect, PolicyReplay

STORED_FROM = 500
"""Events of a session from which its replays are stored: it takes seconds until a shorter one is replayed."""

_MAX_REPLAYS = 32  # of one session, kept to be shown again at once


class ReplayWorker(Protocol):
    """Replays one session under any policy, beside the window's own process."""

    async def load(self, log: Sequence[RecordedEvent], facts: SessionFacts) -> None:
        """Take a session as it is now. Raises HelixError."""
        ...

    async def first_picture(
        self, log: Sequence[RecordedEvent], facts: SessionFacts, policy: ContextPolicy
    ) -> PolicyReplay:
        """Return an approximate picture of a session that it was not given yet."""
        ...

    def replay(self, policy: ContextPolicy) -> AsyncGenerator[PolicyReplay, None]:
        """Yield a first, approximate picture, then the exact one; a later call ends it. Raises HelixError."""
        ...

    async def replay_in_background(self, policy: ContextPolicy) -> PolicyReplay:
        """Return the exact replay of a policy; all other requests go before it. Raises HelixError."""
        ...

    async def effect(self, policy: ContextPolicy, field: str) -> FieldEffect:
        """Return what a field changes against its profile's value. Raises HelixError."""
        ...

    async def prepare(self, policies: Sequence[ContextPolicy]) -> None:
        """Replay these while nothing is requested: one of them may be next. Raises HelixError."""
        ...

    async def stay_ready(self, *, is_on: bool) -> None:
        """Start what replays, and let it run until this is turned off again. Raises HelixError."""
        ...

    async def close(self) -> None:
        """End the process."""
        ...


class _ReplayedSession(msgspec.Struct, frozen=True):
    """A session as it is replayed: its log and facts at one moment, and where its replays are stored."""

    id: str
    log: Sequence[RecordedEvent]
    facts: SessionFacts
    store: StoredReplays


class SessionReplays:
    """The pictures of one session's policies, the newest of each; exact ones are stored for long sessions."""

    def __init__(self, create_worker: Callable[[], ReplayWorker]) -> None:
        """`create_worker` is called when a session is first replayed."""
        self.create_worker = create_worker
        self._worker: ReplayWorker | None = None
        self._closing = set[ReplayWorker]()  # those that may not have ended yet
        self._session: _ReplayedSession | None = None
        self._worker_session: _ReplayedSession | None = None  # what the worker has
        self._prepared: tuple[ContextPolicy, ...] = ()  # of which the worker knows
        self._stored_policies: frozenset[ContextPolicy] = frozenset()
        self.pictures: dict[ContextPolicy, PolicyReplay] = {}

    def is_open(self, conversation: Conversation) -> bool:
        """Return True if the pictures are of this session as it is now."""
        replayed, session = self._session, conversation.session
        if replayed is None or replayed.id != session.id:
            return False
        log = replayed_part(session.log)
        if len(replayed.log) != len(log) or (log and replayed.log[-1] is not log[-1]):
            return False
        return replayed.facts == facts_of(conversation.window, session.transcript)

    def is_exact(self, policy: ContextPolicy) -> bool:
        """Return True if the picture of a policy is exact."""
        picture = self.pictures.get(policy)
        return picture is not None and picture.is_exact

    async def open(self, conversation: Conversation, workspace_folder: Path) -> None:
        """Take a session as it is now, with what is stored of it; needs no worker."""
        if self.is_open(conversation):
            return
        session = conversation.session
        log, facts = tuple(replayed_part(session.log)), facts_of(conversation.window, session.transcript)
        store = StoredReplays(workspace_folder)
        self._session = None
        self.pictures.clear()
        found = await asyncio.to_thread(store.load, session.id, log, facts)
        self._session = _ReplayedSession(session.id, log, facts, store)
        self._stored_policies = frozenset(found)
        self.pictures |= found

    async def add_first_picture(self, policy: ContextPolicy) -> None:
        """Add an approximate picture of a policy that has none; needs no process."""
        replayed = self._require_session()
        if policy not in self.pictures:
            picture = await self._ensure_worker().first_picture(replayed.log, replayed.facts, policy)
            self._add(policy, picture)

    async def load(self) -> None:
        """Give the session to the worker, unless it has it. Raises HelixError."""
        replayed = self._require_session()
        if replayed is not self._worker_session:
            self._prepared = ()
            await self._ensure_worker().load(replayed.log, replayed.facts)
            self._worker_session = replayed

    async def replay(self, policy: ContextPolicy) -> AsyncGenerator[PolicyReplay, None]:
        """Yield pictures of a policy, the exact one last; none if it is exact already. Raises HelixError.

        A later call ends this one.
        """
        if self.is_exact(policy):
            return
        await self.load()
        async with aclosing(self._ensure_worker().replay(policy)) as pictures:
            async for picture in pictures:
                self._add(policy, picture)
                yield picture

    async def effect(self, policy: ContextPolicy, field: str) -> FieldEffect:
        """Return what a field changes against its profile's value. Raises HelixError."""
        await self.load()
        return await self._ensure_worker().effect(policy, field)

    async def complete(self, policies: Iterable[ContextPolicy]) -> None:
        """Replay those of these policies that are not exact, behind all that is requested meanwhile.

        Raises HelixError.
        """
        for policy in policies:
            if not self.is_exact(policy):
                await self.load()
                self._add(policy, await self._ensure_worker().replay_in_background(policy))

    async def store(self) -> None:
        """Store the exact replays of a long session, if there are some that were not stored."""
        replayed = self._require_session()
        exact = {policy: picture for policy, picture in self.pictures.items() if picture.is_exact}
        if len(replayed.log) >= STORED_FROM and not self._stored_policies.issuperset(exact):
            await asyncio.to_thread(replayed.store.save, replayed.id, replayed.log, replayed.facts, exact)
            self._stored_policies = frozenset(exact)

    async def prepare(self, policies: Iterable[ContextPolicy]) -> None:
        """Have these replayed while nothing is requested, likeliest first. Raises HelixError."""
        missing = tuple(policy for policy in policies if not self.is_exact(policy))
        if self._worker is not None and self._worker_session is not None and missing != self._prepared:
            self._prepared = missing
            await self._worker.prepare(missing)

    async def stay_ready(self, *, is_on: bool) -> None:
        """Let the worker run until this is turned off again. Raises HelixError."""
        if self._worker is not None:
            await self._worker.stay_ready(is_on=is_on)

    def forget(self) -> None:
        """Forget the session after a failure; it is taken anew."""
        self._session = self._worker_session = None

    async def close(self) -> None:
        """Forget the session, and end the worker's process, which holds what the session says.

        Where that is canceled, the next call ends it: else a process would outlive the window.
        """
        self.forget()
        self.pictures.clear()
        self._prepared = ()
        if self._worker is not None:
            self._closing.add(self._worker)
            self._worker = None
        for worker in tuple(self._closing):
            await worker.close()
            self._closing.discard(worker)

    def _add(self, policy: ContextPolicy, picture: PolicyReplay) -> None:
        while len(self.pictures) >= _MAX_REPLAYS:
            del self.pictures[next(iter(self.pictures))]
        self.pictures[policy] = picture

    def _require_session(self) -> _ReplayedSession:
        if self._session is None:
            raise ValueError("no session is open")
        return self._session

    def _ensure_worker(self) -> ReplayWorker:
        if self._worker is None:
            self._worker = self.create_worker()
        return self._worker
