"""The replays of one session: those of an earlier time if nothing changed since, else the worker's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from itertools import islice
from pathlib import Path
from zlib import crc32

import msgspec

from helix_desktop import __version__
from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.translatable_text import plain_text
from helix_desktop.replay.policy.policy_replay import (
    FieldEffect,
    PolicyReplay,
    facts_of,
    replayed_part,
)
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.system.files import replace_file

FOLDER = "replays"
"""In a workspace's folder; nothing is lost with it."""

MAX_SESSIONS = 10
"""Sessions whose replays are kept; the profiles of one of 10,000 events take 0.4 MB."""

_SUFFIX = ".msgpack"
_EVENTS_AT_ONCE = 250  # encoded while the interpreter's lock is held


class _File(msgspec.Struct, frozen=True):
    """The replays of a session by their policies, and what they depend on besides these.

    That is the app's version, the session's facts and its log: the number of events, and their checksum.
    """

    version: str
    facts: SessionFacts
    events: int
    checksum: int
    replays: list[tuple[ContextPolicy, PolicyReplay]]


_encode = msgspec.msgpack.Encoder(enc_hook=plain_text).encode
_decode = msgspec.msgpack.Decoder(_File).decode


class StoredReplays:
    """The stored replays of one workspace's sessions, a file each; those that can't be read count as none."""

    def __init__(self, workspace_folder: Path, version: str = __version__) -> None:
        """`version` is the app's: another one may decide otherwise."""
        self._folder = workspace_folder / FOLDER
        self._version = version

    def load(
        self, session_id: str, log: Sequence[RecordedEvent], facts: SessionFacts
    ) -> dict[ContextPolicy, PolicyReplay]:
        """Return the replays of a session by their policies; none if it, or its facts, changed since.

        It takes 50 ms at 10,000 events, which leave the interpreter to others; nothing, if there are none.
        """
        try:
            file = _decode(self._path(session_id).read_bytes())
        except (OSError, msgspec.DecodeError, ValueError):
            return {}
        if (file.version, file.facts, file.events) != (self._version, facts, len(log)):
            return {}
        return dict(file.replays) if file.checksum == _checksum(log) else {}

    def save(
        self,
        session_id: str,
        log: Sequence[RecordedEvent],
        facts: SessionFacts,
        replays: Mapping[ContextPolicy, PolicyReplay],
    ) -> None:
        """Replace what is stored of a session, and forget the sessions saved longest ago.

        Errors only lose the replays. Nothing is made where the workspace's folder is gone.
        """
        path = self._path(session_id)
        part = path.with_suffix(".part")
        file = _File(self._version, facts, len(log), _checksum(log), list(replays.items()))
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            part.write_bytes(_encode(file))
            replace_file(part, path)
            paths = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
            for oldest in paths[:-MAX_SESSIONS]:
                oldest.unlink()

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}{_SUFFIX}"


def _checksum(log: Sequence[RecordedEvent]) -> int:
    checksum = 0
    events = iter(log)
    while part := list(islice(events, _EVENTS_AT_ONCE)):
        checksum = crc32(_encode(part), checksum)
    return checksum


STORED_FROM = 500
"""Events of a session from which its replays are stored: it takes seconds until a shorter one is replayed."""

_MAX_REPLAYS = 32  # of one session, kept to be shown again at once


class _ReplayedSession(msgspec.Struct, frozen=True):
    """A session as it is replayed: its log and facts at one moment, and where its replays are stored."""

    id: str
    log: Sequence[RecordedEvent]
    facts: SessionFacts
    store: StoredReplays


class SessionReplays:
    """The pictures of one session's policies, the newest of each; exact ones are stored for long sessions."""

    def __init__(self, create_worker: Callable[[], PolicyReplayWorker]) -> None:
        self.create_worker = create_worker
        self._worker: PolicyReplayWorker | None = None
        self._last_worker: PolicyReplayWorker | None = None  # which may not have ended yet
        self._session: _ReplayedSession | None = None
        self._worker_session: _ReplayedSession | None = None  # what the worker has
        self._stored_policies: frozenset[ContextPolicy] = frozenset()
        self.pictures: dict[ContextPolicy, PolicyReplay] = {}

    def is_open(self, conversation: Conversation) -> bool:
        """Return True if the pictures are of this session as it is now."""
        replayed = self._session
        session = conversation.session
        if replayed is None or replayed.id != session.id:
            return False
        log = replayed_part(session.log)
        if len(replayed.log) != len(log) or (log and replayed.log[-1] is not log[-1]):
            return False
        return replayed.facts == facts_of(conversation.window, session.transcript)

    def is_exact(self, policy: ContextPolicy) -> bool:
        picture = self.pictures.get(policy)
        return picture is not None and picture.is_exact

    async def open(self, conversation: Conversation, workspace_folder: Path) -> None:
        """Take a session as it is now, with what is stored of it; needs no worker."""
        if self.is_open(conversation):
            return
        session = conversation.session
        log = tuple(replayed_part(session.log))
        facts = facts_of(conversation.window, session.transcript)
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
            await self._ensure_worker().load(replayed.log, replayed.facts)
            self._worker_session = replayed

    async def replay(self, policy: ContextPolicy) -> AsyncGenerator[PolicyReplay, None]:
        """Yield pictures of a policy, the exact one last; none if it is exact already. Raises HelixError."""
        if self.is_exact(policy):
            return
        await self.load()
        async with aclosing(self._ensure_worker().replay(policy)) as pictures:
            async for picture in pictures:
                self._add(policy, picture)
                yield picture

    async def effect(self, policy: ContextPolicy, field: str) -> FieldEffect:
        await self.load()
        return await self._ensure_worker().effect(policy, field)

    async def complete(self, policies: Iterable[ContextPolicy]) -> None:
        """Replay those of these policies that are not exact. Raises HelixError."""
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

    async def stay_ready(self, *, is_on: bool) -> None:
        if self._worker is not None:
            await self._worker.stay_ready(is_on=is_on)

    def forget(self) -> None:
        """Forget the session after a failure; it is taken anew."""
        self._session = self._worker_session = None

    async def close(self) -> None:
        """Forget the session, and end the worker's process, which holds what the session says.

        Where that is canceled, the next call waits for it: else a process would outlive the window.
        """
        self.forget()
        self.pictures.clear()
        self._last_worker = self._worker or self._last_worker
        self._worker = None
        if self._last_worker is not None:
            await self._last_worker.close()

    def _add(self, policy: ContextPolicy, picture: PolicyReplay) -> None:
        while len(self.pictures) >= _MAX_REPLAYS:
            del self.pictures[next(iter(self.pictures))]
        self.pictures[policy] = picture

    def _require_session(self) -> _ReplayedSession:
        if self._session is None:
            raise ValueError("no session is open")
        return self._session

    def _ensure_worker(self) -> PolicyReplayWorker:
        if self._worker is None:
            self._worker = self.create_worker()
        return self._worker
